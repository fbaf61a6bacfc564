"""Turns a change of something watched into what the user reads.

RUNS IN the training process, inside ``unseen()``, when a data breakpoint stops.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Sequence

from torch import Tensor

from zentracer.control.condition import STATISTICS
from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.data.found import Found
from zentracer.frameworks.pytorch.data.sharing import names_sharing
from zentracer.frameworks.pytorch.data.suggestions import suggestions_for
from zentracer.frameworks.pytorch.data.target import Target
from zentracer.frameworks.pytorch.data.writer import Writer
from zentracer.frameworks.pytorch.modules import owner_of, root_modules
from zentracer.frameworks.pytorch.report import Finding, place_name
from zentracer.observe.stats import exact_stats
from zentracer.wire.filters import DATA
from zentracer.wire.messages import Stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

_FIGURES = ("min", "max", "mean", "std", "norm", "nan", "inf")
_MAX_NAMES = 6
_MAX_OTHERS = 12
_TINY = 1e-4


class Moment:
    """One change, as conditions see it; each value is computed when one reaches its name."""

    def __init__(self, training: Training, found: Found, writer: Writer) -> None:
        self._training, self._found, self._writer = training, found, writer

    def value_of(self, name: str) -> Any:
        """Return the value of one name of the condition language."""
        if name == "changed":
            return self._found.change.difference.changed
        x, watch = self._tensor, self._training.watch
        if name in STATISTICS:
            return getattr(self._stats, name, None)
        found = {
            "module": lambda: module_of(self._found.target),
            "op": lambda: self._writer.op,
            "phase": lambda: self._writer.phase,
            "step": lambda: watch.step or 0,
            "epoch": lambda: self._training.epoch(self._writer.frame),
            "rank": lambda: watch.host.rank or 0,
            "x": lambda: x,
            "name": lambda: self._found.target.label,
            "shape": lambda: tuple(x.shape) if x is not None else None,
            "dtype": lambda: str(x.dtype).rpartition(".")[2] if x is not None else None,
            "device": lambda: str(x.device) if x is not None else None,
            "size": lambda: x.numel() if x is not None else None,
        }
        return found[name]() if name in found else None

    @functools.cached_property
    def _tensor(self) -> Tensor | None:
        return self._found.target.tensor() if self._found.change.after is not None else None

    @functools.cached_property
    def _stats(self) -> Stats | None:
        return exact_stats(self._tensor) if self._tensor is not None else None


def module_of(target: Target) -> str:
    """Return the module that has what is watched, or that of which it is a gradient; "" if none."""
    source = target.source
    if source.module is None:
        tensor = source.holder.root if source.holder and source.is_gradient else source.value
        owner = owner_of(tensor, root_modules()) if isinstance(tensor, Tensor) else None
        source.module = (owner.module_name or type(owner.module).__name__) if owner else ""
    return source.module


def finding_for(found: Sequence[Found], writer: Writer) -> Finding:
    """Return what is told of a write that has changed the first of ``found``, and the others."""
    target, change = found[0][:2]
    place = place_of(writer.frame.f_code, writer.frame.f_lasti, writer.op)
    x = target.tensor()
    shares = names_sharing(x, target, writer.frame) if x is not None else []
    suggestions, origin = suggestions_for(target, x, writer, place)
    finding = Finding(
        op=writer.op,
        phase=writer.phase,
        tensor=x,
        nan=0,
        inf=0,
        source=place,
        origin=origin or place,
        subject=target.label,
        module=(module_of(target) or None) if x is not None else None,
        suggestions=suggestions,
        filter=DATA,
        headline=_headline(found[0], writer),
        numbers=_numbers(found[0]),
        note=_note(found[0], writer),
        reason="data breakpoint",
        before=change.before.stats() if change.before is not None else None,
        changed=change.difference.changed if math.isfinite(change.difference.changed) else None,
        writer=writer.name,
        shown={"before": change.before.tensor()} if change.before is not None else {},
        values={"changed": change.difference.changed},
    )
    finding.evidence = (*_table(finding), *_relations(shares, found[1:]))
    return finding


def _headline(found: Found, writer: Writer) -> str:
    target, change, is_rebound = found[:3]
    label = target.label
    if change.after is None:
        what = "is None now" if target.part is None else "is gone: its tensor was replaced"
    elif change.before is None:
        what = "holds a tensor now"
    elif is_rebound:
        what = "holds another tensor now"
    else:
        what = "changed"
    if not writer.is_known:
        return f"{label} {what}, found at {writer.op}"
    return f"{label} {what}{' ' if what == 'changed' else ', '}by {writer.name}"


def _numbers(found: Found) -> str | None:
    change, difference = found.change, found.change.difference
    if change.after is None or change.before is None:
        return None
    if change.before.shape != change.after.shape:
        return f"shape {list(change.before.shape)} became {list(change.after.shape)}"
    if difference.sampled and not difference.differing:
        return f"elements outside of the sample of {difference.compared:,}"
    of = f"{difference.differing:,} of {difference.compared:,} "
    of += "sampled elements" if difference.sampled else _elements(difference.compared)
    if not math.isfinite(difference.changed):
        return of
    return f"{_percent(difference.changed)} of its norm, {of}"


def _elements(count: int) -> str:
    return "element" if count == 1 else "elements"


def _percent(share: float) -> str:
    return f"{share:.2g} times" if share >= 10 else f"{100 * share:.3g}%"


def _note(found: Found, writer: Writer) -> str | None:
    if writer.is_known:
        return None
    site = found.since.site if found.since is not None else writer.since
    since = f"between {place_name(site.place.location)} and here" if site is not None else "before"
    if found.is_rebound:
        return (
            f"found at the next safe point; it was assigned {since}: entries of dictionaries and "
            "lists, and attributes of objects that are no modules, tell of no assignment."
        )
    if found.is_counted:
        return (
            f"found at the next safe point; it was written {since}, by NumPy, C code or another "
            "process that has its memory: nothing in torch wrote it."
        )
    return (
        f"found at the next safe point; it was written {since}, by NumPy, C code or code that is "
        "compiled, where no single write is seen."
    )


def _table(finding: Finding) -> list[str]:
    before = finding.before
    if before is None or finding.tensor is None:
        return []
    after = exact_stats(finding.tensor)
    rows = [f"{'':6}{'before':>12}{'after':>12}"]
    for name in _FIGURES:
        old, new = getattr(before, name), getattr(after, name)
        if (old or new or name not in ("nan", "inf")) and (old is not None or new is not None):
            rows.append(f"{name:6}{_figure(old):>12}{_figure(new):>12}")
    if before.sampled:
        rows.append("before: of a sample of its elements")
    return rows


def _figure(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _relations(shares: Sequence[str], others: Sequence[Found]) -> list[str]:
    rows = []
    if shares:
        more = f" and {len(shares) - _MAX_NAMES} more" if len(shares) > _MAX_NAMES else ""
        rows.append(f"shares storage with {', '.join(shares[:_MAX_NAMES])}{more}")
    if others:
        names = [one.target.label for one in others]
        more = f" and {len(names) - _MAX_OTHERS} more" if len(names) > _MAX_OTHERS else ""
        rows.append(f"changed as well: {', '.join(names[:_MAX_OTHERS])}{more}")
    return rows
