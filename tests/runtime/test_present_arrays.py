"""How every kind of tensor reads: exact summary lines, ordered children, and nothing raised."""

from __future__ import annotations

import math
import warnings

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from zentracer.present.arrays import brief
from zentracer.present.children import children
from zentracer.present.summary import summary

NAN, INF = math.nan, math.inf
MATRIX = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
ORDER = [
    "shape",
    "dtype",
    "device",
    "strides",
    "stats",
    "histogram",
    "grad",
    "values",
    "grad_fn",
    "storage",
    "attributes",
]


class Hostile(torch.Tensor):
    """Raises on everything it may intercept."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("hostile")

    def __repr__(self):
        raise RuntimeError("hostile repr")


class Wrapper(torch.Tensor):
    """A wrapper subclass: metadata of its own, data elsewhere."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("no operation of mine")


class BrokenShape(torch.Tensor):
    """Even its metadata raise."""

    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(cls, (2,), dispatch_sizes_strides_policy="sizes")

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise RuntimeError("no shape")


def freed():
    tensor = torch.ones(4)
    tensor.untyped_storage().resize_(0)
    return tensor


def symbolic():
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False)
    return mode.from_tensor(torch.ones(5, 3))


def inference():
    with torch.inference_mode():
        return torch.tensor([1.0, 2.0])


def quantised():
    return torch.quantize_per_tensor(torch.tensor([0.0, 0.1, 0.5]), 0.1, 10, torch.quint8)


def per_channel():
    scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([0, 0])
    return torch.quantize_per_channel(torch.ones(2, 2), scales, zeros, 0, torch.qint8)


def with_grad(operation):
    return operation(MATRIX.clone().requires_grad_())


def view_of_parameter():
    return nn.Parameter(MATRIX.clone())[0]


FLOAT = "x∈[-2, 4] μ=1.5 σ=2.65"
PAIR = "x∈[1, 2] μ=1.5 σ=0.707"

KINDS = {
    "float": (lambda: MATRIX.clone(), f"float32[2, 2] cpu · {FLOAT}"),
    "double": (lambda: MATRIX.double(), f"float64[2, 2] cpu · {FLOAT}"),
    "half": (lambda: MATRIX.half(), f"float16[2, 2] cpu · {FLOAT}"),
    "bfloat16": (lambda: MATRIX.bfloat16(), f"bfloat16[2, 2] cpu · {FLOAT}"),
    "fp8": (
        lambda: MATRIX.to(torch.float8_e4m3fn),
        f"float8_e4m3fn[2, 2] cpu · {FLOAT}",
    ),
    "int": (lambda: torch.tensor([0, 50257]), "int64[2] cpu · x∈[0, 50257] μ=2.51e+04 σ=3.55e+04"),
    "uint16": (lambda: torch.tensor([1, 2]).to(torch.uint16), f"uint16[2] cpu · {PAIR}"),
    "bool": (lambda: torch.tensor([True, False, True]), "bool[3] cpu · True 2 of 3"),
    "complex": (
        lambda: torch.tensor([3 + 4j, 0j]),
        "complex64[2] cpu · |x|∈[0, 5] μ=2.5 σ=3.54",
    ),
    "conjugate": (
        lambda: torch.tensor([3 + 4j, 0j]).conj(),
        "complex64[2] cpu · |x|∈[0, 5] μ=2.5 σ=3.54 · view of complex64[2]",
    ),
    "NaN": (lambda: torch.tensor([1.0, NAN, 2.0]), f"float32[3] cpu · {PAIR} · NaN 1"),
    "Inf": (
        lambda: torch.tensor([1.0, -INF, 2.0, NAN]),
        f"float32[4] cpu · {PAIR} · NaN 1 · Inf 1",
    ),
    "only NaN": (lambda: torch.tensor([NAN, NAN]), "float32[2] cpu · NaN 2"),
    "scalar": (lambda: torch.tensor(0.6931472), "float32[] cpu · 0.693147"),
    "scalar NaN": (lambda: torch.tensor(NAN), "float32[] cpu · nan"),
    "scalar int": (lambda: torch.tensor(7), "int64[] cpu · 7"),
    "scalar bool": (lambda: torch.tensor(True), "bool[] cpu · True"),
    "scalar complex": (lambda: torch.tensor(1 + 2j), "complex64[] cpu · 1+2j"),
    "one element": (lambda: torch.tensor([[0.5]]), "float32[1, 1] cpu · 0.5"),
    "empty": (lambda: torch.zeros(0, 3), "float32[0, 3] cpu · empty"),
    "not contiguous": (lambda: MATRIX.t(), f"float32[2, 2] cpu · {FLOAT} · view of float32[2, 2]"),
    "expanded": (
        lambda: torch.tensor([1.0, 2.0]).expand(1_000_000, 2),
        "float32[1000000, 2] cpu · x∈[1, 2] μ=1.5 σ=0.5 · view of float32[2]",
    ),
    "parameter": (lambda: nn.Parameter(MATRIX.clone()), f"float32[2, 2] cpu · {FLOAT} · leaf"),
    "with grad_fn": (
        lambda: with_grad(torch.log),
        "float32[2, 2] cpu · x∈[0, 1.39] μ=0.828 σ=0.732 · NaN 1 · grad LogBackward0",
    ),
    "view with grad_fn": (
        view_of_parameter,
        "float32[2] cpu · x∈[-2, 1] μ=-0.5 σ=2.12 · grad SelectBackward0 · view of float32[2, 2]",
    ),
    "sampled": (
        lambda: torch.ones(200_000),
        "float32[200000] cpu ·~ x∈[1, 1] μ=1 σ=0",
    ),
    "meta": (lambda: torch.empty(2, 2, device="meta"), "float32[2, 2] meta · meta: no data"),
    "fake": (lambda: FakeTensorMode().from_tensor(MATRIX), "float32[2, 2] cpu · fake: no data"),
    "sparse": (
        lambda: torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse(),
        f"float32[2, 2] cpu · sparse_coo 2 stored · {PAIR}",
    ),
    "sparse CSR": (
        lambda: torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csr(),
        f"float32[2, 2] cpu · sparse_csr 2 stored · {PAIR}",
    ),
    "mkldnn": (lambda: MATRIX.to_mkldnn(), "float32[2, 2] cpu · mkldnn · …"),
    "quantised": (
        quantised,
        "quint8[3] cpu · scale 0.1 zero 10 · x∈[0, 0.5] μ=0.2 σ=0.265",
    ),
    "quantised per channel": (
        per_channel,
        "qint8[2, 2] cpu · quantised per_channel_affine · x∈[1, 1] μ=1 σ=0",
    ),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.tensor([1.0]), torch.tensor([1.0, 2.0, 2.0])]),
        "float32[2, *] cpu · nested · x∈[1, 2] μ=1.5 σ=0.577",
    ),
    "lazy": (
        lambda: nn.LazyLinear(4).weight,
        "float32 cpu · uninitialised (lazy) · leaf",
    ),
    "inference": (inference, f"float32[2] cpu · {PAIR}"),
    "freed": (freed, "float32[4] cpu · storage freed: no data"),
    "zero tensor": (lambda: torch._efficientzerotensor((2,)), "float32[2] cpu · …"),
    "hostile": (
        lambda: MATRIX.as_subclass(Hostile),
        f"float32[2, 2] cpu · {FLOAT} · view of float32[2, 2]",
    ),
    "wrapper": (lambda: Wrapper(MATRIX), "float32[2, 2] cpu · …"),
    "bits": (lambda: torch.empty(2, dtype=torch.bits8), "bits8[2] cpu · …"),
}


