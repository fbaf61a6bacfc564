"""Numbers, flags, freezing, names and the state of optimisers, changed and changed back."""

from __future__ import annotations

import gc
import math
import sys
import types
import weakref
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn

from zentracer import patches
from zentracer.patches.assignments import assigned
from zentracer.patches.change import Refused
from zentracer.wire.patches import Patch, PatchState

LR = "optimizer.param_groups[0]['lr']"


class Net(nn.Module):
    scale = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.patched_fc = nn.Linear(3, 4)
        self.drop = nn.Dropout(0.5)
        self.norm = nn.BatchNorm1d(4)
        self.out = nn.Linear(4, 1)
        self.loss_weight = 1

    def forward(self, x: Any) -> Any:
        return self.out(self.drop(self.norm(self.patched_fc(x))))


def training(kind: Any = torch.optim.SGD, groups: int = 1, **options: Any) -> Any:
    model = Net()
    parts = [list(model.patched_fc.parameters()), list(model.out.parameters())]
    given = [{"params": p} for p in parts] if groups == 2 else model.parameters()
    return model, kind(given, **{"lr": 0.1, **options})


def step(model: Any, optimizer: Any) -> None:
    optimizer.zero_grad()
    loss = model(torch.randn(5, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    assert math.isfinite(loss.item())


def apply(target: str, op: str = "set", value: str | None = None, **more: Any) -> PatchState:
    return patches.apply(Patch(target=target, op=op, value=value, **more), sys._getframe(1))


def undo(state: PatchState) -> PatchState:
    return patches.journal.undo(state.patch_id)


def redo(state: PatchState) -> PatchState:
    return patches.journal.redo(state.patch_id)


# ---- numbers and flags ---------------------------------------------------------------------------


def test_a_learning_rate_there_and_back() -> None:
    model, optimizer = training(torch.optim.Adam)
    step(model, optimizer)
    state = apply(LR, value="1e-3")
    assert optimizer.param_groups[0]["lr"] == 0.001
    assert (state.target, state.text, state.old, state.new) == (LR, "set to 1e-3", "0.1", "0.001")
    assert state.code == f"{LR} = 0.001"
    step(model, optimizer)
    assert undo(state).status == "undone" and optimizer.param_groups[0]["lr"] == 0.1
    assert redo(state).status == "applied" and optimizer.param_groups[0]["lr"] == 0.001
    optimizer.param_groups[0]["lr"] = 0.5
    assert undo(state).status == "out_of_sync" and optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize(
    ("target", "op", "value", "after"),
    [
        ("model.drop.p", "set", "0.2", 0.2),
        ("model.drop.p", "scale", "0.5", 0.25),
        ("model.drop.p", "zero", None, 0.0),
        ("model.drop.p", "clamp", "(0, 0.25)", 0.25),
        ("model.norm.momentum", "add", "0.1", 0.2),
        ("model.norm.training", "set", "False", False),
        ("optimizer.param_groups[0]['momentum']", "set", "0.9", 0.9),
        ("optimizer.param_groups[0]['weight_decay']", "fill", "0.01", 0.01),
        ("optimizer.param_groups[0]['lr']", "set", "torch.tensor(0.25)", 0.25),
        ("model.loss_weight", "set", "0.5", 0.5),
        ("model.loss_weight", "set", "3.0", 3),
        ("model.scale", "set", "4", 4.0),
        ("config['weights'][1]", "set", "7", 7),
    ],
)
def test_what_can_be_changed(target: str, op: str, value: str | None, after: Any) -> None:
    model, optimizer = training()
    config = {"weights": [1, 2]}
    before = eval(target)
    state = apply(target, op, value)
    now = eval(target)
    assert now == after and type(now) is type(after)
    step(model, optimizer)
    assert undo(state).status == "undone"
    now = eval(target)
    assert now == before and type(now) is type(before)
    assert "scale" not in vars(model)
    assert config == {"weights": [1, 2]}


@pytest.mark.parametrize(
    ("target", "op", "value", "why"),
    [
        ("model.drop.p", "set", "1.5", "not between 0 and 1"),
        ("model.drop.p", "set", "float('nan')", "not between 0 and 1"),
        (LR, "set", "-1", "cannot be negative"),
        (LR, "set", "True", "is a flag"),
        (LR, "set", "'high'", "is no number"),
        (LR, "noise", "0.1", "not by `noise`"),
        ("model.training", "set", "3", "is a flag"),
        ("model.patched_fc.in_features", "set", "2.5", "whole number, 3; 2.5 is none"),
        ("optimizer.param_groups[0]['nesterov']", "set", "True", "Nesterov momentum needs"),
        ("optimizer.param_groups[0]['fused']", "set", "True", "fused"),
        ("rate", "set", "2", "is a variable"),
        ("model.patched_fc", "set", "2", "of type Linear"),
    ],
)
def test_what_is_refused_leaves_all_as_it_was(target: str, op: str, value: str, why: str) -> None:
    model, optimizer = training()
    rate, count = 0.1, len(patches.journal.states())
    before = eval(target)
    with pytest.raises(Refused, match=why):
        apply(target, op, value)
    assert eval(target) is before and len(patches.journal.states()) == count
    assert rate == 0.1
    step(model, optimizer)


def test_betas_as_a_whole_and_one() -> None:
    model, optimizer = training(torch.optim.Adam)
    betas = "optimizer.param_groups[0]['betas']"
    one = apply(betas, value="(0.8, 0.99)")
    two = apply(f"{betas}[0]", value="0.7")
    assert optimizer.param_groups[0]["betas"] == (0.7, 0.99)
    step(model, optimizer)
    state = undo(one)
    assert state.status == "out_of_sync"
    assert f"undo change {two.patch_id} first" in str(state.message)
    undo(two)
    undo(one)
    assert optimizer.param_groups[0]["betas"] == (0.9, 0.999)
    with pytest.raises(Refused, match="up to but not including 1"):
        apply(betas, value="(0.8, 1.5)")


def test_a_setting_that_needs_state_is_refused_once_there_is_other_state() -> None:
    model, optimizer = training(torch.optim.Adam)
    amsgrad = "optimizer.param_groups[0]['amsgrad']"
    undo(apply(amsgrad, value="True"))
    step(model, optimizer)
    with pytest.raises(Refused, match="max_exp_avg_sq"):
        apply(amsgrad, value="True")
    step(model, optimizer)


def test_what_is_said_of_a_change() -> None:
    _model, optimizer = training()
    assert not apply(LR, value="0.2").notes
    assert "nan" in apply(LR, value="float('nan')").notes[0]
    assert "was a whole number" in apply("_model.loss_weight", value="0.5").notes[0]
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    assert "scheduler" in apply(LR, value="0.2").notes[0]
    assert schedule.base_lrs and "train()" in apply("_model.training", value="False").notes[0]


def test_a_group_in_a_variable_is_reached_through_its_optimiser() -> None:
    def changed() -> PatchState:
        group = optimizer.param_groups[0]
        return apply("group['lr']", value=f"{group['lr']} / 2")

    _model, optimizer = training()
    state = changed()
    assert optimizer.param_groups[0]["lr"] == 0.05
    assert undo(state).status == "undone" and optimizer.param_groups[0]["lr"] == 0.1


def test_nothing_is_kept_alive() -> None:
    def changed() -> tuple[list[PatchState], list[Any]]:
        model, optimizer = training(torch.optim.Adam)
        step(model, optimizer)
        states = [
            apply(LR, value="0.2"),
            apply("model.drop.p", value="0.2"),
            apply("model.patched_fc", "freeze"),
            apply("model.out.weight", "scale", "2", reset_state=True),
        ]
        return states, [weakref.ref(model), weakref.ref(optimizer)]

    states, references = changed()
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert [undo(state).status for state in states] == ["gone"] * 4


def test_an_object_that_does_not_take_it() -> None:
    class Fixed(types.SimpleNamespace):
        def __setattr__(self, name: str, value: Any) -> None:
            raise ValueError("not today")

    fixed = Fixed(rate=1.0)
    with pytest.raises(Refused, match="not today"):
        apply("fixed.rate", value="2")
    assert fixed.rate == 1.0


# ---- names ---------------------------------------------------------------------------------------


def test_names_of_what_no_variable_leads_to() -> None:
    def elsewhere(target: str, op: str, value: str | None) -> PatchState:
        return apply(target, op, value)

    gc.collect()
    model, optimizer = training(groups=2)
    weight = model.patched_fc.weight
    before = weight.detach().clone()
    one = elsewhere("patched_fc.weight", "zero", None)
    two = elsewhere("patched_fc.bias[1]", "set", "5")
    three = elsewhere("patched_fc.in_features", "set", "3")
    four = elsewhere("patched_fc", "freeze", None)
    assert [state.code.splitlines()[-1].strip() for state in (one, two, three, four)] == [
        "model.patched_fc.weight.zero_()",
        "model.patched_fc.bias[1].copy_(torch.as_tensor(5))",
        "model.patched_fc.in_features = 3",
        "model.patched_fc.requires_grad_(False)",
    ]
    assert not weight.any() and model.patched_fc.bias[1] == 5
    for state in (four, three, two, one):
        assert undo(state).status == "undone"
    assert torch.equal(weight, before)
    with pytest.raises(Refused, match=r"There is `patched_fc\.weight`"):
        elsewhere("patched_fc.weigth", "zero", None)
    twin = Net()
    with pytest.raises(Refused, match="name of 2 live tensors"):
        elsewhere("patched_fc.weight", "zero", None)
    step(model, optimizer)
    del twin


def test_a_setting_of_all_groups() -> None:
    _model, optimizer = training(groups=2)
    state = apply("optimizer.lr", value="0.2")
    assert [group["lr"] for group in optimizer.param_groups] == [0.2, 0.2]
    assert state.code == "for group in optimizer.param_groups:\n    group['lr'] = 0.2"
    undo(state)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.1]
    optimizer.param_groups[1]["lr"] = 0.01
    with pytest.raises(Refused, match=r"different values .*0\.1, 0\.01"):
        apply("optimizer.lr", value="0.2")
    state = apply("optimizer.lr", "scale", "0.5")
    assert [group["lr"] for group in optimizer.param_groups] == [0.05, 0.005]
    undo(state)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.01]


