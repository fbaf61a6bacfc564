"""Between forward and backward: what a gradient needs is refused, the rest is allowed."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn

from zentracer import patches
from zentracer.patches.change import Refused
from zentracer.wire.patches import Patch, PatchState


def apply(target: str, **names: Any) -> PatchState:
    """Change ``target`` as seen by a frame that has ``names``."""
    return patches.apply(Patch(target=target, op="scale", value="1.5"), _frame(**names))


def _frame(**names: Any) -> Any:
    frames: list[Any] = []
    exec("keep(__import__('sys')._getframe())", {"keep": frames.append, **names})
    return frames[0]


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 2 * x * grad


def needed() -> list[Any]:
    """Per kind: what is changed by name, and the names with which its loss is reached."""
    x = torch.randn(2, 4, requires_grad=True)
    stack = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    conv, norm = nn.Conv1d(1, 2, 3), nn.LayerNorm(4)
    image = torch.randn(2, 1, 4, requires_grad=True)
    cases: list[Any] = [
        ("stack[1].weight", {"stack": stack, "loss": stack(x).sum()}),
        ("conv.weight", {"conv": conv, "loss": conv(image).sum()}),
        ("norm.weight", {"norm": norm, "loss": norm(x).sum()}),
        ("x", {"x": (leaf := x.detach().requires_grad_()), "loss": Square.apply(leaf).sum()}),
    ]
    for kept in (torch.relu, torch.exp, lambda t: torch.softmax(t, 1), torch.tanh):
        y = kept(x)
        cases.append(("y", {"y": y, "loss": y.sum()}))
    return cases


@pytest.mark.parametrize("case", range(8))
def test_what_backward_needs_is_refused(case: int) -> None:
    target, names = needed()[case]
    with pytest.raises(Refused, match="backward would fail"):
        apply(target, **names)
    names["loss"].backward()


class Trainer:
    def __init__(self, loss: Any) -> None:
        self.loss = loss


@pytest.mark.parametrize("hold", [Trainer, lambda x: [x], lambda x: {"a": (x,)}])
def test_graphs_that_are_reached_by_what_holds_them(hold: Any) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    holder = hold(model(torch.randn(2, 4)).sum())
    with pytest.raises(Refused, match="backward would fail"):
        apply("model[1].weight", model=model, holder=holder)


def test_what_backward_does_not_need_is_allowed() -> None:
    model: Any = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    loss = model(torch.randn(2, 4)).pow(2).sum()
    names = {"model": model, "loss": loss}
    for target in ("model[2].bias", "model[0].bias", "model[0].weight"):
        assert apply(target, **names).status == "applied"
    loss.backward()
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters())


def test_an_undo_that_backward_would_not_survive_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    state = apply("model[1].weight", model=model)
    loss = model(torch.randn(2, 4)).sum()
    with pytest.raises(Refused, match="backward would fail"):
        patches.journal.undo(state.patch_id)
    loss.backward()
    del loss
    assert patches.journal.undo(state.patch_id).status == "undone"
