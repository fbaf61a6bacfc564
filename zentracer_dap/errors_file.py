"""``--errors-to FILE``: stderr becomes a file, so that a crash leaves a trace that can be shown.

An editor shows nothing of an adapter's stderr. The file is appended to, since several adapters
may share it; whoever ends without a word leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import platform
import sys
import time
from collections.abc import Generator

from zentracer_dap import bundle


@contextlib.contextmanager
def stderr_in(path: str | None) -> Generator[None]:
    """Let stderr be the file at ``path``; None leaves it as it is."""
    file = _open(path)
    if file is None or path is None:
        yield
        return
    terminal = os.dup(2)
    start = os.fstat(file).st_size
    os.write(file, _header())
    end = os.fstat(file).st_size
    os.dup2(file, 2)
    # A crash inside Python itself is told there too.
    faulthandler.enable(2)
    yield  # an exception goes on to the interpreter, which writes it to stderr: no clean-up then
    sys.stderr.flush()
    faulthandler.disable()
    os.dup2(terminal, 2)
    if os.fstat(file).st_size == end:
        os.ftruncate(file, start)
        os.close(file)
        if start == 0:
            os.unlink(path)


def _open(path: str | None) -> int | None:
    if path is None:
        return None
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as problem:
        print(f"Errors cannot be written to {path}: {problem}", file=sys.stderr)
        return None


def _header() -> bytes:
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    python = platform.python_version()
    text = f"--- {now} ZenTracer {bundle.version()}, Python {python}, process {os.getpid()} ---\n"
    return text.encode()