def test_a_learning_rate_that_is_a_tensor_is_changed_as_one() -> None:
    model, optimizer = training(torch.optim.Adam, lr=torch.tensor(0.1))
    state = apply("optimizer.lr", value="0.2")
    assert optimizer.param_groups[0]["lr"] == torch.tensor(0.2) and state.after is not None
    step(model, optimizer)
    undo(state)
    assert optimizer.param_groups[0]["lr"] == torch.tensor(0.1)


# ---- freezing ------------------------------------------------------------------------------------


def test_freezing_touches_only_what_it_changes() -> None:
    model, optimizer = training(momentum=0.9, weight_decay=0.1)
    model.patched_fc.bias.requires_grad_(False)
    step(model, optimizer)
    optimizer.zero_grad()
    state = apply("model", "freeze")
    assert not any(p.requires_grad for p in model.parameters())
    assert state.new == "requires_grad=False of 5 of 6 parameters"
    undo(state)
    assert [n for n, p in model.named_parameters() if not p.requires_grad] == ["patched_fc.bias"]
    state = apply("model.patched_fc.weight", "freeze")
    assert "leaves it alone" in state.notes[0]
    before = model.patched_fc.weight.detach().clone()
    step(model, optimizer)
    assert torch.equal(model.patched_fc.weight, before)
    with pytest.raises(Refused, match="frozen already"):
        apply("model.patched_fc.weight", "freeze")


