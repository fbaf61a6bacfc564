"""``functional_dropout_in_eval``: a functional dropout that ``model.eval()`` does not switch off.

RUNS IN the training process.
"""

from __future__ import annotations

import ast
import sys
import types
from typing import Any, Mapping

import torch.nn.functional as F
from torch import nn

from zentracer.control import edits
from zentracer.control.source import Place, function_node, place_of
from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.modules import is_library, modules_on_stack, qualified_name
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.frameworks.pytorch.training.advice.running import enclosing, site
from zentracer.frameworks.pytorch.training.advice.words import words_of
from zentracer.frameworks.pytorch.training.detector import Handler
from zentracer.wire.messages import Suggestion

RULE = Rule("functional_dropout_in_eval", "Dropout stays on in evaluation")
_TRAINING = 2
"""Position of ``training`` among the arguments of these functions."""
_MEANT = frozenset("mc monte bayes bayesian uncertainty stochastic".split())
_FUNCTIONS = (F.dropout, F.dropout1d, F.dropout2d, F.dropout3d)
"""Those that are on unless told otherwise; alpha_dropout is not."""
_ATTENTION = F.scaled_dot_product_attention
_RATE = 4
"""Position of ``dropout_p`` among its arguments."""


class FunctionalDropout(Adviser):
    """Looks at functional dropouts of the user's own modules."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._judged: set[tuple[int, int]] = set()
        self.glance = self._is_wanted

    def ops(self) -> Mapping[Any, Handler]:
        """Ask for the dropouts."""
        return {function: self._dropped for function in (*_FUNCTIONS, _ATTENTION)}

    def _is_wanted(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
    ) -> bool:
        """Pass over dropouts that are off, those of torch's modules, and what is in training."""
        if not (_rate(args, kwargs) if func is _ATTENTION else _is_on(args, kwargs)):
            return False
        module = enclosing(sys._getframe(1))
        return module is not None and not module.training and not is_library(module)

    def _dropped(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        user = user_frame(frame)
        modules = modules_on_stack(frame)
        if user is None or not modules or site(user) in self._judged:
            return
        self._judged.add(site(user))
        name = func.__name__
        place = place_of(user.f_code, user.f_lasti, name)
        is_attention = func is _ATTENTION
        rate = _rate_argument(place) if is_attention else None
        forgets = _is_plain(place, rate, user) if is_attention else _forgets_training(place)
        if not forgets or _is_meant(modules[0], user):
            return
        module = qualified_name(modules[0], modules[-1])
        said = f"F.{name}(dropout_p={_rate(args, kwargs):.3g})" if is_attention else f"F.{name}"
        self.tell(
            RULE,
            user,
            f"{said} is active although {module} is in evaluation mode, so predictions are "
            "random; model.eval() does not reach a functional dropout",
            headline=f"{'dropout of attention' if is_attention else name} stays on in evaluation",
            op=name,
            module=module,
            suggestions=(_in_attention(place, rate, user) if is_attention else _flag(place, user),),
        )


def _flag(place: Place, frame: types.FrameType) -> Suggestion:
    return Suggestion(
        title="pass training=self.training",
        why="training is True unless it is given; self.training follows model.eval().",
        edit=_edit(place, frame),
    )


def _in_attention(place: Place, rate: ast.expr | None, frame: types.FrameType) -> Suggestion:
    edit = None
    if rate is not None and place.module is not None and "self" in frame.f_code.co_varnames:
        text = f"{place.module.text(rate)} if self.training else 0.0"
        edit = edits.replace(place, rate, text)
    return Suggestion(
        title="pass dropout_p only in training",
        why="this function has no training argument: whatever dropout_p is, it drops; "
        "self.training follows model.eval().",
        edit=edit,
    )


def _rate(args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    given = args[_RATE] if len(args) > _RATE else kwargs.get("dropout_p", 0.0)
    return float(given) if isinstance(given, (int, float)) else 0.0


def _rate_argument(place: Place) -> ast.expr | None:
    node = place.node
    if not isinstance(node, ast.Call) or any(isinstance(arg, ast.Starred) for arg in node.args):
        return None
    named = [keyword.value for keyword in node.keywords if keyword.arg == "dropout_p"]
    return next(iter((*named, *node.args[_RATE : _RATE + 1])), None)


def _is_plain(place: Place, rate: ast.expr | None, frame: types.FrameType) -> bool:
    """Tell whether the source gives the rate as it is; who chooses between two means it."""
    if isinstance(rate, ast.Name) and place.module is not None:
        name, scope = rate.id, function_node(place.module, frame.f_code)
        bound = [
            node
            for node in ast.walk(scope)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        values = [
            node.value
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and any(target in bound for target in node.targets)
        ]
        if not bound:  # an argument may be chosen by the caller; a global is not
            return name not in frame.f_code.co_varnames
        if len(bound) != 1 or len(values) != 1:
            return False
        rate = values[0]
    return isinstance(rate, (ast.Constant, ast.Attribute))


def _is_on(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    training = args[_TRAINING] if len(args) > _TRAINING else kwargs.get("training", True)
    return bool(training) and bool(args[1] if len(args) > 1 else kwargs.get("p", 0.5))


def _forgets_training(place: Place) -> bool:
    """Tell whether the source does not say when the dropout is on; who says it means it."""
    node = place.node
    if not isinstance(node, ast.Call) or any(isinstance(arg, ast.Starred) for arg in node.args):
        return False
    return len(node.args) <= _TRAINING and all(
        keyword.arg not in {None, "training"} for keyword in node.keywords
    )


def _is_meant(module: nn.Module, frame: types.FrameType) -> bool:
    """Tell whether names say that dropout is for sampling (Gal and Ghahramani, 2016)."""
    words = words_of(type(module).__name__) | words_of(frame.f_code.co_name)
    return bool(words & _MEANT)


def _edit(place: Place, frame: types.FrameType) -> Any:
    if place.module is None or place.node is None or "self" not in frame.f_code.co_varnames:
        return None
    new = edits.with_keyword(place.module, place.node, "training", "self.training")
    return edits.replace(place, place.node, new) if new else None
