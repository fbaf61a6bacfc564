"""Statistics: exact where small, bounded where large, and without a trace in the program."""

from __future__ import annotations

import math
import random
import warnings

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from zentracer.observe.histogram import histogram
from zentracer.observe.quiet import quiet
from zentracer.observe.stats import ROW_LIMIT, exact_stats, stats

NAN, INF = math.nan, math.inf

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn]
INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool]


@st.composite
def strided_tensors(draw):
    """Tensors of any dtype and shape, contiguous or not, expanded or not, with NaN and Inf."""
    shape = draw(st.lists(st.integers(0, 7), max_size=4))
    dtype = draw(st.sampled_from([*FLOATS, *INTEGERS, torch.complex64]))
    seed = draw(st.integers(0, 2**31))
    generator = torch.Generator().manual_seed(seed)
    tensor = torch.randn(shape, generator=generator, dtype=torch.float64) * 20
    if draw(st.booleans()) and dtype in (torch.float64, torch.float32, torch.bfloat16):
        holes = torch.rand(shape, generator=generator)
        tensor[holes < 0.1] = NAN
        tensor[holes > 0.95] = -INF
    tensor = tensor.to(dtype)
    if tensor.dim() >= 2 and draw(st.booleans()):
        tensor = tensor.transpose(0, -1)
    if tensor.dim() and draw(st.booleans()):
        tensor = tensor[:: draw(st.integers(1, 3))]
    if draw(st.booleans()):
        tensor = tensor.expand(3, *tensor.shape)
    return tensor


def reference(tensor):
    """The same statistics, in the plainest way."""
    numbers = (tensor.abs() if tensor.is_complex() else tensor).double().flatten()
    finite = numbers[torch.isfinite(numbers)]
    return {
        "size": numbers.numel(),
        "nan": int(torch.isnan(numbers).sum()),
        "inf": int(torch.isinf(numbers).sum()),
        "zeros": int((finite == 0).sum()),
        "min": finite.min().item() if finite.numel() else None,
        "max": finite.max().item() if finite.numel() else None,
        "mean": finite.mean().item() if finite.numel() else None,
        "std": finite.std().item() if finite.numel() > 1 else None,
        "absmax": finite.abs().max().item() if finite.numel() else None,
        "norm": finite.norm().item() if finite.numel() else None,
    }


@settings(deadline=None, max_examples=150)
@given(strided_tensors())
def test_exact_statistics_are_those_of_torch(tensor):
    for found in (stats(tensor), exact_stats(tensor)):
        assert not found.sampled
        for name, expected in reference(tensor).items():
            value = getattr(found, name)
            assert value == (expected if expected is None else pytest.approx(expected, abs=1e-6))


def test_large_tensors_are_sampled_with_a_bounded_number_of_elements():
    big = torch.arange(1_000_000, dtype=torch.float32)
    found = stats(big)
    assert found.sampled
    assert found.size == 1_000_000
    assert found.mean == pytest.approx(500_000, rel=0.01)
    assert found.min == 0


def test_a_sample_does_not_alias_with_power_of_two_rows():
    columns = torch.arange(1024.0).expand(1024, 1024).contiguous()
    assert stats(columns, limit=1000).mean == pytest.approx(511.5, rel=0.1)
    every_other = columns.repeat(1, 2)[:, ::2]
    assert stats(every_other, limit=1000).mean == pytest.approx(511.5, rel=0.1)


def test_a_hit_is_exact_where_a_row_is_sampled():
    big = torch.zeros(ROW_LIMIT + 1)
    big[-1] = NAN
    assert stats(big).sampled
    found = exact_stats(big)
    assert (found.nan, found.sampled, found.zeros) == (1, False, ROW_LIMIT)


def test_an_expanded_tensor_costs_what_it_stores():
    tensor = torch.tensor([1.0, NAN, 3.0]).expand(1_000_000_000, 3)
    found = stats(tensor)
    assert (found.nan, found.mean, found.sampled) == (1_000_000_000, 2.0, False)


def test_extreme_numbers_do_not_overflow():
    found = stats(torch.tensor([1.7e308, -1.7e308, 1.7e308], dtype=torch.float64))
    assert (found.min, found.max, found.std) == (-1.7e308, 1.7e308, None)
    counts = histogram(torch.tensor([1.7e308, -1.7e308, 5e-324], dtype=torch.float64))
    assert counts is not None
    assert sum(counts.counts) == 3


def test_a_histogram_counts_as_torch_does():
    numbers = torch.randn(10_000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    counts = histogram(numbers)
    assert counts is not None
    assert counts.counts == [int(count) for count in torch.histc(numbers, 20)]


class Hostile(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"saw {func}")


def test_no_hook_of_anybody_sees_the_look():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    hostile = torch.randn(500).as_subclass(Hostile)
    tensor = torch.randn(40, 40)
    with Functions(), Operations():
        found = stats(tensor)
        of_hostile = stats(hostile)
        assert seen == []
        torch.ones(1)
        assert seen
    assert found.mean == pytest.approx(tensor.mean().item(), abs=1e-6)
    assert of_hostile.mean is not None


def test_looking_leaves_no_trace():
    weight = nn.Parameter(torch.randn(300, 300))
    hidden = (weight * 2).exp()
    hidden.sum().backward(retain_graph=True)
    before = (
        torch.get_rng_state(),
        random.getstate(),
        weight.grad.clone(),
        weight._version,
        hidden._version,
        hidden.grad_fn,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tensor in (weight, hidden, weight.grad, weight[1:], hidden.T):
            stats(tensor)
            exact_stats(tensor)
            histogram(tensor)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert torch.equal(weight.grad, before[2])
    assert (weight._version, hidden._version, hidden.grad_fn) == before[3:]


def test_statistics_inside_transforms_and_modes():
    seen = []

    def note(x):
        seen.append(stats(x).mean)
        return x.sum()

    data = torch.arange(6.0).reshape(2, 3)
    torch.vmap(note)(data)
    torch.func.grad(note)(data)
    torch.vmap(torch.func.grad(note))(data)
    with torch.inference_mode():
        note(data * 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        note(data)
    with torch.device("meta"):
        note(data)
    assert seen == [2.5] * 6


def test_tracing_records_nothing_of_the_look():
    recorded = []

    def count():
        recorded.append(sum(1 for _ in torch._C._get_tracing_state().graph().nodes()))

    def forward(x):
        y = x * 2
        count()
        stats(y)
        count()
        return y.exp()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(forward, torch.ones(300), check_trace=False)
    assert recorded[0] == recorded[1] > 0
    assert "aten::exp" in str(traced.graph)


def test_quiet_can_be_nested_and_is_left_when_the_body_raises():
    with pytest.raises(ValueError), quiet(), quiet():
        raise ValueError
    x = torch.ones(2, requires_grad=True)
    assert (x * 2).grad_fn is not None


def test_a_tensor_whose_storage_was_freed_is_not_read():
    tensor = torch.randn(10)
    tensor.untyped_storage().resize_(0)
    found = stats(tensor)
    assert (found.shape, found.min, found.nan) == ((10,), None, None)


def test_what_is_no_tensor_gets_an_empty_answer():
    found = stats(object())
    assert (found.size, found.shape, found.min) == (0, (), None)
