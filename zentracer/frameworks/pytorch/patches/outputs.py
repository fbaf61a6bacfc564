"""Have a module give something else than it computes, until that is undone.

RUNS IN the training process. The change is a forward hook, which is there only while it is in
force. What the hook gives hangs on what the module has computed, with gradient zero where that
does not count: so backward finds a gradient for every parameter, and ranks wait for each other's
as before.
"""

from __future__ import annotations

import contextlib
import sys
import types
import weakref
from typing import Any, Callable, NamedTuple, Sequence

import torch
from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.breaks.recomputed import is_recomputed
from zentracer.frameworks.pytorch.patches.closed import why_closed
from zentracer.frameworks.pytorch.patches.structures import first_tensor, mapped
from zentracer.observe.stats import error_text
from zentracer.patches import notices
from zentracer.patches.change import Change, Refused
from zentracer.tensor_view import evaluate

IDENTITY, ZERO = "identity", "zero"
_VALUES = f"`{IDENTITY}`, `{ZERO}` or a number"


class Rule(NamedTuple):
    """What a module gives."""

    what: str
    """identity, zero or scale"""
    factor: float = 1.0

    @property
    def text(self) -> str:
        """For the list of changes."""
        if self.what == "scale":
            return f"output scaled by {self.factor:g}"
        return "output is its input" if self.what == IDENTITY else "output is zero"


def output_change(
    value: str | None, pointed: Pointed, more: Sequence[Any], frame: types.FrameType | None
) -> Change:
    """Return the change to what a module gives.

    Raises:
        Refused: it is no module, or one whose calls cannot be changed.
    """
    module, label = pointed.value, pointed.label
    if not isinstance(module, nn.Module):
        kind = type(module).__name__
        raise Refused(f"`{label}` is of type {kind}; `output` is for modules.")
    if more:
        raise Refused("`output` takes no part: it is about all that a module gives.")
    rule = _rule(value, frame)
    reason = why_closed(module)
    if reason is not None:
        raise Refused(f"The output of `{label}` cannot be changed: {reason}.")
    pointed.release()
    return OutputChange(module, label, rule)


class OutputChange(Change):
    """Puts a hook on a module, and takes it off."""

    def __init__(self, module: nn.Module, label: str, rule: Rule) -> None:
        self.target, self.text = label, rule.text
        self.old, self.new = "as computed", rule.text.partition(" ")[2]
        self.code = _code(label, rule)
        self._module = weakref.ref(module)
        self._hook = _Hook(module, label, rule)
        self._is_on = False

    @property
    def is_gone(self) -> bool:
        """Whether the module has been freed."""
        return self._module() is None

    def do(self) -> None:
        """Put the hook there."""
        module = self._module()
        if module is None:
            raise Refused(f"`{self.target}` has been freed.")
        try:
            self._hook.put(module)
        except (RuntimeError, AttributeError, TypeError) as error:
            raise Refused(f"`{self.target}` was not changed: {error_text(error)}") from None
        self._is_on = True

    def is_current(self) -> bool:
        """Tell whether the hook is where this has left it."""
        return not self._is_on or self._hook.is_there

    def overlaps(self, other: Change) -> bool:
        """Tell whether the other is about the same module's output."""
        return isinstance(other, OutputChange) and other._module() is self._module()

    def swap(self) -> None:
        """Take the hook off, or put it there again."""
        if self._is_on:
            self._hook.remove()
            self._is_on = False
        else:
            self.do()


