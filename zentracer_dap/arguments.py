"""The command line of the adapter."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from zentracer_dap.settings import Settings


@dataclass(frozen=True)
class Parsed:
    """What the command line asks for."""

    settings: Settings
    address: tuple[str, int] | None
    """Where to listen; None for stdio."""


def parse(argv: list[str]) -> Parsed:
    """Parse the command line; ends the process with a message where it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m zentracer_dap",
        description="Debug adapter of ZenTracer: DAP on stdio, or on TCP with --listen.",
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="serve editors over TCP; port 0 picks a free one"
    )
    parser.add_argument("--host", default="127.0.0.1", help="as debugpy: where --port listens")
    parser.add_argument("--port", type=int, help="as debugpy: serve editors over TCP")
    parser.add_argument("--log-dir", metavar="DIR", help="write transcripts to DIR")
    parser.add_argument(
        "--errors-to",
        metavar="FILE",
        help="append errors and crashes to FILE instead of stderr; editors show no stderr",
    )
    found = parser.parse_args(argv)
    address = None
    if found.port is not None:
        address = (found.host, found.port)
    if found.listen is not None:
        host, _, port = found.listen.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            parser.error(f"--listen wants HOST:PORT, not {found.listen!r}")
        address = (host.strip("[]") or "127.0.0.1", int(port))
    return Parsed(Settings(log_dir=found.log_dir, errors_to=found.errors_to), address)
