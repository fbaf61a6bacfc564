"""Keeps what the user writes with the debugger apart from what the program writes.

RUNS IN the training process, on the thread that stops. When a stop begins, all that the program
has written unseen is noted, to be told at the next safe point; when it ends, all that is there is
known.
"""

from __future__ import annotations

from typing import Callable

from zentracer.frameworks.pytorch.data.found import Found
from zentracer.frameworks.pytorch.data.watched import Watched
from zentracer.watches.clock import clock


class Stops:
    """Of one armed state, from when it is made until ``close``.

    Args:
        watched: what is watched.
        guard: calls what it is given such that nothing is raised and nobody sees it.
    """

    def __init__(self, watched: Watched, guard: Callable[[Callable[[], None]], None]) -> None:
        self._watched = watched
        self.found: list[Found] = []
        """What the program had written when it was stopped, and nobody has been told of."""
        self._stopped = lambda: guard(self._look)
        self._resumed = lambda: guard(watched.adopt)
        clock.when_stopped.add(self._stopped)
        clock.when_resumed.add(self._resumed)

    def close(self) -> None:
        """Look no more."""
        clock.when_stopped.discard(self._stopped)
        clock.when_resumed.discard(self._resumed)
        self.found = []

    def take(self) -> list[Found]:
        """Return what was found, once."""
        found, self.found = self.found, []
        return [one for one in found if self._watched.targets.get(one.target.data_id) is one.target]

    def _look(self) -> None:
        self.found += self._watched.moved(None, _always, glances=True)
        self.found += self._watched.read(_always)


def _always() -> bool:
    return True
