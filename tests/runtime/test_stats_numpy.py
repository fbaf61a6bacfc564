"""Statistics of numpy arrays; torch is not needed."""

from __future__ import annotations

import math
import warnings

import pytest

numpy = pytest.importorskip("numpy")

from hypothesis import given, settings
from hypothesis import strategies as st

from zentracer.observe.histogram import histogram
from zentracer.observe.stats import exact_stats, stats


@st.composite
def arrays(draw):
    shape = draw(st.lists(st.integers(0, 7), max_size=4))
    dtype = draw(st.sampled_from(["f8", "f4", "f2", ">f4", "i8", "u1", "b1", "c8"]))
    random = numpy.random.default_rng(draw(st.integers(0, 2**31)))
    array = numpy.asarray(random.normal(size=shape) * 20)
    if draw(st.booleans()) and dtype in ("f8", "f4"):
        array = numpy.where(random.random(shape) < 0.1, math.nan, array)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = numpy.asarray(array).astype(dtype)
    if array.ndim >= 2 and draw(st.booleans()):
        array = array.swapaxes(0, -1)
    if array.ndim and draw(st.booleans()):
        array = array[:: draw(st.sampled_from([-2, -1, 2]))]
    if draw(st.booleans()):
        array = numpy.broadcast_to(array, (3, *array.shape))
    return array


@settings(deadline=None, max_examples=150)
@given(arrays())
def test_exact_statistics_are_those_of_numpy(array):
    numbers = numpy.abs(array) if array.dtype.kind == "c" else array
    numbers = numbers.astype("f8").ravel()
    finite = numbers[numpy.isfinite(numbers)]
    for found in (stats(array), exact_stats(array)):
        assert (found.size, found.sampled) == (array.size, False)
        assert found.nan == numpy.isnan(numbers).sum()
        assert found.zeros == (finite == 0).sum()
        if finite.size:
            assert found.min == finite.min()
            assert found.max == finite.max()
            assert found.mean == pytest.approx(finite.mean(), abs=1e-6)
            assert found.norm == pytest.approx(numpy.linalg.norm(finite), abs=1e-6)
        if finite.size > 1:
            assert found.std == pytest.approx(finite.std(ddof=1), abs=1e-6)


def test_large_arrays_are_sampled_and_do_not_alias():
    columns = numpy.tile(numpy.arange(1024.0), (1024, 1))
    found = stats(columns)
    assert found.sampled
    assert found.mean == pytest.approx(511.5, rel=0.05)
    assert stats(columns[:, ::2]).mean == pytest.approx(511, rel=0.1)
    assert exact_stats(columns).mean == 511.5


def test_strict_error_settings_of_the_user_do_not_matter():
    with numpy.errstate(all="raise"):
        found = stats(numpy.array([1e200, -1e200, math.inf]))
        counts = histogram(numpy.array([1e200, -1e200]))
    assert (found.inf, found.max) == (1, 1e200)
    assert counts is not None
    assert sum(counts.counts) == 2


@pytest.mark.parametrize(
    "array",
    [
        numpy.array([None, "a"], dtype=object),
        numpy.array(["abc"]),
        numpy.array(["2020-01-01"], dtype="M8[D]"),
        numpy.zeros(3, dtype=[("a", "f4"), ("b", "i4")]),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_of_other_things_have_no_statistics(array):
    found = stats(array)
    assert (found.shape, found.min, found.nan) == (array.shape, None, None)
