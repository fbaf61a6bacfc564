"""What a module gives, changed until that is undone."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import sys
import weakref
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence
from torch.utils.checkpoint import checkpoint

from zentracer import patches
from zentracer.patches.change import Refused
from zentracer.wire.patches import Patch, PatchState


class Net(nn.Module):
    """A residual block whose part is called inside a checkpoint or not."""

    def __init__(self, kind: Any = None) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
        self.head = nn.Linear(4, 2)
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        if self.kind is not None:
            return self.head(x + checkpoint(self.block, x, use_reentrant=self.kind == "reentrant"))
        return self.head(x + self.block(x))


@pytest.fixture
def model() -> Net:
    torch.manual_seed(0)
    return Net()


X = torch.linspace(-1, 1, 12).reshape(3, 4)


def change(model: Any, target: str, value: str) -> PatchState:
    return patches.apply(Patch(target=target, op="output", value=value), sys._getframe())


def undo(state: PatchState) -> None:
    assert patches.journal.undo(state.patch_id).status == "undone"


def redo(state: PatchState) -> None:
    assert patches.journal.redo(state.patch_id).status == "applied"


def test_until_it_is_undone(model: Net) -> None:
    before, x = model(X), model.first(X)
    for value, instead in {
        "zero": lambda out: out * 0,
        "identity": lambda out: x,
        "0.5": lambda out: out * 0.5,
        "len('ab')": lambda out: out * 2,
    }.items():
        state = change(model, "model.block", value)
        wanted = model.head(x + instead(nn.Sequential(*model.block)(x)))
        assert torch.equal(model(X), wanted) and not torch.equal(wanted, before)
        undo(state)
        assert not model.block._forward_hooks and not model.block._forward_hooks_with_kwargs
        assert torch.equal(model(X), before)
        redo(state)
        assert torch.equal(model(X), wanted)
        undo(state)


def test_several_are_undone_in_any_order(model: Net) -> None:
    before = model(X)
    one, two = change(model, "model.block", "2"), change(model, "model.block", "0.25")
    assert torch.equal(model.block(X), nn.Sequential(*model.block)(X) * 0.5)
    undo(one)
    assert torch.equal(model.block(X), nn.Sequential(*model.block)(X) * 0.25)
    undo(two)
    assert torch.equal(model(X), before)


def test_zero_is_zero_whatever_was_there() -> None:
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.fill_(torch.inf)
    change(model, "model", "zero")
    out = model(torch.zeros(1, 2))
    out.sum().backward()
    assert out.tolist() == [[0, 0]] and model.bias.grad.tolist() == [0, 0]


@pytest.mark.parametrize("kind", [None, "amp", "reentrant", "not reentrant"])
@pytest.mark.parametrize("value", ["zero", "identity", "0.5"])
def test_training_goes_on(kind: str | None, value: str) -> None:
    torch.manual_seed(0)
    model = Net(None if kind == "amp" else kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "amp"):
            return model(X).float().square().mean()

    def finish(value: Tensor) -> None:
        optimizer.zero_grad()
        value.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()

    finish(loss())
    pending = loss()
    state = change(model, "model.block", value)  # what is to be computed again comes out the same
    finish(pending)
    finish(loss())
    pending = loss()
    undo(state)
    finish(pending)
    finish(loss())
    assert not model.block._forward_hooks
    redo(state)
    finish(loss())
    undo(state)


def test_gradients_are_those_of_what_is_given(model: Net) -> None:
    state = change(model, "model.block", "identity")
    model(X).sum().backward()
    given = model.first.weight.grad.clone()
    assert not model.block[0].weight.grad.any()
    undo(state)
    model.zero_grad()
    model.head(2 * model.first(X)).sum().backward()
    assert torch.allclose(model.first.weight.grad, given)


def test_a_whole_model_that_gives_zero_can_still_be_trained(model: Net) -> None:
    change(model, "model", "zero")
    model(X).sum().backward()
    assert all(not p.grad.any() for p in model.parameters())


class Pair(NamedTuple):
    first: Tensor
    index: Tensor


class Dict(dict):
    """Has its entries as attributes as well, as outputs of Hugging Face do."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        setattr(self, key, value)


class Gives(nn.Module):
    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor) -> Any:
        return self.make(x + 1)


def dictionary(x: Tensor) -> Dict:
    made = Dict()
    made["logits"] = x
    return made


