"""Time to show a frame full of tensors, side by side with stock debugpy and lovely-tensors.

Usage: python benchmarks/variables.py [--rounds N] [--full-stock]

The frame (frame_of_tensors.py) holds 50 tensors, one of 10^8 elements, a list of 2,000 tensors, a
module, its state_dict and a storage of 10^6 floats. Bars: the whole frame under 50 ms, opening any
of its values under 10 ms. Stock debugpy answers the storage element by element, so that it gets a
small storage unless ``--full-stock`` is given.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from dap_client import Client, line_of  # noqa: E402

PROGRAM = HERE / "frame_of_tensors.py"
OPENED = ("x00", "big", "many", "net", "state", "raw")
BIG = 10**8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--full-stock", action="store_true", help="10^6 floats for stock, too")
    options = parser.parse_args()
    ours = session("zentracer", options.rounds, raw=10**6)
    stock_rounds = max(1, options.rounds // 5)
    stock = session("debugpy", stock_rounds, raw=10**6 if options.full_stock else 10**4)
    print(f"{'medians in ms':24}{'zentracer':>12}{'debugpy':>12}{'ratio':>9}{'bar':>6}")
    for what, milliseconds in ours.items():
        bar = 50 if what == "frame" else 10
        print(
            f"{what:24}{milliseconds:12.2f}{stock[what]:12.2f}"
            f"{stock[what] / milliseconds:8.0f}x{bar:6}{'' if milliseconds < bar else '  MISSED'}"
        )
    lovely()


def session(adapter: str, rounds: int, *, raw: int) -> dict[str, float]:
    """Median milliseconds to list the frame's locals and to open each of its values."""
    with Client(adapter) as client:
        client.launch(
            program=str(PROGRAM),
            args=[str(BIG), str(raw)],
            breakpoints={PROGRAM: [line_of(PROGRAM, "here")]},
        )
        stop = client.until_stopped()
        scopes = client.request("scopes", frameId=stop.frame_id)["scopes"]
        scope = scopes[0]["variablesReference"]
        found = {"frame": median(rounds, lambda: client.variables(scope))}
        rows = {row["name"]: row for row in client.variables(scope)}
        for name in OPENED:
            opened = functools.partial(client.variables, rows[name]["variablesReference"])
            found[f"open {name}"] = median(rounds, opened)
        found["evaluate big"] = median(rounds, lambda: client.evaluate("big", stop.frame_id))
    return found


def median(rounds: int, action: Callable[[], Any]) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def lovely() -> None:
    """The one-line summary of 10^8 elements, in process."""
    import torch

    from zentracer.present.summary import summary

    big = torch.randn(BIG)
    ours = median(21, lambda: summary(big))
    print(f"{'summary of 10^8, in ms':24}{ours:12.3f}")
    try:
        from lovely_tensors import lovely as lovely_text
    except ImportError:
        print("lovely-tensors is not installed: pip install lovely-tensors")
        return
    theirs = median(3, lambda: str(lovely_text(big)))
    print(f"{'  lovely-tensors':24}{theirs:12.3f}{theirs / ours:21.0f}x")


if __name__ == "__main__":
    main()