@pytest.fixture(params=KINDS, ids=str)
def kind(request):
    make, expected = KINDS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sparse and nested layouts call themselves a prototype
        return request.param, make(), expected


def rows(value):
    return {name: child for name, child, _suffix in children(value)}


def opened(value, depth):
    """Open everything below a value; whatever raises fails the test."""
    found = 1
    for name, child, _suffix in children(value) if depth else []:
        assert isinstance(name, str)
        assert isinstance(summary(child), str)
        found += opened(child, depth - 1)
    return found


def test_summary(kind):
    _name, tensor, expected = kind
    assert summary(tensor) == expected
    assert expected.startswith(brief(tensor).split("[")[0])


def test_children_come_in_order_and_never_raise(kind):
    name, tensor, _expected = kind
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(rows(tensor)) == ORDER
        assert opened(tensor, 4) > len(ORDER)
    if name not in ("lazy", "nested"):
        shape = rows(tensor)["shape"].text
        assert shape == str(list(tensor.shape if name != "hostile" else MATRIX.shape))


def test_a_symbolic_shape_is_shown_and_not_guarded():
    tensor = symbolic()
    guards = len(tensor.fake_mode.shape_env.guards)
    text = summary(tensor)
    assert text.startswith("float32[s")
    assert text.endswith("cpu · fake: no data")
    assert list(rows(tensor)) == ORDER
    assert len(tensor.fake_mode.shape_env.guards) == guards


def test_a_tensor_without_readable_metadata_says_so():
    tensor = BrokenShape()
    assert summary(tensor) == "float32 cpu · unreadable: RuntimeError: no shape"
    assert brief(tensor) == "<BrokenShape>"
    assert opened(tensor, 3) > 1


def test_jagged_tensors_name_the_ragged_dimension():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [torch.ones(1, 2), torch.zeros(1, 2)]
        tensor = torch.nested.nested_tensor(parts, layout=torch.jagged)
    text = summary(tensor)
    assert text.startswith("float32[2, j")
    assert "cpu · nested jagged · x∈[0, 1] μ=0.5 σ=0.577" in text
    assert opened(tensor, 3) > len(ORDER)


