"""Names the modules of the live models, for a picker.

RUNS IN the training process, on the link's thread, while training runs or stands. Names are those
of conditions: what ``match("encoder.*")`` is asked for.
"""

from __future__ import annotations

import fnmatch
import re
import time
from typing import Any, Callable

from zentracer.frameworks.pytorch.live import Pace, live_roots
from zentracer.frameworks.pytorch.module_index import ModuleIndex
from zentracer.wire.messages import Modules, ModulesQuery

_NO_MODEL = "No model is alive in this process yet."
_NO_MATCH = "No module matches {query}."
_MAX_LIMIT = 10_000
_FRESH_SECONDS = 2.0
"""How long an index serves: a picker asks at each key, and looking at all objects takes longest."""


class ModuleList:
    """Answers queries about the live modules."""

    def __init__(self) -> None:
        self._models: list[ModuleIndex] = []
        self._made_at = 0.0

    def answer(self, query: ModulesQuery) -> Modules:
        """Return the modules whose name or class matches, those of the biggest model first."""
        pace, matches = Pace(), _matcher(query.query)
        models = self._fresh(pace)
        matching, infos = 0, []
        for model in models:
            for index in model.matching(matches, pace):
                matching += 1
                if matching <= min(query.limit, _MAX_LIMIT):
                    infos.append(model.info(index))
        note = _NO_MATCH.format(query=query.query) if not matching else None
        return Modules(
            modules=tuple(infos),
            matching=matching,
            total=sum(map(len, models)),
            note=note if models else _NO_MODEL,
        )

    def _fresh(self, pace: Pace) -> list[ModuleIndex]:
        if not self._models or time.monotonic() - self._made_at > _FRESH_SECONDS:
            models = [ModuleIndex(root, pace) for root in live_roots(pace)]
            self._models = sorted(models, key=len, reverse=True)
            self._made_at = time.monotonic()
        return self._models


def _matcher(query: str) -> Callable[[str], Any]:
    """Return a test of one name: a glob of the whole, else a part; in any case."""
    wanted = query.strip()
    if any(mark in wanted for mark in "*?["):
        return re.compile(fnmatch.translate(wanted), re.IGNORECASE).match
    wanted = wanted.lower()
    return lambda name: wanted in name.lower()
