"""Tables of overrides: what the adapter does differently, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, Union

from zentracer_dap.protocol.messages import Json

if TYPE_CHECKING:
    from zentracer_dap.session import Session

H = TypeVar("H")

Reply = Union[Json, Coroutine[Any, Any, Optional[Json]], None]
"""What a request handler returns: the body of the answer, or the coroutine that makes it, or
None when the answer comes by itself, as for a forwarded request."""

RequestHandler = Callable[["Session", Json], Reply]
"""Handles a request. It runs at once, in the order of the messages, so whatever it sends keeps
its place; only what it has to wait for goes into the coroutine. Raises DapError to fail."""

EventHandler = Callable[["Session", Json], Optional[Json]]
"""Handles an event; returns the event to send instead, None to send none."""


class DuplicateHandler(Exception):
    """Two features claim the same message."""


class Table(Generic[H]):
    """Handlers by message name."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[str, H]] = {}

    def add(self, name: str, reason: str, handler: H) -> None:
        """Register ``handler`` for ``name``; ``reason`` says in one sentence why it exists.

        Raises:
            DuplicateHandler: the name is taken.
        """
        if name in self._entries:
            raise DuplicateHandler(name)
        self._entries[name] = (reason, handler)

    def get(self, name: str) -> H | None:
        """Return the handler for ``name``, None where the default applies."""
        entry = self._entries.get(name)
        return entry[1] if entry else None

    def reasons(self) -> dict[str, str]:
        """Return the reason of every override."""
        return {name: reason for name, (reason, _) in self._entries.items()}


class Overrides:
    """All exceptions from "pass everything through untouched"."""

    def __init__(self) -> None:
        self.requests: Table[RequestHandler] = Table()
        """Requests of the editor."""
        self.events: Table[EventHandler] = Table()
        """Events of debugpy."""
        self.reverse_requests: Table[RequestHandler] = Table()
        """Requests of debugpy to the editor."""
