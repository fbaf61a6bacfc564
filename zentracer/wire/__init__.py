"""The protocol between ZenTracer's processes, declared once.

RUNS IN every Python process of ZenTracer. Standard library only.

Every message body is a frozen dataclass; the tables map a message name to its types. The name
selects the type, so there are no unions. ``EVENTS`` and ``REQUESTS`` are the link between the
training process and the adapter. ``zentracer.wire.editor`` has the tables of our additions to
DAP, ``zentracer.wire.launch`` the launch configuration; the training process needs neither.
"""

from __future__ import annotations

from zentracer import __version__
from zentracer.wire.messages import EVENTS, PROTOCOL_VERSION, REQUESTS

__all__ = ["EVENTS", "PROTOCOL_VERSION", "REQUESTS", "VERSION"]

VERSION = __version__
"""Version of ZenTracer on this side of a wire; the other side says its own."""