def test_a_gradient_that_is_there_still_moves_what_is_frozen() -> None:
    model, optimizer = training(momentum=0.9)
    step(model, optimizer)
    state = apply("model.out.weight", "freeze")
    assert "still has a gradient, and SGD moves it" in state.notes[0]
    before = model.out.weight.detach().clone()
    optimizer.step()
    assert not torch.equal(model.out.weight, before)


def test_between_forward_and_backward_nothing_reaches_what_is_frozen() -> None:
    model, optimizer = training()
    loss = model(torch.randn(5, 3)).sum()
    apply("model.out.weight", "freeze")
    loss.backward()
    assert model.out.weight.grad is None and model.out.bias.grad is not None
    optimizer.step()


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_a_checkpoint_computes_again_stays_the_same(reentrant: bool) -> None:
    model, optimizer = training()

    def part(x: Any) -> Any:
        return model.drop(model.patched_fc(x))

    x = torch.randn(5, 3, requires_grad=True)
    loss = torch.utils.checkpoint.checkpoint(part, x, use_reentrant=reentrant).sum()
    for target, op in (("model.drop.p", "zero"), ("model.patched_fc", "freeze")):
        with pytest.raises(Refused, match="computed again by backward"):
            apply(target, op)
    apply(LR, "scale", "0.5")
    loss.backward()
    apply("model.drop.p", "zero")
    undo(apply("model.patched_fc", "freeze"))
    step(model, optimizer)


