"""What a launch configuration means to us: its ``zentracer`` object and the environment."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import zentracer.wire
from zentracer.wire.filters import FILTERS
from zentracer_dap.protocol import errors
from zentracer_dap.protocol.messages import Json

HOME = str(Path(zentracer.wire.__file__).parent.parent.parent)
"""Folder that contains the ``zentracer`` package."""

INJECT = str(Path(HOME) / "zentracer" / "inject")
"""Folder that brings pydevd our plugin when it is on PYTHONPATH."""

PLUGIN = str(Path(INJECT) / "pydevd_plugins" / "extensions" / "pydevd_plugin_zentracer.py")

CHILDREN = ("ranks", "all", "none")

_EAGER: Json = {"TORCHDYNAMO_DISABLE": "1", "PYTORCH_JIT": "0"}
"""PyTorch reads both when it is imported; torch.compile and TorchScript then do nothing."""


@dataclass(frozen=True)
class BreakOn:
    """A tensor exception that the launch configuration arms."""

    filter: str
    condition: str | None = None


@dataclass(frozen=True)
class Options:
    """The ``zentracer`` object of a launch or attach configuration."""

    break_on: tuple[BreakOn, ...] = ()
    """Armed besides what the editor ticks, for clients without a filter view."""
    precise: bool = False
    children: str = "ranks"
    """Which processes get tensor exceptions besides the main one."""
    hold_ranks: bool = True
    """Whether the other ranks stand while one is stopped."""
    eager: bool = False
    """Whether compiled code runs eagerly from the start."""
    text: str = "{}"
    """The whole object as JSON, for the runtime."""


def options_of(arguments: Json) -> Options:
    """Read the ``zentracer`` object.

    Raises:
        DapError: it is not as the contract says.
    """
    raw: Any = arguments.get("zentracer") or {}
    if not isinstance(raw, dict):
        raise errors.bad_argument("zentracer", "an object")
    options = cast(Json, raw)
    children: Any = options.get("children", "ranks")
    if children not in CHILDREN:
        raise errors.bad_argument("zentracer.children", f"one of {', '.join(CHILDREN)}")
    return Options(
        break_on=_break_on(options.get("breakOn") or []),
        precise=_flag(options, "precise", default=False),
        children=children,
        hold_ranks=_flag(options, "holdRanks", default=True),
        eager=_flag(options, "eager", default=False),
        text=json.dumps(options),
    )


def _flag(options: Json, name: str, *, default: bool) -> bool:
    value: Any = options.get(name, default)
    if not isinstance(value, bool):
        raise errors.bad_argument(f"zentracer.{name}", "true or false")
    return value


def _break_on(raw: Any) -> tuple[BreakOn, ...]:
    if not isinstance(raw, list):
        raise errors.bad_argument("zentracer.breakOn", "a list")
    return tuple(_break_on_item(item) for item in cast(list[Any], raw))


def _break_on_item(item: Any) -> BreakOn:
    fields = cast(Json, item if isinstance(item, dict) else {"filter": item})
    known = [offered.id for offered in FILTERS]
    condition: Any = fields.get("condition")
    if fields.get("filter") not in known:
        wanted = f"a list of {', '.join(known)}, not {fields.get('filter')!r}"
        raise errors.bad_argument("zentracer.breakOn", wanted)
    if condition is not None and not isinstance(condition, str):
        raise errors.bad_argument("zentracer.breakOn.condition", "a string")
    return BreakOn(fields["filter"], condition or None)


def check(arguments: Json) -> None:
    """Fail early where debugpy would fail late or obscurely.

    Raises:
        DapError: the program, the interpreter or the working directory does not exist.
    """
    cwd: Any = arguments.get("cwd")
    if isinstance(cwd, str) and not os.path.isdir(cwd):
        raise errors.directory_missing(cwd)
    program: Any = arguments.get("program")
    if isinstance(program, str) and not _exists(program, cwd):
        raise errors.program_missing(program)
    python: Any = arguments.get("python") or arguments.get("pythonPath")
    if isinstance(python, list) and python:
        python = cast(list[Any], python)[0]
    import shutil  # costs 8 ms to load, so not before debugpy is loading too

    if isinstance(python, str) and shutil.which(python) is None:
        raise errors.interpreter_missing(python)


def _exists(program: str, cwd: Any) -> bool:
    """Folders and zip files can be run as well, so existence is all that is asked for."""
    folders = [os.getcwd(), cwd if isinstance(cwd, str) else ""]
    return any(os.path.exists(os.path.join(folder, program)) for folder in folders)


def environment(arguments: Json, link: str, token: str) -> Json:
    """Return the ``env`` of a launch: the user's own, and what brings the runtime in.

    The user's PYTHONPATH stays, behind ours. In a terminal it is not known yet which PYTHONPATH
    there will be, so there ``in_terminal`` adds ours.
    """
    user = cast(Json, arguments.get("env") or {})
    options = options_of(arguments)
    env: Json = {
        **(_EAGER if options.eager else {}),
        "PYDEVD_UNBLOCK_THREADS_ON_VARIABLES_TIMEOUT": "-1",
        **user,
        "ZENTRACER_LINK": link,
        "ZENTRACER_TOKEN": token,
        "ZENTRACER_HOME": HOME,
        "ZENTRACER_MSGPACK": _folder_of("msgpack"),
        "ZENTRACER_OPTIONS": options.text,
    }
    if "PYTHONPATH" in user or not _is_terminal(arguments):
        env["PYTHONPATH"] = _join(user.get("PYTHONPATH", os.environ.get("PYTHONPATH")))
    return env


def in_terminal(arguments: Json, request: Json) -> Json:
    """Return the arguments of ``runInTerminal`` with a start that extends PYTHONPATH there.

    Args:
        arguments: the launch configuration.
        request: the arguments as debugpy made them: ``[python, launcher, address, --, …]``,
            behind ``sudo -E`` where the configuration asks for that.
    """
    user = cast(Json, arguments.get("env") or {})
    command = cast(list[str], request["args"])
    at = next((i for i, part in enumerate(command) if _is_launcher(part)), None)
    if "PYTHONPATH" in user or at is None:
        return request
    wrapper = str(Path(__file__).with_name("terminal.py"))
    if command[at][0] in "\"'":  # debugpy quotes for the shell when the client does not
        wrapper = f"{command[at][0]}{wrapper}{command[at][0]}"
    return {**request, "args": [*command[:at], wrapper, INJECT, *command[at:]]}


def attach_expression(link: str, token: str, options: str) -> str:
    """Return the expression that starts the runtime in a process we did not launch.

    Everything is loaded by explicit location, so it does not depend on the process's own path.
    """
    call = f"m.attach({link!r}, {token!r}, {options!r}, {HOME!r}, {_folder_of('msgpack')!r})"
    return (
        "(lambda u: (lambda s: (lambda m: (s.loader.exec_module(m), "
        f"{call})[1])(u.module_from_spec(s)))"
        f"(u.spec_from_file_location('zentracer_attach', {PLUGIN!r})))"
        "(__import__('importlib.util', fromlist=['util']))"
    )


def is_switched_off(arguments: Json) -> bool:
    """Whether the user disabled the runtime for a launch."""
    user = cast(Json, arguments.get("env") or {})
    return str(user.get("ZENTRACER", os.environ.get("ZENTRACER"))).lower() == "off"


def _is_terminal(arguments: Json) -> bool:
    # debugpy's own default, when "console" is missing, is a terminal as well.
    return arguments.get("console") != "internalConsole"


def _is_launcher(part: str) -> bool:
    return part.strip("\"'").replace("\\", "/").rstrip("/").endswith("debugpy/launcher")


def _join(user_path: Any) -> str:
    return os.pathsep.join([INJECT, user_path] if user_path else [INJECT])


def _folder_of(package: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"{package} is not installed for {sys.executable}")
    return str(Path(spec.origin).parent.parent)
