"""``load_matched_nothing``: ``load_state_dict(strict=False)`` that loads nothing.

RUNS IN the training process.
"""

from __future__ import annotations

import functools
import sys
import types
from collections import Counter
from typing import Any, Callable, Iterable

from torch import nn

from zentracer.frameworks.pytorch.frames import user_frame
from zentracer.frameworks.pytorch.replace import Replacements
from zentracer.frameworks.pytorch.training.advice.adviser import Adviser, Rule
from zentracer.wire.messages import Suggestion

RULE = Rule("load_matched_nothing", "Nothing was loaded")
_FEW = 0.1
"""Share of the model's keys below which a load is looked at: a new head on an old body keeps most
of them."""
_WOULD_FIT = 0.5
"""Share of the checkpoint that another prefix must make fit, to say that the prefix is wrong."""


class Loading(Adviser):
    """Looks at the results of ``load_state_dict``."""

    filter = RULE.filter

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._replaced = Replacements()
        self._replaced.put(nn.Module, "load_state_dict", self._around)

    def close(self) -> None:
        """Leave no trace."""
        self._replaced.remove()

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def load_state_dict(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            result = original(module, *args, **kwargs)
            strict = args[1] if len(args) > 1 else kwargs.get("strict", True)
            frame = user_frame(sys._getframe(1))
            given = args[0] if args else kwargs.get("state_dict")
            if not strict and frame is not None and result is not None:
                self.guarded("after loading", self._loaded, module, given, result, frame)
            return result

        return load_state_dict

    def _loaded(self, module: nn.Module, given: Any, result: Any, frame: types.FrameType) -> None:
        missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
        keys = len(given)
        own = _own_keys(module)
        loaded = keys - len(unexpected)
        if not missing or not unexpected or loaded > _FEW * len(own):
            return
        change = _prefix_that_fits(missing, unexpected)
        if loaded and change is None:
            return
        numbers = (
            f"{loaded} of {len(own)} keys of {type(module).__name__} were in the checkpoint: "
            f"{len(missing)} missing, {len(unexpected)} unexpected, and strict=False hides it"
        )
        self.tell(
            RULE,
            frame,
            numbers + (f"; {change.said}" if change is not None else ""),
            op="load_state_dict",
            phase="load",
            evidence=(
                f"missing     {', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}",
                f"unexpected  {', '.join(unexpected[:4])}{' …' if len(unexpected) > 4 else ''}",
            ),
            suggestions=(_suggestion(change),),
        )


class _Change:
    """A prefix to take off the keys of a checkpoint, or to put before them."""

    def __init__(self, prefix: str, *, remove: bool) -> None:
        self.prefix, self.remove = prefix, remove
        where = "keys of the checkpoint begin" if remove else "keys of the model begin"
        self.said = f'the {where} with the common prefix "{prefix}"'


def _suggestion(change: _Change | None) -> Suggestion:
    if change is None:
        return Suggestion(
            title="load with strict=True",
            why="the keys of the checkpoint are those of another model; the error lists them.",
        )
    if change.remove:
        code = f"{{k[{len(change.prefix)}:]: v for k, v in state.items()}}"
        return Suggestion(
            title=f'take the prefix "{change.prefix}" off the keys',
            why=f'k.removeprefix("{change.prefix}") for each key: {code}. "module." comes from '
            'DataParallel, "_orig_mod." from torch.compile; save model.module\'s state instead.',
        )
    return Suggestion(
        title=f'put the prefix "{change.prefix}" before the keys',
        why=f'{{"{change.prefix}" + k: v for k, v in state.items()}} fits this model.',
    )


def _own_keys(module: nn.Module) -> set[str]:
    """Return the names of what a model can load; ``state_dict()`` may gather among ranks."""
    names = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    return names | {name for name, _ in module.named_buffers(remove_duplicate=False)}


def _prefix_that_fits(missing: Iterable[str], unexpected: Iterable[str]) -> _Change | None:
    missing, unexpected = set(missing), set(unexpected)
    for longer, shorter, remove in ((unexpected, missing, True), (missing, unexpected, False)):
        found: Counter[str] = Counter()
        for key in longer:
            parts = key.split(".")
            for count in range(1, min(len(parts), 4)):
                if ".".join(parts[count:]) in shorter:
                    found[".".join(parts[:count]) + "."] += 1
        if found:
            prefix, count = found.most_common(1)[0]
            if count >= _WOULD_FIT * len(unexpected):
                return _Change(prefix, remove=remove)
    return None
