"""``zentracer/apply_patch`` and its kin: changes to the program while it stands still.

Like ``zentracer/tensor`` a question goes to debugpy as an ``evaluate``, so that it is answered on
the stopped thread, in its frame. After each change the process sends its full list, from which
``zentracer/patches`` is answered, and which every editor gets as an event.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import WireError, decode, json_text, to_json
from zentracer.wire.editor import ApplyPatch, PatchNumber
from zentracer.wire.patches import Patch, PatchAnswer, PatchCall, Patches, PatchState
from zentracer_dap.features.cancel import NUMBER
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

ANSWER_SECONDS = 20.0
"""How long a change may take."""

_NOT_STOPPED = (
    "The program can be changed while it stands still: pause it, or wait for a breakpoint."
)
_SLOW = "The program has not answered within {:g} s; look at its changes once it stands still."
_CALL = "__import__('zentracer.patches', fromlist=['answer']).answer('{}')"


class PatchList:
    """The changes of one debugged program, by process."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._numbers = itertools.count(1)
        self._waiting: set[int] = set()
        self._answers: dict[int, PatchAnswer] = {}
        self._lists: dict[int, Patches] = {}

    def apply(self, session: Session, request: Json) -> Any:
        """Make a change in the process of a session."""
        arguments = dict(arguments_of(request))
        value = arguments.get("value")
        if value is not None and not isinstance(value, str):
            arguments["value"] = _literal(value)
        wanted = _decoded(ApplyPatch, arguments, request)
        patch = Patch(
            target=wanted.target,
            op=wanted.op,
            value=wanted.value,
            slice=wanted.slice,
            label=wanted.label,
            reset_state=wanted.reset_state,
        )
        return self._ask(session, request, wanted.frame_id, command="apply", patch=patch)

    def undo(self, session: Session, request: Json) -> Any:
        """Take a change back."""
        wanted = _decoded(PatchNumber, arguments_of(request), request)
        return self._ask(session, request, None, command="undo", patch_id=wanted.patch_id)

    def redo(self, session: Session, request: Json) -> Any:
        """Make a change again that was taken back."""
        wanted = _decoded(PatchNumber, arguments_of(request), request)
        return self._ask(session, request, None, command="redo", patch_id=wanted.patch_id)

    def listed(self, session: Session, _request: Json) -> Any:
        """Return the changes of the process of a session."""
        pid = self._run.main_pid if session.is_root else session.pid
        return to_json(self._lists.get(pid or 0, Patches(pid=pid)))

    def answered(self, answer: PatchAnswer) -> None:
        """Keep the answer for ``evaluate``'s response, which follows."""
        if answer.id in self._waiting:
            self._answers[answer.id] = answer

    def changed(self, patches: Patches) -> None:
        """Keep the list of one process."""
        if patches.pid is not None:
            self._lists[patches.pid] = patches

    def restarted(self) -> None:
        """Forget what was changed: the program begins anew."""
        self._lists.clear()

    def _ask(self, session: Session, request: Json, frame: int | None, **call: Any) -> Any:
        if not session.is_ready or session.editor.has_terminated:
            raise errors.not_changed(_NOT_STOPPED)
        run = self._run
        if not run.link.runtimes:
            raise errors.not_changed(run.unavailable or _NOT_STOPPED)
        return self._asked(session, request, frame, call)

    async def _asked(self, session: Session, request: Json, frame: int | None, call: Json) -> Json:
        if frame is None:
            frame = await _any_frame(session)
        number = next(self._numbers)
        self._waiting.add(number)
        question = PatchCall(id=number, frame_id=frame, **call)
        text = base64.b64encode(json_text(question).encode()).decode("ascii")
        arguments: Json = {
            "expression": _CALL.format(text),
            "frameId": frame,
            "context": "watch",  # in others debugpy redirects output or tries to execute
            NUMBER: request["seq"],
        }
        response = session.debugpy.request("evaluate", arguments)
        try:
            done, _ = await asyncio.wait([response], timeout=ANSWER_SECONDS)
            answer = self._answers.get(number)
        finally:
            self._waiting.discard(number)
            self._answers.pop(number, None)
        if answer is None:
            said = str(response.result().get("message") or _NOT_STOPPED) if done else ""
            raise errors.not_changed(said or _SLOW.format(ANSWER_SECONDS))
        if answer.patch is None:
            raise errors.not_changed(str(answer.error))
        return _body(answer.patch)


def register(overrides: Overrides) -> None:
    """Register the requests, and what a process tells."""
    add, reason = overrides.requests.add, "debugpy changes variables, and remembers nothing."
    add("zentracer/apply_patch", reason, lambda s, request: s.run.patches.apply(s, request))
    add("zentracer/undo_patch", reason, lambda s, request: s.run.patches.undo(s, request))
    add("zentracer/redo_patch", reason, lambda s, request: s.run.patches.redo(s, request))
    add("zentracer/patches", reason, lambda s, request: s.run.patches.listed(s, request))
    overrides.events.add(
        "zentracer/patch_answer",
        "It answers our own question; editors get it as the response.",
        _on_answer,
    )
    overrides.events.add(
        "zentracer/patches", "The list is kept for those who ask later.", _on_patches
    )


def _on_answer(session: Session, event: Json) -> None:
    answer = decode(PatchAnswer, body_of(event), "patch_answer")
    session.run.patches.answered(answer)


def _on_patches(session: Session, event: Json) -> Json:
    session.run.patches.changed(decode(Patches, body_of(event), "patches"))
    if session.editor.supports("supportsInvalidatedEvent"):  # what it shows is from before
        session.editor.channel.event("invalidated", {"areas": ["variables"]})
    return event


def _decoded(kind: Any, arguments: Json, request: Json) -> Any:
    try:
        return decode(kind, arguments, request["command"])
    except WireError as error:
        raise errors.bad_arguments(request["command"], str(error)) from None


def _literal(value: Any) -> str:
    """Return a number or a list of JSON's as Python writes it."""
    return json.dumps(value).replace("true", "True").replace("false", "False")


def _body(state: PatchState) -> Json:
    return cast(Json, to_json(state))


async def _any_frame(session: Session) -> int:
    """Return the innermost frame of a thread that stands.

    Raises:
        DapError: none does.
    """
    threads = await session.debugpy.request("threads", {})
    for thread in cast("list[Json]", body_of(threads).get("threads") or []):
        arguments: Json = {"threadId": thread["id"], "startFrame": 0, "levels": 1}
        stack = await session.debugpy.request("stackTrace", arguments)
        frames = cast("list[Json]", body_of(stack).get("stackFrames") or [])
        if stack["success"] and frames:
            return int(frames[0]["id"])
    raise errors.not_changed(_NOT_STOPPED)
