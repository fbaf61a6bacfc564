"""The arrow to the editor: what it told us about itself, and how to talk to its user."""

from __future__ import annotations

from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.messages import Json


class Editor:
    """The editor at the other end of a session."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.initialize_arguments: Json = {}
        """Arguments of its ``initialize`` request, to replay towards another debugpy."""
        self.has_terminated = False
        """Whether it was told that the session is over."""

    def supports(self, capability: str) -> bool:
        """Whether the editor announced ``capability``."""
        return bool(self.initialize_arguments.get(capability))

    def tell(self, text: str, category: str = "important") -> None:
        """Show ``text`` in the debug console.

        Clients that do not know ``important`` treat it as ``console``, as DAP prescribes.
        """
        self.channel.event("output", {"category": category, "output": text.rstrip("\n") + "\n"})

    def terminated(self) -> None:
        """Say once that the session is over."""
        if not self.has_terminated:
            self.has_terminated = True
            self.channel.event("terminated")