def test_replicas_neither_wait_nor_drift_apart(tmp_path: Path) -> None:
    model, optimizer = training()
    model.out.bias.requires_grad_(False)
    init = f"file://{tmp_path / 'store'}"
    torch.distributed.init_process_group("gloo", init_method=init, rank=0, world_size=1)
    try:
        replicated = nn.parallel.DistributedDataParallel(model)
        with pytest.raises(Refused, match="waits for that of each"):
            apply("model.out.weight", "freeze")
        with pytest.raises(Refused, match="would not share the gradient"):
            apply("model.out.bias", "unfreeze")
        undo(apply(LR, "scale", "0.5"))
        step(replicated, optimizer)
        del replicated
        gc.collect()
    finally:
        torch.distributed.destroy_process_group()


def test_what_cannot_be_frozen() -> None:
    model, _optimizer = training()
    y, counts, relu = model.out.weight * 2, torch.arange(3), nn.ReLU()
    for target, op, why in (
        ("y", "freeze", "computed from other tensors"),
        ("counts", "unfreeze", "holds int64"),
        ("relu", "freeze", "no parameters"),
        (LR.replace("optimizer", "_optimizer"), "freeze", "no parameter"),
    ):
        with pytest.raises(Refused, match=why):
            apply(target, op)
    assert y.requires_grad and len(counts) == 3 and relu.training is not False


def test_unfreezing_what_no_optimiser_has() -> None:
    model, _optimizer = training()
    added = nn.Linear(2, 2).requires_grad_(False)
    state = apply("added", "unfreeze")
    assert added.weight.requires_grad and "no optimiser has it" in state.notes[1]
    assert model.training


# ---- the state of optimisers ---------------------------------------------------------------------

WEIGHT = "model.out.weight"


