"""The runtime: what the adapter wants watched, and the frameworks that watch it.

RUNS IN the training process.

Architecture invariant: a failure of ours becomes one notice and the feature steps aside; it never
reaches the program.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import types
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

from zentracer import __version__, import_hook, scopes
from zentracer.armed import Armed
from zentracer.control import stop as _stop
from zentracer.control.pydevd import channel, evaluations
from zentracer.frameworks.base import Framework
from zentracer.link import Handlers, Link
from zentracer.process_name import forked_name, process_name
from zentracer.progress import Progress
from zentracer.wire import PROTOCOL_VERSION
from zentracer.wire.codec import WireError, decode
from zentracer.wire.messages import (
    Advice,
    BreakpointHit,
    BreakpointStatus,
    BreakpointStatuses,
    CancelEvaluation,
    Eager,
    Empty,
    FrameworkLoaded,
    Hello,
    Modules,
    ModulesQuery,
    Notice,
    RunEagerly,
    SetDataBreakpoints,
    SetExceptionFilters,
    SetFunctionBreakpoints,
    Step,
)

FRAMEWORKS = {"torch": "zentracer.frameworks.pytorch"}
"""Module the user imports -> our module with ``create(runtime) -> Framework``."""


class Runtime:
    """One per process; it is the ``Host`` that frameworks talk to."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        """The launch configuration's ``zentracer`` object."""
        self.rank = _rank()
        """Global rank of a distributed run, None outside one."""
        self._name = process_name()
        self._token = ""
        self._link: Optional[Link] = None
        self._lock = threading.RLock()
        self._frameworks: List[Framework] = []
        self._armed = armed = Armed(self, precise=bool(options.get("precise", False)))
        self._setters: Dict[str, Tuple[Any, Callable[[Any], BreakpointStatuses]]] = {
            "set_data_breakpoints": (SetDataBreakpoints, armed.set_data),
            "set_exception_filters": (SetExceptionFilters, armed.set_filters),
            "set_function_breakpoints": (SetFunctionBreakpoints, armed.set_functions),
        }
        self._loaded: List[FrameworkLoaded] = []
        self._told: Set[Tuple[str, Optional[int]]] = set()
        self._eager = False
        """Whether compiled code is to run eagerly."""

    # What frameworks use

    def stop(
        self,
        hit: BreakpointHit,
        frame: types.FrameType,
        lasti: Optional[int] = None,
        tensors: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Report ``hit`` and hold the calling thread on the current line of ``frame``."""
        try:
            with scopes.showing(frame, tensors):
                _stop.stop(hit, frame, lasti)
        except Exception as error:
            self.notice(_our_fault("stopping at a finding", error))

    def settled(self, status: BreakpointStatus) -> None:
        """Tell the user what has become of a breakpoint."""
        if self._link is not None:
            self._link.send_event("breakpoint", status)

    def advise(self, advice: Advice) -> None:
        """List something that was found; the program goes on."""
        if channel.send_event("advice", advice):  # ordered before the end of the program
            return
        if self._link is not None:
            self._link.send_event("advice", advice)

    def notice(self, message: str, breakpoint_id: Optional[int] = None) -> None:
        """Tell the user once that something of ours stepped aside."""
        if (message, breakpoint_id) in self._told:
            return
        self._told.add((message, breakpoint_id))
        body = Notice(message=message, breakpoint_id=breakpoint_id)
        if channel.send_event("notice", body):
            return
        if (self._link is None or not self._link.send_event("notice", body)) and sys.stderr:
            sys.stderr.write(f"ZenTracer: {message}\n")

    def stepped(self, step: Step) -> None:
        """Tell the user that a step is complete."""
        if self._link is not None:
            self._link.send_latest("step", step)

    # What the program says

    def marked_step(self, number: Optional[int]) -> None:
        """A training step is complete: ``number``, or one more than the last."""
        for framework in list(self._frameworks):
            framework.marked_step(number)

    def progress(self, frame: Optional[types.FrameType] = None) -> Progress:
        """Say where training is, as far as somebody has seen it."""
        return self._frameworks[0].progress(frame) if self._frameworks else Progress()

    def logged(self, name: str, value: Any) -> None:
        """The program has computed a value."""
        for framework in list(self._frameworks):
            framework.logged(name, value)

    # Life

    def watch_imports(self) -> None:
        """Load our part of a framework once the user has imported it."""
        import_hook.when_imported(
            {name: lambda name=name: self._framework_imported(name) for name in FRAMEWORKS}
        )

    def connect(self, address: Tuple[str, int], token: str) -> Link:
        """Open a link to an adapter, in place of the one before."""
        if self._link is not None:
            self._link.close()
        self._token = token
        link = Link(address, Handlers(self._hello, self._request, self._link_lost))
        with self._lock:
            self._link = link
            for loaded in self._loaded:
                link.send_event("framework", loaded)
        link.open()
        return link

    def flush(self) -> None:
        """Let the last messages leave at the end of the process."""
        if self._link is not None:
            self._link.flush()

    def forked(self, address: Optional[Tuple[str, int]]) -> None:
        """Be the runtime of a forked child: locks and threads of the parent are gone."""
        self._lock = threading.RLock()
        self.rank = _rank()
        self._name = forked_name() or self._name
        if self._link is not None:
            self._link.abandon()
            self._link = None
        if address is not None:
            self.connect(address, self._token)

    # Link

    def _hello(self) -> Hello:
        return Hello(
            protocol_version=PROTOCOL_VERSION,
            token=self._token,
            pid=os.getpid(),
            version=__version__,
            python=sys.version.split()[0],
            rank=self.rank,
            parent_pid=os.getppid(),
            name=self._name,
        )

    def _request(self, name: str, arguments: Any) -> Any:
        setter = self._setters.get(name)
        if setter is not None:
            with self._lock:
                return setter[1](decode(setter[0], arguments, name))
        if name == "modules":
            return self.modules(decode(ModulesQuery, arguments, name))
        if name == "cancel_evaluation":
            evaluations.cancel(decode(CancelEvaluation, arguments, name).request)
            return Empty()
        if name == "run_eagerly":
            return self.run_eagerly(decode(RunEagerly, arguments, name))
        raise WireError(f"This runtime ({__version__}) does not know the request {name}.")

    def _link_lost(self) -> None:
        """Nobody could resume a stop any more: watch for nothing, and let the program run."""
        with self._lock:
            self._armed.nothing()

    # Compiled code

    def run_eagerly(self, request: RunEagerly) -> Eager:
        """Run compiled code eagerly or not, in frameworks that are still to come as well."""
        self._eager = request.eager
        answers = [f.run_eagerly(eager=request.eager) for f in list(self._frameworks)]
        return answers[0] if answers else Eager(eager=request.eager)

    # Modules

    def modules(self, query: ModulesQuery) -> Modules:
        """Name the modules of the live models."""
        framework = next(iter(self._frameworks), None)
        if framework is not None:
            return framework.modules(query)
        note = _STEPPED_ASIDE if self._loaded else _NO_FRAMEWORK
        return Modules(modules=(), matching=0, total=0, note=note)

    # What Armed needs

    def frameworks(self) -> List[Framework]:
        """Those that are loaded and have not stepped aside."""
        return list(self._frameworks)

    def step_aside(self, framework: Framework, error: Exception) -> None:
        """Drop a framework that has failed."""
        if framework in self._frameworks:
            self._frameworks.remove(framework)
        self.notice(_our_fault(f"watching {framework.name}", error))

    def _framework_imported(self, name: str) -> None:
        try:
            framework = importlib.import_module(FRAMEWORKS[name]).create(self)
        except Exception as error:
            self.notice(_our_fault(f"watching {name}", error))
            return
        loaded = FrameworkLoaded(name=name, version=_version_of(sys.modules[name]))
        with self._lock:
            self._frameworks.append(framework)
            self._loaded.append(loaded)
            if self._link is not None:
                self._link.send_event("framework", loaded)
            self._armed.welcome(framework)
            if self._eager:
                framework.run_eagerly(eager=True)


_NO_FRAMEWORK = "PyTorch has not been imported in this process yet."
_STEPPED_ASIDE = "ZenTracer has stepped aside in this process; see the debug console."


def _rank() -> Optional[int]:
    """Rank by the environment that torchrun and its kin set."""
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def _version_of(module: Any) -> str:
    return str(vars(module).get("__version__", ""))


def _our_fault(doing: str, error: Exception) -> str:
    return (
        f"ZenTracer failed while {doing} and has stepped aside; the program goes on. "
        f"Please report: {type(error).__name__}: {error}"
    )