@pytest.mark.parametrize(
    "make",
    [
        lambda x: (x, x.argmax()),
        lambda x: [x, None, "text"],
        lambda x: Pair(x, x.argmax()),
        lambda x: {"a": x, "b": {"c": 3}},
        dictionary,
    ],
)
def test_structures_stay_what_they_are(make: Any) -> None:
    model = Gives(make)
    out = model(X)
    for value in ("zero", "identity", "3"):
        state = change(model, "model", value)
        new = model(X)
        undo(state)
        assert type(new) is type(out) and len(new) == len(out)
        items, others = (list(one.values() if isinstance(one, dict) else one) for one in (new, out))
        wanted = {"zero": X * 0, "identity": X, "3": others[0] * 3}[value]
        assert torch.equal(items[0], wanted)
        assert items[1:] == others[1:]
        if isinstance(new, Dict):
            assert new.logits is new["logits"] and torch.equal(out.logits, X + 1)


def test_recurrent_and_attention_modules() -> None:
    lstm = nn.LSTM(4, 4, batch_first=True)
    packed = pack_sequence([torch.ones(3, 4), torch.ones(2, 4)])
    state = change(lstm, "model", "zero")
    out, (h, c) = lstm(packed)
    assert isinstance(out, PackedSequence) and not out.data.any() and not h.any() and not c.any()
    assert out.batch_sizes.tolist() == [2, 2, 1]
    undo(state)
    attention = nn.MultiheadAttention(4, 2)
    change(attention, "model", "identity")
    out, weights = attention(query=X, key=X, value=X)
    assert torch.equal(out, X) and weights is not None


def test_what_cannot_be_cut_out_is_left_and_said_once(
    model: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    before = model(X)
    change(model, "model.head", "identity")
    for _ in range(3):
        assert torch.equal(model(X), before)
    said = capsys.readouterr().err
    assert said.count("`model.head`") == 1 and "[3, 4] and gives [3, 2]" in said


def test_copies_of_the_module_compute_as_ever(model: Net) -> None:
    before = model(X)
    state = change(model, "model.block", "zero")
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        torch.load(file, weights_only=False),
    ):
        assert torch.equal(other(X), before)
    assert not torch.equal(model(X), before)
    undo(state)


def test_nothing_is_kept_alive(model: Net) -> None:
    net = Net()
    state = change(net, "model.block", "zero")
    alive = weakref.ref(net.block)
    del net
    gc.collect()
    assert alive() is None
    assert patches.journal.undo(state.patch_id).status == "gone"


def test_hooks_that_the_program_takes_off_are_noticed(model: Net) -> None:
    state = change(model, "model.block", "zero")
    model.block._forward_hooks.clear()
    assert patches.journal.undo(state.patch_id).status == "out_of_sync"


@pytest.mark.parametrize(
    ("target", "value", "why"),
    [
        ("model.first.weight", "zero", "`output` is for modules"),
        ("model.first", "half", "`identity`, `zero` or a number"),
        ("model.first", "True", "is bool"),
        ("scripted", "zero", "TorchScript"),
        ("scripted.block", "zero", "TorchScript"),
        ("compiled", "zero", "torch.compile"),
        ("compiled.block", "zero", "torch.compile"),
        ("inner.block", "2", "torch.compile"),
        ("itself.block", "2", "torch.compile"),
    ],
)
def test_what_cannot_be_changed_is_refused(model: Net, target: str, value: str, why: str) -> None:
    scripted = torch.jit.trace(Net(), X)
    inner, itself = Net(), Net()
    compiled = torch.compile(inner, backend="eager")
    itself.compile(backend="eager")
    with pytest.raises(Refused, match=why):
        patches.apply(Patch(target=target, op="output", value=value), sys._getframe())
    assert not any(m._forward_hooks for m in (*model.modules(), *inner.modules()))
    assert compiled is not None and scripted is not None


def test_compiled_code_that_runs_eagerly_can_be_changed(model: Net) -> None:
    compiled = torch.compile(model, backend="eager")
    before = model(X)
    torch.compiler.set_stance("force_eager")
    try:
        state = change(model, "model.block", "zero")
        assert not torch.equal(compiled(X), before)
        undo(state)
        assert torch.equal(compiled(X), before)
    finally:
        torch.compiler.set_stance("default")
