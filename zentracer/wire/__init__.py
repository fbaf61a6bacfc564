"""The protocol between ZenTracer's processes, declared once.

RUNS IN every Python process of ZenTracer. Standard library only.

Every message body is a frozen dataclass; the tables ``EVENTS`` and ``REQUESTS`` map a message
name to its types. The name selects the type, so there are no unions.
"""

from __future__ import annotations

from zentracer.wire.messages import EVENTS, PROTOCOL_VERSION, REQUESTS

__all__ = ["EVENTS", "PROTOCOL_VERSION", "REQUESTS"]
