"""Breakpoints in compiled code: why they are not hit, and ``zentracer/run_eagerly``.

A process tells over debugpy's channel which of its line breakpoints are not hit; the editor shows
each as unverified with the reason. The first one in code of ``torch.compile`` makes an offer,
``zentracer/eager_offer``: run the session eagerly. The request does that, in all processes of the
program, and in those that are still to come.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import WireError, decode, to_json
from zentracer.wire.editor import EagerOffer
from zentracer.wire.messages import CompiledLines, Eager, RunEagerly
from zentracer_dap.peers.runtime import Runtime, RuntimeFailed
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

ANSWER_SECONDS = 5.0
"""How long a process may take to change how it runs."""

_LATER = "No process has connected yet; those that do will run so."
_OFFERED = "compiled"
"""The kind that a running program can leave."""


class EagerRuns:
    """How the processes of one debugged program run compiled code."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._wanted: RunEagerly | None = None
        """What the user asked for last."""
        self._unreached: weakref.WeakKeyDictionary[Session, dict[int, str]] = (
            weakref.WeakKeyDictionary()
        )
        """Why breakpoints are not hit, by debugpy's id."""
        self._has_offered = False

    def restarted(self) -> None:
        """The program starts anew, as its configuration says."""
        self._wanted = RunEagerly() if self._run.options.eager else None
        self._unreached.clear()
        self._has_offered = False

    async def welcome(self, runtime: Runtime) -> None:
        """Let a process that has just connected run as the others do."""
        if self._wanted is not None:
            await self._tell(runtime, self._wanted)

    async def run(self, wanted: RunEagerly) -> Eager:
        """Let all processes run so.

        Raises:
            DapError: none of them could.
        """
        self._wanted = wanted
        runtimes = list(self._run.link.runtimes)
        if not runtimes and self._run.unavailable:
            raise errors.no_runtime(self._run.unavailable)
        answers = await asyncio.gather(*(self._tell(runtime, wanted) for runtime in runtimes))
        known = [answer for answer in answers if answer is not None]
        if not known:
            return Eager(eager=wanted.eager, note=_LATER)
        notes = dict.fromkeys(answer.note for answer in known if answer.note)
        return Eager(
            eager=any(answer.eager for answer in known),
            regions=max(answer.regions for answer in known),
            note=" ".join(notes) or None,
        )

    def heard(self, session: Session, lines: CompiledLines) -> None:
        """Show the breakpoints that are not hit as unverified, and those that are again."""
        before = self._unreached.get(session, {})
        now = {line.id: line.message for line in lines.breakpoints}
        self._unreached[session] = now
        for number, message in now.items():
            if before.get(number) != message:
                _changed(session, {"id": number, "verified": False, "message": message})
                self._run.notices.say_once(message)
        if lines.eager:
            for number in before.keys() - now.keys():
                _changed(session, {"id": number, "verified": True})
        offered = [line for line in lines.breakpoints if line.kind == _OFFERED]
        if offered and not self._has_offered:
            self._has_offered = True
            offer = EagerOffer(message=offered[0].message)
            self._run.editor_event("zentracer/eager_offer", to_json(offer))

    def corrected(self, session: Session, response: Json) -> Json:
        """Return the answer to ``setBreakpoints`` with those unverified that are not hit.

        What a process tells of them may come before debugpy's answer, when the editor does not
        know them yet, or after it.
        """
        unreached = self._unreached.get(session)
        items = cast("list[Json]", body_of(response).get("breakpoints") or [])
        if not unreached or not items:
            return response
        corrected = [
            {**item, "verified": False, "message": unreached[item["id"]]}
            if item.get("id") in unreached
            else item
            for item in items
        ]
        return {**response, "body": {**body_of(response), "breakpoints": corrected}}

    async def _tell(self, runtime: Runtime, wanted: RunEagerly) -> Eager | None:
        try:
            return await runtime.request("run_eagerly", wanted, ANSWER_SECONDS)
        except RuntimeFailed as failure:
            message = f"Process {runtime.pid} did not change how it runs: {failure}"
            return Eager(eager=not wanted.eager, note=message)


def register(overrides: Overrides) -> None:
    """Register the request, and what a process tells."""
    overrides.requests.add(
        "zentracer/run_eagerly", "Compiled code is the runtime's business.", _on_run_eagerly
    )
    overrides.events.add(
        "zentracer/compiled_lines",
        "The editor reads it on its breakpoints, and as an offer.",
        _on_compiled_lines,
    )


def _on_run_eagerly(session: Session, request: Json) -> Any:
    try:
        wanted = decode(RunEagerly, arguments_of(request), "zentracer/run_eagerly")
    except WireError as error:
        raise errors.bad_arguments(request["command"], str(error)) from None
    return _run(session, wanted)


async def _run(session: Session, wanted: RunEagerly) -> Json:
    return cast(Json, to_json(await session.run.eager.run(wanted)))


def _on_compiled_lines(session: Session, event: Json) -> None:
    session.run.eager.heard(session, decode(CompiledLines, body_of(event), "compiled_lines"))


def _changed(session: Session, breakpoint: Json) -> None:
    body = {"reason": "changed", "breakpoint": session.replay.with_known_id(breakpoint)}
    session.editor.channel.event("breakpoint", body)
