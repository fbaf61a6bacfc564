"""While one rank of a distributed run is stopped, the others are held.

They would run into a collective otherwise and wait there until it times out, or be far ahead once
the user has looked around. A rank that stops for a reason of its own (a breakpoint, a tensor
exception, the user's pause) makes the adapter pause the others; one inside of a native collective
is held as soon as it returns to Python. ``continue`` lets those go on that were held for this
rank, and none that stands at a breakpoint of its own. ``continue`` on a held rank lets it go on
alone. A step leaves the others held, unless it does not end: it may wait in a collective for
them. Then they run until it has ended, and are held again.

DataLoader workers are no ranks, and run on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.run import Run
    from zentracer_dap.session import Session

STEP_SECONDS = 1.0
"""How long a step may take before the other ranks are released, since it may wait for them."""

HELD = "zentracerHeld"
"""Tells the runtime that no user waits for this pause: it interrupts no condition."""

STEPS = ("next", "stepIn", "stepOut")


@dataclass
class _Stand:
    """How one rank stands."""

    rank: int
    thread: int | None = None
    """The thread that stands; None while the rank runs."""
    holder: Session | None = None
    """The session of the rank for which this one is held, or is about to be."""
    asked: bool = False
    """Whether a pause of ours may still be answered by a ``stopped``."""
    where: asyncio.Task[str] | None = None
    """Tells where the rank last stopped for a reason of its own; it may be stepping since."""
    moves: int = 0
    """How often the rank was let go on, to tell one step from the next."""


class Holding:
    """The ranks of one debugged program."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._stands: dict[Session, _Stand] = {}

    # What the ranks do

    def stopped(self, session: Session, event: Json) -> Json | None:
        """Hold the other ranks; returns what the editor is told of this stop, if anything."""
        stand = self._stand(session)
        if stand is None:
            return event
        body = body_of(event)
        is_ours = stand.asked and body.get("reason") == "pause"
        if is_ours and stand.thread is not None:
            stand.asked = False  # it stood already when our pause came
            return None
        if is_ours and stand.holder is None:  # it has been released in the meantime
            stand.asked = False
            _go_on(session)
            return None
        stand.thread = cast(int, body.get("threadId", 0))
        if is_ours:
            stand.asked = False
            session.spawn(self._tell_held(session, stand, event))
            return None
        stand.holder = None
        stand.where = asyncio.ensure_future(_place(session, stand.thread))
        self._hold_others(session)
        return event

    def gone(self, session: Session) -> None:
        """Let those go on that were held for a rank that is over, or is not debugged any more."""
        stand = self._stands.pop(session, None)
        if stand is not None:
            self._release_others(session)

    def restarted(self) -> None:
        """Forget the ranks: the program starts anew."""
        self._stands.clear()

    # What the user does

    def paused(self, session: Session) -> None:
        """The user pauses a rank: the stop to come is not ours."""
        stand = self._stand(session)
        if stand is not None:
            stand.asked = False

    def runs_already(self, session: Session, command: str) -> bool:
        """Whether a rank was released while the user's ``continue`` was under way.

        Passed on, it would let the rank go on from a breakpoint that it has met since.
        """
        stand = self._stands.get(session)
        return stand is not None and command == "continue" and stand.thread is None

    def resumed(self, session: Session, command: str) -> None:
        """The user lets a rank go on, or step; called after the request was sent."""
        stand = self._stand(session)
        if stand is None or command not in ("continue", *STEPS):
            return
        was_held = stand.holder is not None
        stand.asked = False
        _let_go(stand)
        if was_held:
            return
        if command == "continue":
            self._release_others(session)
        else:
            session.spawn(self._release_if_the_step_waits(session, stand, stand.moves))

    # Holding and releasing

    def _hold_others(self, leader: Session) -> None:
        for session in self._run.sessions():
            stand = self._stand(session)
            if stand is None or session is leader or stand.thread is not None or stand.holder:
                continue
            stand.holder = leader
            if not stand.asked:
                stand.asked = True
                session.debugpy.request("pause", {"threadId": 1, HELD: True})

    def _release_others(self, leader: Session) -> None:
        for session, stand in self._stands.items():
            if stand.holder is not leader:
                continue
            stand.holder = None
            # One that does not stand yet may be about to report a breakpoint of its own, which
            # must not be passed over: it goes on once it stands because of our pause.
            if stand.thread is not None:
                _let_go(stand)
                _go_on(session)

    async def _release_if_the_step_waits(self, session: Session, stand: _Stand, moves: int) -> None:
        await asyncio.sleep(STEP_SECONDS)
        if stand.moves == moves and stand.thread is None:
            self._release_others(session)

    async def _tell_held(self, session: Session, stand: _Stand, event: Json) -> None:
        """Show the editor why a rank stands, once it is known where the other one does."""
        moves, leader = stand.moves, stand.holder
        assert leader is not None
        holder = self._stands.get(leader)
        where = ""
        if holder is not None and holder.where is not None:
            with contextlib.suppress(Exception):  # a stop is shown without it, too
                where = await holder.where
        if stand.moves != moves:
            return  # released in the meantime; the editor never knew that it stood
        rank = "another rank" if holder is None else f"rank {holder.rank}"
        about = {"description": f"Held: {rank} stopped{where}", "preserveFocusHint": True}
        session.editor.channel.send({**event, "body": {**body_of(event), **about}})

    def _stand(self, session: Session) -> _Stand | None:
        """Return how a rank stands; None for a process that is no rank, or is not to be held."""
        stand = self._stands.get(session)
        if stand is not None:
            return stand
        run = self._run
        pid = run.main_pid if session.is_root else session.pid
        runtime = next((r for r in run.link.runtimes if r.pid == pid), None)
        rank = run.arming.rank(runtime) if runtime is not None else None
        if rank is None or not run.options.hold_ranks or not _is_followed(session):
            return None
        stand = self._stands[session] = _Stand(rank)
        return stand


def register(overrides: Overrides) -> None:
    """Register what a user's pause differs in; stops and resumptions are in ``hits.py``."""
    overrides.requests.add("pause", "A pause of the user's is not one of ours.", _on_pause)


def _on_pause(session: Session, request: Json) -> None:
    session.run.holding.paused(session)
    session.forward(request)


def _is_followed(session: Session) -> bool:
    """Whether somebody can see the session's stops: no editor knows those of headless ones."""
    if session.is_ending or not session.is_ready:
        return False
    return session.is_root or not session.run.children.is_headless(session.pid)


def _go_on(session: Session) -> None:
    session.debugpy.request("continue", {"threadId": 1})


def _let_go(stand: _Stand) -> None:
    stand.thread = stand.holder = None
    stand.moves += 1


async def _place(session: Session, thread: int) -> str:
    """Return `` at FILE:LINE``, where that can be told."""
    arguments: Json = {"threadId": thread, "startFrame": 0, "levels": 1}
    response = await session.debugpy.request("stackTrace", arguments)
    frames = cast("list[Json]", body_of(response).get("stackFrames") or [])
    if not frames or "line" not in frames[0]:
        return ""
    source = cast(Json, frames[0].get("source") or {})
    path = str(source.get("path") or frames[0].get("name"))
    return f" at {os.path.basename(path)}:{frames[0]['line']}"
