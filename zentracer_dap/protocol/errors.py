"""Every error the adapter reports: one constructor per message, each knows whose fault it is."""

from __future__ import annotations

import enum
import sys

from zentracer_dap.protocol.messages import Json

DEBUGPY_MINIMUM = (1, 8, 22)


class Fault(enum.Enum):
    """Whose fault an error is, which decides whether the editor pops it up."""

    USER = "user"
    """Shown; the text says what to do."""
    OURS = "ours"
    """Shown; the text asks for a report."""
    NOBODY = "nobody"
    """Answered quietly."""


class DapError(Exception):
    """A request failed; becomes an error response."""

    def __init__(self, text: str, fault: Fault, number: int) -> None:
        super().__init__(text)
        self.text = text
        self.fault = fault
        self.number = number

    def body(self) -> Json:
        """Return the body of the error response."""
        # Braces are placeholders in DAP's format strings, hence the variable.
        error: Json = {
            "id": self.number,
            "format": "{text}",
            "variables": {"text": self.text},
            "showUser": self.fault is not Fault.NOBODY,
        }
        return {"error": error}


def unknown_request(command: str) -> DapError:
    """Debugpy never answers what it does not know and then hangs, so we answer."""
    return DapError(f"The request '{command}' is not supported.", Fault.NOBODY, 101)


def unserved_request(command: str) -> DapError:
    """A ``zentracer/`` request that no feature of this version serves."""
    return DapError(f"This version of ZenTracer does not serve '{command}'.", Fault.NOBODY, 102)


def cancelled(command: str) -> DapError:
    """A request that the editor took back; the text is the one DAP prescribes."""
    del command
    return DapError("cancelled", Fault.NOBODY, 103)


def bad_argument(name: str, wanted: str) -> DapError:
    """An argument of the wrong type."""
    return DapError(f"'{name}' must be {wanted}.", Fault.USER, 104)


def bad_arguments(command: str, problem: str) -> DapError:
    """Arguments of a ``zentracer/`` request that are not as the wire declares them."""
    return DapError(
        f"'{command}' got arguments that it does not understand: {problem}", Fault.NOBODY, 107
    )


def internal(command: str, problem: BaseException) -> DapError:
    """A bug of ours."""
    text = f"ZenTracer failed on '{command}': {type(problem).__name__}: {problem}"
    return DapError(f"{text}. Please report this.", Fault.OURS, 105)


def already_started() -> DapError:
    """A second ``launch`` or ``attach`` in one session."""
    return DapError("This session is started already.", Fault.NOBODY, 106)


def program_missing(program: str) -> DapError:
    """The launch configuration names a file that is not there."""
    return DapError(
        f"The program '{program}' does not exist. Check 'program' and 'cwd' in the launch "
        "configuration.",
        Fault.USER,
        201,
    )


def interpreter_missing(python: str) -> DapError:
    """The launch configuration names an interpreter that cannot be run."""
    return DapError(
        f"The Python interpreter '{python}' does not exist or cannot be run. Check 'python' in "
        "the launch configuration.",
        Fault.USER,
        202,
    )


def directory_missing(cwd: str) -> DapError:
    """The launch configuration names a working directory that is not there."""
    return DapError(
        f"The directory '{cwd}' does not exist. Check 'cwd' in the launch configuration.",
        Fault.USER,
        203,
    )


def debugpy_missing() -> DapError:
    """The adapter's interpreter has no debugpy."""
    return DapError(
        f"debugpy is not installed for {sys.executable}. Run: {sys.executable} -m pip install "
        f"'debugpy>={_minimum()}'",
        Fault.USER,
        204,
    )


def debugpy_too_old(version: str) -> DapError:
    """The adapter's interpreter has a debugpy that cannot stop on the executing line."""
    return DapError(
        f"debugpy {version} is too old, ZenTracer needs {_minimum()} or newer. Run: "
        f"{sys.executable} -m pip install -U 'debugpy>={_minimum()}'",
        Fault.USER,
        205,
    )


def debugpy_ended(last_words: str) -> DapError:
    """The debugpy adapter ended by itself."""
    words = f" It said: {last_words}" if last_words else ""
    return DapError(f"The debugpy adapter ended unexpectedly.{words}", Fault.OURS, 206)


def connection_refused(host: str, port: int, reason: str) -> DapError:
    """Nothing answers where the program to attach to should listen."""
    return DapError(
        f"Nothing answers at {host}:{port} ({reason}). The program must call "
        f"debugpy.listen(({host!r}, {port})), or be started with 'python -m debugpy --listen "
        f"{host}:{port}', before you attach.",
        Fault.USER,
        207,
    )


def injection_failed(pid: object) -> DapError:
    """debugpy could not get into a process by its id."""
    return DapError(
        f"Attaching to process {pid} failed; the debug console says how far it got. The process "
        "must run, belong to you, and gdb or lldb must be installed and allowed to trace it "
        "(/proc/sys/kernel/yama/ptrace_scope). Otherwise call debugpy.listen() in the program and "
        "attach with 'connect'.",
        Fault.USER,
        211,
    )


def no_runtime(reason: str | None) -> DapError:
    """A question that only a training process can answer, and there is none."""
    return DapError(
        reason
        or "No training process is connected to ZenTracer. Start the program, or wait until it "
        "has started.",
        Fault.NOBODY,
        212,
    )


def runtime_failed(pid: int, reason: str) -> DapError:
    """A training process answered with an error, or not at all."""
    return DapError(f"Process {pid} could not answer: {reason.rstrip('.')}.", Fault.NOBODY, 213)


def not_restartable(why: str) -> DapError:
    """A ``restart`` that cannot work."""
    return DapError(f"This session cannot be restarted: {why}", Fault.USER, 208)


def restart_failed(reason: str) -> DapError:
    """The program could not be started again."""
    return DapError(f"The program could not be started again: {reason}", Fault.USER, 210)


def timed_out(command: str, seconds: float) -> DapError:
    """An answer that did not come in time."""
    return DapError(f"'{command}' got no answer within {seconds:g} s.", Fault.NOBODY, 209)


def nothing_to_show(text: str) -> DapError:
    """A tensor that cannot be shown; the panel says it in place, so nothing pops up."""
    return DapError(text, Fault.NOBODY, 214)


def not_changed(text: str) -> DapError:
    """A change to the program that was not made; who asked for it says so."""
    return DapError(text, Fault.NOBODY, 215)


def unreadable(problem: str) -> DapError:
    """The editor sent something that is no DAP."""
    return DapError(
        f"What the editor sent is not the Debug Adapter Protocol: {problem}", Fault.USER, 301
    )


def _minimum() -> str:
    return ".".join(map(str, DEBUGPY_MINIMUM))
