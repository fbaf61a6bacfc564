"""``zentracer/processes``: the debugged processes, and what each is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from zentracer.wire.codec import to_json
from zentracer.wire.editor import Process
from zentracer.wire.editor import Processes as ProcessesBody
from zentracer.wire.messages import FrameworkLoaded
from zentracer_dap.coalesce import Coalesced
from zentracer_dap.peers.runtime import Runtime

if TYPE_CHECKING:
    from zentracer_dap.run import Run


class Processes:
    """The processes of one debugged program that have a runtime."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._frameworks: dict[Runtime, dict[str, str]] = {}
        self._state = Coalesced(self._send)

    def changed(self) -> None:
        """Send the list: a process has come."""
        self._state.changed()

    def gone(self, runtime: Runtime) -> None:
        """Send the list without a process that has gone."""
        self._frameworks.pop(runtime, None)
        self._state.changed()

    def loaded(self, runtime: Runtime, framework: FrameworkLoaded) -> None:
        """Note that a process has loaded a framework."""
        self._frameworks.setdefault(runtime, {})[framework.name] = framework.version
        self._state.changed()

    def has_framework(self, pid: int | None) -> bool:
        """Tell whether a process has loaded a framework."""
        return any(runtime.pid == pid for runtime in self._frameworks)

    def flush(self) -> None:
        """Send the list if it waits to be sent."""
        self._state.flush()

    def name_of(self, pid: int) -> str:
        """Return how a child process is called."""
        for runtime in self._run.link.runtimes:
            rank = self._run.arming.rank(runtime)
            if runtime.pid == pid and rank is not None:
                return f"rank {rank}"
        return f"child {pid}"

    def _send(self) -> None:
        # The main process first, then the ranks in their order, then as they came.
        processes = sorted(
            (self._process(runtime) for runtime in self._run.link.runtimes),
            key=lambda p: (p.pid != self._run.main_pid, p.rank is None, p.rank or 0),
        )
        body = ProcessesBody(processes=tuple(processes))
        self._run.editor_event("zentracer/processes", to_json(body))

    def _process(self, runtime: Runtime) -> Process:
        hello = runtime.hello
        assert hello is not None
        is_main = self._run.arming.is_main(runtime)
        loaded = self._frameworks.get(runtime, {})
        return Process(
            pid=hello.pid,
            python=hello.python,
            version=hello.version,
            rank=self._run.arming.rank(runtime),
            parent_pid=hello.parent_pid,
            name=(hello.name or self._configured()) if is_main else self.name_of(hello.pid),
            frameworks=tuple(f"{name} {version}".strip() for name, version in loaded.items()),
        )

    def _configured(self) -> str:
        """What the launch configuration says of the main process, if the runtime says nothing."""
        arguments = self._run.start_configuration
        program: Any = arguments.get("program")
        if isinstance(program, str):
            return os.path.basename(program)
        return str(arguments.get("module") or "main")
