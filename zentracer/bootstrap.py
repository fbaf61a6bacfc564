"""Starts the runtime in a debugged process, without importing any framework.

RUNS IN the training process: on launch from pydevd's plugin, on attach on pydevd's command
thread, where autograd state and CUDA streams are out of bounds.
"""

from __future__ import annotations

import atexit
import json
import os
from typing import Any, Dict, Mapping, Optional, Tuple

from zentracer import surroundings, tracebacks
from zentracer.control import pydevd
from zentracer.runtime import Runtime

START_SECONDS = 2.0
"""How long the start may wait for the adapter; then the link goes on in the background."""

_runtime: Optional[Runtime] = None


def start() -> None:
    """Start from the environment of a launch; the program's first line comes after this."""
    tracebacks.install()
    address = _address(os.environ.get("ZENTRACER_LINK", ""))
    runtime = _ensure_runtime(_options(os.environ.get("ZENTRACER_OPTIONS", "")))
    if address is not None:
        link = runtime.connect(address, os.environ.get("ZENTRACER_TOKEN", ""))
        surroundings.tell_of_another_zentracer(runtime.notice)
        link.ready.wait(START_SECONDS)


def attach(
    host_port: str, token: str, options_json: str, home: str, msgpack_dir: Optional[str]
) -> None:
    """Start in a running process, or talk to another adapter from now on.

    Args:
        host_port: where the adapter listens, ``127.0.0.1:PORT``.
        token: the session's secret.
        options_json: the configuration's ``zentracer`` object.
        home: folder that contains the ``zentracer`` package.
        msgpack_dir: folder that contains ``msgpack``, if the process may lack it.

    Raises:
        ValueError: ``host_port`` is no address.
    """
    address = _address(host_port)
    if address is None:
        raise ValueError(f"{host_port!r} is not HOST:PORT")
    _let_children_inherit(
        {
            "ZENTRACER_LINK": host_port,
            "ZENTRACER_TOKEN": token,
            "ZENTRACER_OPTIONS": options_json,
            "ZENTRACER_HOME": home,
            "ZENTRACER_MSGPACK": msgpack_dir or "",
        }
    )
    runtime = _ensure_runtime(_options(options_json))
    link = runtime.connect(address, token)
    surroundings.tell_of_another_zentracer(runtime.notice)
    link.ready.wait(START_SECONDS)


def rank() -> Optional[int]:
    """Return the global rank of a distributed run, None outside one."""
    return _runtime.rank if _runtime is not None else None


def _ensure_runtime(options: Mapping[str, Any]) -> Runtime:
    global _runtime
    if _runtime is not None:
        _runtime.options = options
        return _runtime
    _runtime = runtime = Runtime(options)
    for problem in pydevd.install(runtime.notice):
        runtime.notice(problem)
    _install_presentation(runtime)
    runtime.watch_imports()
    atexit.register(runtime.flush)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    return runtime


def _install_presentation(runtime: Runtime) -> None:
    try:
        from zentracer import present

        present.install(runtime.notice)
    except Exception as error:  # values then read as in stock debugpy
        runtime.notice(f"ZenTracer cannot present values: {type(error).__name__}: {error}")


def _forked() -> None:
    if _runtime is not None:
        _runtime.forked(_address(os.environ.get("ZENTRACER_LINK", "")))


def _let_children_inherit(values: Dict[str, str]) -> None:
    os.environ.update(values)
    inject = os.path.join(values["ZENTRACER_HOME"], "zentracer", "inject")
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if inject not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([inject, *paths])


def _address(text: str) -> Optional[Tuple[str, int]]:
    host, _, port = text.rpartition(":")
    return (host, int(port)) if host and port.isdigit() else None


def _options(text: str) -> Dict[str, Any]:
    try:
        options = json.loads(text) if text else {}
    except ValueError:
        return {}  # our adapter writes valid JSON; without it the defaults hold
    return options if isinstance(options, dict) else {}
