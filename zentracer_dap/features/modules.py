"""``zentracer/modules``: the modules of the live models, asked of the process that has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from zentracer.wire.codec import WireError, decode, to_json
from zentracer.wire.messages import Modules, ModulesQuery
from zentracer_dap.peers.runtime import Runtime, RuntimeFailed
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.handlers import Overrides
from zentracer_dap.protocol.messages import Json, arguments_of

if TYPE_CHECKING:
    from zentracer_dap.session import Session

ANSWER_SECONDS = 5.0
"""How long a process may take to list its modules."""


def register(overrides: Overrides) -> None:
    """Register the request."""
    overrides.requests.add(
        "zentracer/modules", "The runtime knows the models, debugpy does not.", _on_modules
    )


def _on_modules(session: Session, request: Json) -> Any:
    try:
        query = decode(ModulesQuery, arguments_of(request), "zentracer/modules")
    except WireError as error:
        raise errors.bad_arguments(request["command"], str(error)) from None
    return _answer(session, query)


async def _answer(session: Session, query: ModulesQuery) -> Json:
    run = session.run
    pid = run.main_pid if session.is_root else session.pid
    own = next((r for r in run.link.runtimes if r.pid == pid), None)
    ranks = _ranks(session) if session.is_root else []
    first = None
    for runtime in dict.fromkeys([own, *ranks]):
        if runtime is None:
            continue
        modules = await _ask(runtime, query)
        first = first or modules
        if modules.total:
            return _body(modules if runtime is own else _of_rank(session, runtime, modules))
    if first is None:
        raise errors.no_runtime(run.unavailable)
    return _body(first)


def _ranks(session: Session) -> list[Runtime]:
    """The launcher of a distributed run has no model, its ranks have the same one each."""
    arming = session.run.arming
    ranks = [(arming.rank(runtime), runtime) for runtime in session.run.link.runtimes]
    known = [(rank, runtime) for rank, runtime in ranks if rank is not None]
    return [runtime for _, runtime in sorted(known, key=lambda item: item[0])]


def _of_rank(session: Session, runtime: Runtime, modules: Modules) -> Modules:
    rank = session.run.arming.rank(runtime)
    note = f"These are the modules of rank {rank}; the main process has none."
    return replace(modules, note=f"{note} {modules.note}" if modules.note else note)


def _body(modules: Modules) -> Json:
    return cast(Json, to_json(modules))


async def _ask(runtime: Runtime, query: ModulesQuery) -> Modules:
    try:
        return await runtime.request("modules", query, ANSWER_SECONDS)
    except RuntimeFailed as failure:
        raise errors.runtime_failed(runtime.pid, str(failure)) from None