@pytest.mark.parametrize(
    "kind",
    ["Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "Rprop", "ASGD", "RMSprop", "Adadelta"],
)
def test_a_state_that_is_reset_is_that_of_the_first_step(kind: str) -> None:
    model, optimizer = training(getattr(torch.optim, kind))
    other_model, other = training(getattr(torch.optim, kind))
    step(model, optimizer)
    state = apply(WEIGHT, "zero", reset_state=True)
    assert f"{kind} has forgotten its moments of it" in state.notes[0]
    for net, trained in ((model, optimizer), (other_model, other)):
        trained.zero_grad()
        net.out.weight.data.zero_()
        net.out.weight.grad = torch.ones_like(net.out.weight)
    optimizer.step()
    other.step()
    assert torch.equal(model.out.weight, other_model.out.weight)


def test_a_reset_is_undone_with_the_change() -> None:
    model, optimizer = training(torch.optim.Adam)
    step(model, optimizer)
    state = optimizer.state[model.out.weight]
    before = {key: value.clone() for key, value in state.items()}
    weight = model.out.weight.detach().clone()
    done = apply(WEIGHT, "scale", "2", reset_state=True)
    assert not any(value.any() for value in state.values())
    undo(done)
    assert torch.equal(model.out.weight, weight)
    assert all(torch.equal(state[key], before[key]) for key in before)
    redo(done)
    assert not any(value.any() for value in state.values())
    step(model, optimizer)
    assert undo(done).status == "out_of_sync"


def test_a_state_of_the_users_own_optimiser() -> None:
    class Counting(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            for parameter in self.param_groups[0]["params"]:
                state = self.state[parameter]
                state["step"] = state.get("step", 0) + 1
                state["sum"] = state.get("sum", 0) + parameter.grad
            return super().step(closure)

    model, optimizer = training(Counting)
    step(model, optimizer)
    state = optimizer.state[model.out.weight]
    total = state["sum"].clone()
    done = apply(WEIGHT, "scale", "2", reset_state=True)
    assert type(state["step"]) is int and state["step"] == 0 and not state["sum"].any()
    undo(done)
    assert state["step"] == 1 and torch.equal(state["sum"], total)


def test_a_state_that_cannot_be_told_apart_is_refused_before_anything_changes() -> None:
    model, optimizer = training(torch.optim.LBFGS)
    before = model.out.weight.detach().clone()
    with pytest.raises(Refused, match="one state for all its parameters"):
        apply(WEIGHT, "zero", reset_state=True)
    assert torch.equal(model.out.weight, before) and optimizer.param_groups


def test_what_is_kept_is_said() -> None:
    model, optimizer = training(torch.optim.Adam)
    assert apply(WEIGHT, "scale", "2").notes == ()
    step(model, optimizer)
    assert "Adam keeps its moments of it" in apply(WEIGHT, "scale", "2").notes[0]
    note = apply("model.norm.running_mean", "zero", reset_state=True).notes[-1]
    assert "no optimiser has it" in note


# ---- assignments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "text", "after"),
    [
        ("optimizer.param_groups[0]['lr'] = 1e-4", "set to 0.0001", 1e-4),
        ("optimizer.param_groups[i]['lr'] = max(0.2, 0.1)", "set to max(0.2, 0.1)", 0.2),
        ("model.drop.p *= 0.5", "scaled by 0.5", 0.25),
        ("model.drop.p -= 0.25", "-(0.25) added", 0.25),
        ("model.drop.p /= 2", "set to model.drop.p / 2", 0.25),
        ("model.norm.training = False", "set to False", False),
    ],
)
def test_assignments_to_settings_are_changes(statement: str, text: str, after: Any) -> None:
    model, optimizer = training()
    i = 0
    assert assigned(statement, sys._getframe())
    state = patches.journal.states()[-1]
    assert state.text == text and eval(state.target) == after
    undo(state)
    step(model, optimizer)
    assert i == 0


@pytest.mark.parametrize(
    "statement",
    [
        "rate = 3",
        "name.text = 'b'",
        "net().loss_weight = 2",
        "model.new = 1",
        "rate == 1",
        "rate =",
    ],
)
def test_everything_else_is_left_to_python(statement: str) -> None:
    model, _optimizer = training()
    rate, name = 1, types.SimpleNamespace(text="a")

    def net() -> Any:
        raise AssertionError("called twice")

    assert not assigned(statement, sys._getframe())
    assert rate == 1 and name.text == "a" and net is not model


def test_what_is_no_number_is_assigned_by_python_and_evaluated_once() -> None:
    model, _optimizer = training()
    calls: list[int] = []

    def value() -> None:
        calls.append(1)

    count = len(patches.journal.states())
    assert assigned("model.loss_weight = value()", sys._getframe())
    assert model.loss_weight is None and calls == [1]
    assert len(patches.journal.states()) == count and value is not None
