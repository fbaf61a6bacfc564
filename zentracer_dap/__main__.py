"""``python -m zentracer_dap``, and ``python <folder of zentracer_dap>``.

debugpy's adapter is started before anything else is imported, because loading it takes longest.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zentracer_dap.settings import Settings


def main() -> int:
    """Serve DAP as the command line says; returns the exit code."""
    from zentracer_dap import bundle

    bundle.prefer_ours()
    if not sys.argv[1:]:
        from zentracer_dap.settings import Settings

        return _serve_stdio(Settings())

    from zentracer_dap.arguments import parse
    from zentracer_dap.errors_file import stderr_in

    parsed = parse(sys.argv[1:])
    with stderr_in(parsed.settings.errors_to):
        if parsed.address is None:
            return _serve_stdio(parsed.settings)
        from zentracer_dap.server import serve_tcp

        serve_tcp(parsed.settings, *parsed.address)
    return 0


def _serve_stdio(settings: Settings) -> int:
    from zentracer_dap.peers.spawn import spawn_debugpy

    process = spawn_debugpy(settings.debugpy_arguments())
    from zentracer_dap.server import serve_stdio

    return serve_stdio(settings, process)


def _find_our_packages() -> None:
    """Make ``zentracer_dap`` importable when its folder was run by path.

    Python has put that folder itself on sys.path, where its modules would be importable under
    wrong names. Its parent comes last: where it is some site-packages folder, that must not hide
    anything of this interpreter.
    """
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != folder]
    parent = os.path.dirname(folder)
    sys.path.insert(0, parent)
    __import__("zentracer_dap")
    sys.path.remove(parent)
    sys.path.append(parent)


if __name__ == "__main__":
    if not __package__:
        _find_our_packages()
    sys.exit(main())
