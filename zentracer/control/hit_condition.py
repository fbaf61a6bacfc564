"""Hit conditions: after how many hits, and how often, a breakpoint stops.

RUNS IN the training process. ``5``, ``== 5``, ``>= 5``, ``% 5`` count the hits at which the
condition of the breakpoint held; ``every 10 steps``, ``every 100 hits`` and ``every 2 s`` let one
hit pass in that span.
"""

from __future__ import annotations

import operator
import re
import time
from typing import Callable, Dict, Optional

_COUNTED = re.compile(r"(==|>=|<=|>|<|%)?\s*(\d+)")
_EVERY = re.compile(r"every\s+(?:(\d+(?:\.\d+)?)\s*)?(steps?|hits?|s|sec(?:ond)?s?)", re.IGNORECASE)
_COMPARE: Dict[str, Callable[[int, int], bool]] = {
    "": operator.eq,
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, every: hits % every == 0,
}
_FORMS = "write 5, >= 5, % 5 (every fifth hit), every 10 steps, every 100 hits or every 2 s"


class HitConditionError(Exception):
    """A hit condition that cannot be used; the text is a sentence for the user."""


class HitCondition:
    """Counts the hits of one breakpoint. Not for several threads without a lock."""

    def __init__(
        self, text: str, allows: Callable[[int, Optional[int]], bool], *, counts_steps: bool = False
    ) -> None:
        self.text = text
        """As the user wrote it; empty if every hit stops."""
        self.hits = 0
        """How often the breakpoint was reached with its condition true."""
        self.counts_steps = counts_steps
        """Whether it asks for the training step."""
        self._allows = allows
        self._stops_without_steps = 0

    def hit(self, step: Optional[int]) -> bool:
        """Count a hit; return whether to stop at it.

        Args:
            step: the training step, None where that is not known; then hits count as steps.
        """
        self.hits += 1
        allowed = self._allows(self.hits, step)
        if allowed and self.counts_steps and step is None:
            self._stops_without_steps += 1
        return allowed

    def without_steps(self) -> Optional[str]:
        """Return what is to be said, once, when it was hits that a stop went by: at the second."""
        if self._stops_without_steps != 2:
            return None
        self._stops_without_steps += 1
        return f"The hit condition '{self.text}' counts hits: no training step is known here."


def compile_hit_condition(text: Optional[str]) -> HitCondition:
    """Return the counter for a hit condition; every hit stops if there is none.

    Raises:
        HitConditionError: it has none of the forms.
    """
    source = (text or "").strip()
    if not source:
        return HitCondition(source, lambda _hits, _step: True)
    counted = _COUNTED.fullmatch(source)
    if counted is not None:
        return HitCondition(source, _counted(counted[1] or "", int(counted[2]), source))
    every = _EVERY.fullmatch(source)
    if every is None:
        raise HitConditionError(f"The hit condition '{source}' is not valid: {_FORMS}.")
    number, unit = float(every[1] or 1), every[2].lower()
    if number <= 0 or ((not unit.startswith("s") or unit.startswith("st")) and number % 1):
        raise HitConditionError(f"The hit condition '{source}' needs a whole number above 0.")
    if unit.startswith("st"):
        return HitCondition(source, _every_steps(int(number)), counts_steps=True)
    if unit.startswith("h"):
        return HitCondition(source, lambda hits, _step: (hits - 1) % int(number) == 0)
    return HitCondition(source, _every_seconds(number))


def _counted(sign: str, number: int, source: str) -> Callable[[int, Optional[int]], bool]:
    if sign == "%" and number == 0:
        raise HitConditionError(f"The hit condition '{source}' divides by zero.")
    compare = _COMPARE[sign]
    return lambda hits, _step: compare(hits, number)


def _every_steps(number: int) -> Callable[[int, Optional[int]], bool]:
    last: Optional[int] = None
    by_hits = False

    def allows(hits: int, step: Optional[int]) -> bool:
        nonlocal last, by_hits
        if step is not None and by_hits:
            last, by_hits = 0, False  # the hits so far came before the first step was complete
        now = hits - 1 if step is None else step
        if last is not None and last <= now < last + number:
            return False
        last, by_hits = now, step is None
        return True

    return allows


def _every_seconds(number: float) -> Callable[[int, Optional[int]], bool]:
    last: Optional[float] = None

    def allows(_hits: int, _step: Optional[int]) -> bool:
        nonlocal last
        now = time.monotonic()
        if last is not None and now < last + number:
            return False
        last = now
        return True

    return allows