class _Hook:
    """What is registered with the module.

    In a copy of the module, or one that was read from a file, it does nothing: nobody could undo it
    there.
    """

    def __init__(self, module: nn.Module, label: str, rule: Rule) -> None:
        self._module = weakref.ref(module)
        self._label, self._rule = label, rule
        self._handle: Any = None
        self._was_forward = False
        """Whether it was called in a forward pass since it was put there: a checkpoint that runs
        an earlier one again must compute what was computed then."""
        self._is_leaving = False
        self._in_checkpoint = False
        self._has_told = False

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")  # takes anything and gives None

    def __deepcopy__(self, memo: Any) -> Any:
        return contextlib.nullcontext().__exit__

    @property
    def is_there(self) -> bool:
        """Whether the module still has it, and as a change."""
        module = self._module()
        return module is not None and not self._is_leaving and self in _hooks_of(module)

    def put(self, module: nn.Module) -> None:
        """Register it, once."""
        if self._is_leaving:
            self._is_leaving = False
            return
        self._was_forward = self._in_checkpoint = False
        self._handle = module.register_forward_hook(self, with_kwargs=True)

    def remove(self) -> None:
        """Take it off; where a checkpoint may run the last forward pass again, after that."""
        if self._in_checkpoint:
            self._is_leaving = True
        else:
            self._off()

    def __call__(self, module: Any, args: Any, kwargs: Any, output: Any) -> Any:
        """Return what the module gives instead; None for what it has computed."""
        if module is not self._module() and not getattr(module, "_is_replica", False):
            return None
        try:
            if not self._counts():
                return None
            return self._instead(args, kwargs, output)
        except Exception as error:  # ours: the program goes on with what was computed
            self._tell(f"its output is left as it is: {error_text(error)}")
            return None

    def _counts(self) -> bool:
        """Tell whether the rule holds for this call."""
        in_checkpoint = is_recomputed(sys._getframe(2))
        if in_checkpoint and _in_backward():
            return self._was_forward
        if self._is_leaving:
            self._off()
            return False
        self._was_forward = True
        self._in_checkpoint = self._in_checkpoint or in_checkpoint
        return True

    def _instead(self, args: Any, kwargs: Any, output: Any) -> Any:
        rule = self._rule
        if rule.what == "scale":
            return self._of_all(output, lambda x: x * rule.factor)
        if rule.what == ZERO:
            return self._of_all(output, _zero)
        given, computed = first_tensor((args, kwargs)), first_tensor(output)
        if given is None or computed is None or given.shape != computed.shape:
            self._tell(
                f"it cannot be cut out: it is given {_shape(given)} and gives {_shape(computed)}; "
                "its output is left as it is"
            )
            return None
        return mapped(output, lambda x: _instead_of(computed, given) if x is computed else x)[0]

    def _of_all(self, output: Any, change: Callable[[Tensor], Tensor]) -> Any:
        """Change the floating-point tensors; indices and lengths stay."""
        is_number = lambda x: x.is_floating_point() or x.is_complex()  # noqa: E731
        new, count = mapped(output, lambda x: change(x) if is_number(x) else x)
        if not count:
            self._tell(f"it gives {type(output).__name__}, in which no tensor is found")
            return None
        return new

    def _off(self) -> None:
        self._is_leaving = False
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _tell(self, why: str) -> None:
        if not self._has_told:
            self._has_told = True
            notices.tell(f"The change to the output of `{self._label}` has no effect: {why}.")


def _zero(x: Tensor) -> Tensor:
    """Return zeros that hang on ``x`` with gradient zero, whatever is in it."""
    return x.masked_fill(torch.ones((), dtype=torch.bool, device=x.device), 0)


def _instead_of(computed: Tensor, given: Tensor) -> Tensor:
    """Return ``given``, in the type that follows expects, which hangs on ``computed`` as well."""
    given = given.to(computed.device, computed.dtype)
    return given + _zero(computed) if computed.requires_grad else given.clone()


def _in_backward() -> bool:
    """Tell whether this thread is in a backward pass."""
    return torch._C._current_graph_task_id() != -1


def _hooks_of(module: nn.Module) -> list[Any]:
    return list(module._forward_hooks.values())


def _rule(value: str | None, frame: types.FrameType | None) -> Rule:
    text = (value or "").strip().strip("\"'")
    if text.lower() in (IDENTITY, ZERO):
        return Rule(text.lower())
    if not text:
        raise Refused(f"`output` needs a value: {_VALUES}.")
    scope, names = (frame.f_globals, frame.f_locals) if frame is not None else ({}, {})
    try:
        number = evaluate.value_of(text, scope, names)
    except evaluate.Refused as refused:
        raise Refused(f"`output` takes {_VALUES}. {refused}") from None
    if isinstance(number, Tensor) and number.numel() == 1:
        number = number.item()
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise Refused(f"`output` takes {_VALUES}; `{text}` is {type(number).__name__}.")
    return Rule("scale", float(number))


def _shape(x: Tensor | None) -> str:
    return "no tensor" if x is None else str(list(x.shape))


def _code(label: str, rule: Rule) -> str:
    if rule.what == "scale":
        made = f"output * {rule.factor!r}"
    elif rule.what == ZERO:
        made = "output * 0"
    else:
        made = "args[0]"
    return f"{label}.register_forward_hook(lambda module, args, output: {made})"
