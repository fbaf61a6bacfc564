"""``python -m zentracer_dap``, and ``python <folder of zentracer_dap>``.

debugpy's adapter is started before anything else is imported, because loading it takes longest.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Serve DAP as the command line says; returns the exit code."""
    from zentracer_dap.peers.spawn import spawn_debugpy

    if not sys.argv[1:]:
        process = spawn_debugpy([])
        from zentracer_dap.server import Settings, serve_stdio

        return serve_stdio(Settings(), process)
    return _main_with_arguments()


def _main_with_arguments() -> int:
    from zentracer_dap.arguments import parse

    parsed = parse(sys.argv[1:])
    process = None
    if parsed.address is None:
        from zentracer_dap.peers.spawn import spawn_debugpy

        process = spawn_debugpy(parsed.settings.debugpy_arguments())
    from zentracer_dap.server import serve_stdio, serve_tcp

    if parsed.address is None:
        return serve_stdio(parsed.settings, process)
    serve_tcp(parsed.settings, *parsed.address)
    return 0


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
