"""JSON Schema of every message, for generated code and for readers.

RUNS IN development only: ``python -m zentracer.wire.schema [FILE]`` needs msgspec. The types of
other languages are generated from this schema.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Dict, List

from zentracer.wire import EVENTS, PROTOCOL_VERSION, REQUESTS

__all__ = ["build", "render"]


def build() -> Dict[str, Any]:
    """Return the schema: protocol version, events, requests and the definitions they refer to."""
    import msgspec.json  # a development tool, absent where training runs

    bodies: List[Any] = [*EVENTS.values()]
    for arguments, answer in REQUESTS.values():
        bodies += [arguments, answer]
    references, definitions = msgspec.json.schema_components(bodies, ref_template="#/$defs/{name}")
    by_body: Dict[Any, Any] = dict(zip(bodies, references))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ZenTracer messages",
        "protocol_version": PROTOCOL_VERSION,
        "events": {name: by_body[body] for name, body in EVENTS.items()},
        "requests": {
            name: {"arguments": by_body[arguments], "body": by_body[answer]}
            for name, (arguments, answer) in REQUESTS.items()
        },
        "$defs": definitions,
    }


def render() -> str:
    """Return the schema as the text of the generated file."""
    return json.dumps(build(), indent=2, sort_keys=True) + "\n"


def main(arguments: List[str]) -> None:
    """Write the schema to the file named on the command line, or print it."""
    if arguments:
        Path(arguments[0]).write_text(render(), encoding="utf-8")
    else:
        sys.stdout.write(render())


if __name__ == "__main__":
    main(sys.argv[1:])
