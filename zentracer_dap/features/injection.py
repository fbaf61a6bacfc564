"""The runtime is loaded into a process that was attached to and does not have it.

Its environment is not ours, so an expression that is evaluated in the process does it, unseen by
the editor.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zentracer_dap import launch
from zentracer_dap.protocol.messages import Json, body_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

INJECT_SECONDS = 20.0
"""How long a process may take to load the runtime; it may be importing something itself."""


async def inject(session: Session) -> None:
    """Load the runtime into the process of ``session`` if it has none."""
    assert session.start is not None
    run = session.run
    connected = {runtime.pid for runtime in run.link.runtimes}
    if session.start.command != "attach" or session.pid in connected:
        return
    expression = launch.attach_expression(run.link.address, run.link.token, run.options.text)
    answer = session.debugpy.request("evaluate", {"expression": expression})
    done, _ = await asyncio.wait([answer], timeout=INJECT_SECONDS)
    reason = _problem_of(answer.result()) if done else "the process does not react"
    if reason:
        run.is_unavailable(f"ZenTracer is not available in this process: {reason}")


def _problem_of(response: Json) -> str | None:
    if not response["success"]:
        return str(response.get("message"))
    result = str(body_of(response).get("result") or "")
    return result if result not in ("", "None") else None
