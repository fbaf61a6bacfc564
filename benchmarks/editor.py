"""The real editor: from F5 to the first stop, and from an action in the panel to its answer.

Usage: python benchmarks/editor.py [--rounds N]

code-server with the built extension in a headless Chromium, as in the tests. The same program is
started with debugpy's own adapter in the same editor, in turns. An action in the Tensor panel ends
with the frame in which the program's answer is drawn; the tensor has 25 million elements. Bars:
200 ms for an action, 100 ms for the extension's activation.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Sequence

from measuring import ROOT, arguments, bar, machine, milliseconds, ratio, table

ACTION = 200
ACTIVATION = 100


def main() -> None:
    options = arguments(__doc__, rounds=5)
    machine()
    found = measured(options.rounds)
    ours, stock = found["ours"], found["stock"]
    rows: list[Sequence[object]] = [
        (
            "F5 to a breakpoint after `import torch`",
            ms(ours),
            ms(stock),
            f"{ratio(ours, stock):.2f}x",
        ),
        ("F5 to the first NaN (`examples/nan_contrastive.py`)", ms(found["toNan"]), "", ""),
    ]
    table(("medians in ms", "zentracer", "debugpy", "ours / debugpy"), rows)

    rows = [(name, within(times, ACTION)) for name, times in found["panel"].items()]
    table((f"Tensor panel (bar {ACTION} ms)", "median in ms"), rows)

    start = found["activation"]
    rows = [
        ("Tensor panel opened, until its picture is there", ms(found["opening"])),
        ("next stop, until all of the panel is of now", ms(found["nextStop"])),
        (f"extension activated (bar {ACTIVATION} ms)", within([start["activated"]], ACTIVATION)),
        ("extension's code loaded before that", f"{start['loaded']:.4g}"),
    ]
    table(("other", "median in ms"), rows)


def measured(rounds: int) -> dict[str, Any]:
    program = ["node", "vscode-extension/test/e2e/benchmark/main.ts", str(rounds)]
    environment = {**os.environ, "ZENTRACER_EDITOR_OUTPUT": "build/bench"}
    node = [str(ROOT / "tools/node.sh"), str(Path(sys.prefix))]
    done = subprocess.run(
        [*node, *program], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def ms(times: Sequence[float]) -> str:
    return milliseconds([time / 1000 for time in times])


def within(times: Sequence[float], limit: float) -> str:
    return bar(statistics.median(times), limit, "{:.4g}")


if __name__ == "__main__":
    main()
