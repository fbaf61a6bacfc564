"""An index in Python's syntax selects what Python selects, or says what is wrong with it."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")

from hypothesis import given
from hypothesis import strategies as st

from zentracer.observe.slicing import SliceError, any_part, matrix, whole

SELECTED = {
    # shape, slice, axes, channels: normalised slice, axes, rows, columns
    "matrix": ((3, 4), None, None, None, ":, :", (0, 1), 3, 4),
    "vector": ((5,), None, None, None, ":", (0,), 1, 5),
    "scalar": ((), None, None, None, "", (), 1, 1),
    "eight": (
        (2, 3, 4, 5, 6, 7, 8, 9),
        None,
        None,
        None,
        "0, 0, 0, 0, 0, 0, :, :",
        (6, 7),
        8,
        9,
    ),
    "empty text": ((2, 3, 4), "  ", None, None, "0, :, :", (1, 2), 3, 4),
    "missing dimensions": ((2, 3, 4), "1", None, None, "1, :, :", (1, 2), 3, 4),
    "negative": ((2, 3, 4), "-1, -3:-1", None, None, "1, :2, :", (1, 2), 2, 4),
    "brackets": ((2, 3, 4), "[1, :, :]", None, None, "1, :, :", (1, 2), 3, 4),
    "ellipsis": ((2, 3, 4, 5), "..., 1, 2", None, None, ":, :, 1, 2", (0, 1), 2, 3),
    "ellipsis for nothing": ((3, 4), "..., :, :", None, None, ":, :", (0, 1), 3, 4),
    "comma at the end": ((2, 3, 4), "1,", None, None, "1, :, :", (1, 2), 3, 4),
    "step": ((10, 4), "1:8:3, ::2", None, None, "1:8:3, ::2", (0, 1), 3, 2),
    "beyond the end": ((3, 4), "1:99", None, None, "1:, :", (0, 1), 2, 4),
    "backwards is empty": ((3, 4), "2:1", None, None, "2:2, :", (0, 1), 0, 0),
    "one row": ((3, 4), "1", None, None, "1, :", (1,), 1, 4),
    "one element": ((3, 4), "1, 2", None, None, "1, 2", (), 1, 1),
    "swapped": ((3, 4), None, (1, 0), None, ":, :", (1, 0), 4, 3),
    "axes choose": ((2, 3, 4), None, (0, 2), None, ":, 0, :", (0, 2), 2, 4),
    "one axis": ((2, 3, 4), None, (1,), None, "0, :, 0", (1,), 1, 3),
    "negative axes": ((2, 3, 4), None, (-1, 0), None, ":, 0, :", (2, 0), 4, 2),
    "no axes": ((2, 3), "1, 1", (), None, "1, 1", (), 1, 1),
    "NCHW": ((8, 3, 5, 6), None, None, 1, "0, :, :, :", (2, 3), 5, 6),
    "NHWC": ((8, 5, 6, 3), "2", None, 3, "2, :, :, :", (1, 2), 5, 6),
    "channels by slice": ((64, 5, 6), ":3, :, :", None, 0, ":3, :, :", (1, 2), 5, 6),
    "empty dimension": ((0, 3, 4), None, None, None, "0, :, :", (1, 2), 0, 0),
    "empty dimension as said": ((0, 3, 4), "0, :, :", None, None, "0, :, :", (1, 2), 0, 0),
}


@pytest.mark.parametrize("case", SELECTED)
def test_a_selection(case):
    shape, text, axes, channels, expected, expected_axes, rows, columns = SELECTED[case]
    found = matrix(shape, text, axes, channels)
    assert (found.text, found.axes) == (expected, expected_axes)
    assert (found.rows, found.columns) == (rows, columns)
    again = matrix(shape, found.text, found.axes, channels)
    assert again == found, "what is echoed can be asked for"


REFUSED = {
    "too many": ((3, 4), "0, 1, 2", None, None, "3 entries, but the tensor has 2 dimensions"),
    "of a scalar": ((), "0", None, None, "1 entries, but the tensor has 0 dimensions"),
    "out of range": (
        (3, 4),
        "0, 4",
        None,
        None,
        "Index 4 is out of range for dimension 1, of size",
    ),
    "below range": (
        (3, 4),
        "-4",
        None,
        None,
        "Index -4 is out of range for dimension 0, of size 3",
    ),
    "empty dimension": ((0, 4), "1", None, None, "out of range for dimension 0, of size 0"),
    "no index": ((3, 4), "a", None, None, "'a' is no index for dimension 0: write a number"),
    "a float": ((3, 4), "0, 1.5", None, None, "'1.5' is no index for dimension 1"),
    "code": ((3, 4), "__import__('os')", None, None, "is no index for dimension 0"),
    "mask": ((3, 4), "x > 0", None, None, "'x > 0' is no index"),
    "empty entry": ((3, 4), "0,,1", None, None, "has 3 entries"),
    "two ellipses": ((3, 4), "..., ...", None, None, "more than one '...'"),
    "backwards": (
        (3, 4),
        "::-1",
        None,
        None,
        "The step of '::-1' in dimension 0 must be 1 or more",
    ),
    "no step": ((3, 4), "::0", None, None, "must be 1 or more"),
    "too deep": ((2, 3, 4, 5), ":, :, :, 0", None, None, "leaves 3 (0, 1, 2)"),
    "endless": ((3, 4), "0" * 2000, None, None, "longer than 1000 characters"),
    "long number": ((3, 4), "9" * 900, None, None, "is no index for dimension 0"),
    "axes twice": ((3, 4), None, (0, 0), None, "at most two different dimensions"),
    "three axes": ((3, 4, 5), None, (0, 1, 2), None, "at most two different dimensions"),
    "no such axis": ((3, 4), None, (0, 2), None, "'axes' names dimension 2, but the tensor has 2"),
    "axis at an index": ((3, 4), "0, :", (0, 1), None, "Dimension 0 is at one index"),
    "axes too few": ((3, 4), ":, :", (1,), None, "must name all dimensions that the index leaves"),
    "axis is channel": ((3, 4, 5), None, (0, 1), 0, "and not the channels"),
    "no such channel": ((3, 4), None, None, 7, "'channels' names dimension 7"),
    "many channels": ((64, 5, 6), None, None, 0, "Dimension 0 has 64 indices here; channels are"),
    "channel at an index": ((3, 5, 6), "0, :, :", None, 0, "holds the channels, so it must be a"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_selection_that_does_not_fit(case):
    shape, text, axes, channels, problem = REFUSED[case]
    with pytest.raises(SliceError) as refused:
        matrix(shape, text, axes, channels)
    assert problem in str(refused.value)
    assert str(refused.value).endswith(".")


def test_any_number_of_dimensions_for_a_histogram():
    assert whole((2, 3, 4)).text == ":, :, :"
    assert whole(()).text == ""
    part = any_part((2, 3, 4), "..., 1:")
    assert (part.text, part.size, part.axes) == (":, :, 1:", 18, (1, 2))


def entry_of(size):
    """An index of one dimension, or a range of it."""
    bound = st.one_of(st.just(""), st.integers(-7, 7).map(str))
    step = st.one_of(st.just(""), st.just(":"), st.integers(1, 4).map(lambda n: f":{n}"))
    pair = st.tuples(bound, bound, step).map(lambda t: f"{t[0]}:{t[1]}{t[2]}")
    return st.one_of(st.integers(-size, size - 1).map(str), pair)


@st.composite
def indexed(draw):
    """A shape, and an index as Python would take it."""
    shape = draw(st.lists(st.integers(1, 5), max_size=5))
    first = draw(st.integers(0, len(shape)))
    entries = [draw(entry_of(size)) for size in shape[:first]]
    if draw(st.booleans()):
        last = draw(st.integers(first, len(shape)))
        entries += ["...", *(draw(entry_of(size)) for size in shape[last:])]
    return tuple(shape), ", ".join(entries)


@given(indexed())
def test_it_selects_what_python_selects(given_index):
    shape, text = given_index
    array = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    expected = eval(f"array[{text}]", {"array": array}) if text else array
    found = any_part(shape, text or ", ".join(":" for _ in shape))
    numpy.testing.assert_array_equal(array[(*found.entries, ...)], expected)
    assert found.size == expected.size
    assert any_part(shape, found.text).entries == found.entries or not shape