def test_inside_transforms():
    seen = []

    def note(x):
        seen.append(summary(x))
        assert list(rows(x)) == ORDER
        assert opened(x, 3) > len(ORDER)
        return x.sum()

    torch.vmap(note)(MATRIX)
    torch.func.grad(note)(MATRIX)
    torch.func.functionalize(note)(MATRIX)
    assert seen[0] == f"float32[2] cpu · vmap of float32[2, 2] · {FLOAT}"
    assert seen[1] == f"float32[2, 2] cpu · {FLOAT} · leaf"
    assert seen[2].startswith("float32[2, 2] cpu · ")


def test_children_of_a_parameter():
    weight = nn.Parameter(MATRIX.clone())
    weight.grad = torch.ones(2, 2)
    found = rows(weight)
    assert found["shape"].text == "[2, 2]"
    assert found["dtype"].text == "torch.float32"
    assert found["device"].text == "cpu"
    assert found["strides"].text == "[2, 1]"
    assert found["stats"].text == (
        "min=-2 max=4 mean=1.5 std=2.65 absmax=4 norm=5.48 nan=0 inf=0 zeros=0"
    )
    assert found["histogram"].text == "█▁▁▁▁▁▁▁▁▁█▁▁▁▁▁█▁▁█ -2 … 4"
    assert found["grad"] is weight.grad
    assert summary(found["grad"]) == "float32[2, 2] cpu · x∈[1, 1] μ=1 σ=0"
    assert found["grad_fn"] is None
    assert summary(found["storage"]) == "cpu · 16 B"
    assert rows(found["attributes"])["requires_grad"] is True


def test_the_gradient_of_what_keeps_none_is_explained_without_a_warning():
    hidden = with_grad(torch.log)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = rows(hidden)["grad"].text
    assert text == "None (not a leaf; call retain_grad() to keep it)"


def test_values_are_pages():
    values = rows(torch.arange(6.0).reshape(2, 3))["values"]
    assert [(name, row.text) for name, row, _ in values.children()] == [
        ("[0]", "0, 1, 2"),
        ("[1]", "3, 4, 5"),
    ]
    second = values.children()[1][1]
    assert [(name, row.text) for name, row, _ in second.children()] == [
        ("[0]", "3"),
        ("[1]", "4"),
        ("[2]", "5"),
    ]
    assert [row.text for _, row, _ in second.fetch(1, 3)] == ["4", "5"]


def test_long_dimensions_are_ranges_of_ranges():
    values = rows(torch.arange(1_000_000))["values"]
    top = values.children()
    assert [name for name, _, _ in top][:2] == ["[0..9999]", "[10000..19999]"]
    middle = top[-1][1].children()
    assert middle[-1][0] == "[999900..999999]"
    assert [row.text for _, row, _ in middle[-1][1].children()][-1] == "999999"


def test_values_of_deep_tensors_show_their_first_elements():
    values = rows(torch.arange(24.0).reshape(2, 3, 4))["values"]
    assert [row.text for _, row, _ in values.children()] == [
        "0, 1, 2, 3, …",
        "12, 13, 14, 15, …",
    ]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), ()])
def test_values_of_odd_shapes(shape):
    values = rows(torch.zeros(shape))["values"]
    assert [row.text for _, row, _ in values.children()] == (["0"] if shape == () else [])


def test_looking_changes_nothing():
    weight = nn.Parameter(MATRIX.clone())
    hidden = (weight * 2).exp()
    state, versions, node = (
        torch.get_rng_state(),
        (weight._version, hidden._version),
        hidden.grad_fn,
    )
    for tensor in (weight, hidden):
        opened(tensor, 4)
    assert torch.equal(torch.get_rng_state(), state)
    assert (weight._version, hidden._version) == versions
    assert hidden.grad_fn is node
    hidden.sum().backward()
    assert torch.equal(weight.grad, 2 * (weight * 2).exp())


def test_no_repr_of_a_tensor_is_ever_asked_for():
    class Loud(torch.Tensor):
        def __repr__(self, *_args, **_keywords):
            raise AssertionError("repr was called")

        __str__ = __format__ = __repr__

    tensor = torch.ones(3).as_subclass(Loud)
    assert summary(tensor) == "float32[3] cpu · x∈[1, 1] μ=1 σ=0 · view of float32[3]"
    opened(tensor, 4)


def test_an_accelerator_is_only_waited_for_on_a_click(monkeypatch):
    """No accelerator is needed: the facts are made to say that one holds the data."""
    from zentracer.observe import stats as module

    def on_accelerator(tensor):
        facts = torch_facts(tensor)
        facts.device, facts.on_host = "cuda:0", False
        return facts

    torch_facts = module.torch_facts
    monkeypatch.setattr(module, "torch_facts", on_accelerator)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert summary(MATRIX) == "float32[2, 2] cuda:0 · …"
    assert module.stats(MATRIX).min is None
    assert module.stats(MATRIX, sync=True).min == -2
    found = rows(MATRIX)
    assert found["stats"].text == "… open to compute (waits for cuda:0)"
    assert rows(found["stats"])["min"].text == "-2"
    assert len(rows(found["histogram"])) == 20
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert module.exact_stats(MATRIX).min is None
    for name in ("stats", "histogram", "values"):
        assert list(rows(found[name])) == ["not read"]
