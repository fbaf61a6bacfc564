"""Another debugpy behind a session: that of a program that listens, or a fresh one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zentracer_dap.peers.debugpy import address_of, dial
from zentracer_dap.protocol.channel import Channel

if TYPE_CHECKING:
    from zentracer_dap.session import Session


async def reach(session: Session, address: tuple[str, int]) -> None:
    """Put the debugpy adapter of a program that listens behind ``session``."""
    run = session.run
    debugpy = Channel("debugpy", run.trace)
    await dial(*address, debugpy)
    session.listen_to(debugpy)
    await debugpy.request("initialize", session.editor.initialize_arguments)
    await run.own_debugpy.end()


async def renew(session: Session) -> None:
    """Replace the debugpy behind ``session`` by a fresh one, for a restart."""
    assert session.start is not None
    run = session.run
    session.debugpy.close()
    debugpy = Channel("debugpy", run.trace)
    address = address_of(session.start.arguments)
    if session.start.command == "attach" and address:
        await dial(*address, debugpy)
    else:
        await run.own_debugpy.end()
        await run.own_debugpy.spawn(debugpy)
    session.listen_to(debugpy)
