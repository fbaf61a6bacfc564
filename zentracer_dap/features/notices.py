"""What ZenTracer says about itself: in the console, and as ``zentracer/notice``.

The runtimes report over debugpy's channel or over the link. The event is for graphical clients,
which can show it where it is not overlooked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zentracer.wire import VERSION
from zentracer.wire.codec import decode, to_json
from zentracer.wire.messages import Notice
from zentracer_dap.peers.runtime import Runtime
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session


class Notices:
    """Tells the user of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._said: set[str] = set()

    def say(self, text: str) -> None:
        """Show ``text`` in the console of the main session."""
        self._run.tell(text)

    def say_once(self, text: str) -> None:
        """Show ``text`` in the console, unless it was shown before."""
        if text not in self._said:
            self._said.add(text)
            self.say(text)

    def tell(self, text: str) -> None:
        """Say once something about ZenTracer itself, as an event too."""
        if text not in self._said:
            self.say_once(text)
            self._run.editor_event("zentracer/notice", to_json(Notice(message=text)))

    def heard(self, notice: Notice) -> None:
        """Show what a runtime says, on the breakpoint that it concerns if there is one."""
        if notice.breakpoint_id is None:
            self.tell(notice.message)
        else:
            self.say_once(notice.message)
            self._run.breakpoints.notice(notice)

    def welcome(self, runtime: Runtime) -> None:
        """Say so if the runtime of a process is of another version than the adapter."""
        assert runtime.hello is not None
        version = runtime.hello.version
        if version != VERSION:
            self.tell(
                f"ZenTracer {version} is loaded in process {runtime.pid}, and this adapter is "
                f"ZenTracer {VERSION}. They understand each other, and findings come from "
                f"{version}. To use {VERSION} throughout, start the program from the editor, or "
                f"install zentracer {VERSION} in its environment."
            )


def register(overrides: Overrides) -> None:
    """Register what a runtime says over debugpy's channel."""
    overrides.events.add(
        "zentracer/notice", "The user reads it in the console and on the breakpoint.", _on_notice
    )


def _on_notice(session: Session, event: Json) -> None:
    notice = decode(Notice, cast(Any, body_of(event)), "notice")
    run = session.run
    run.notices.heard(notice)
    if notice.breakpoint_id is not None and notice.breakpoint_id not in run.arming.ids:
        # A line breakpoint of this session, whose condition could not be evaluated.
        changed = {"id": notice.breakpoint_id, "verified": False, "message": notice.message}
        body = {"reason": "changed", "breakpoint": session.replay.with_known_id(changed)}
        session.editor.channel.event("breakpoint", body)
