"""Whole states, sent whenever they change but not more often than anybody can look."""

from __future__ import annotations

import asyncio
from typing import Callable

PAUSE = 0.1
"""Seconds between two states: ten a second."""

_SHARE = 20
"""A state that takes long to make and to send is sent more rarely: it takes 1/20 of the time."""

LONGEST = 2.0
"""Seconds that a state waits at most: an editor that does not read for a while holds up one of
them, which says nothing of the next."""


class Coalesced:
    """Sends a state at once when it changes, at most ten times a second, and the last one always.

    Args:
        send: makes and sends the state as it is when it is called.
    """

    def __init__(self, send: Callable[[], None]) -> None:
        self._send = send
        self._next = 0.0
        """When the next state may be sent, by the event loop's clock."""
        self._timer: asyncio.TimerHandle | None = None

    def changed(self) -> None:
        """Send the state now, or as soon as it may be sent again."""
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() >= self._next:
            self._send_now()
        else:
            self._timer = loop.call_at(self._next, self._send_now)

    def flush(self) -> None:
        """Send what waits: the session is about to end."""
        if self._timer is not None:
            self._timer.cancel()
            self._send_now()

    def close(self) -> None:
        """Send nothing any more of what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_now(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self._send()
        end = loop.time()
        self._next = end + min(max(PAUSE, _SHARE * (end - begin)), LONGEST)
