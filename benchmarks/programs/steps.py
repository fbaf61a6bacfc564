"""Trains a model on command: the process whose steps benchmarks/step_time.py times.

Usage: python steps.py HOST:PORT THREADS wall|cpu

Each line received is a JSON object: ``{"model": NAME}`` makes the model anew, ``{"steps": N,
"under": NAME}`` runs one step that is not counted and N that are, and answers their seconds, and
how many modes watched the torch calls of this thread.
"""

import json
import socket
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import torch

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent)]

from models import MODELS  # noqa: E402
from peers import IsNanMode  # noqa: E402

from tests.runtime.watching import watching  # noqa: E402

UNDER = {
    "nothing": nullcontext,
    "watching": watching,
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "isnan": IsNanMode,
}


CLOCK = time.process_time if sys.argv[3] == "cpu" else time.perf_counter


def main():
    host, _, port = sys.argv[1].rpartition(":")
    torch.set_num_threads(int(sys.argv[2]))
    stream = socket.create_connection((host, int(port))).makefile("rw")
    step = None
    for line in stream:
        order = json.loads(line)
        if "model" in order:
            step, answer = MODELS[order["model"]](), {}
        else:
            with UNDER[order["under"]]():
                modes = torch._C._len_torch_function_stack()
                answer = {"seconds": run(step, order["steps"]), "modes": modes}
        stream.write(json.dumps(answer) + "\n")
        stream.flush()


def run(step, steps):
    step()
    seconds = []
    for _ in range(steps):
        start = CLOCK()
        step()
        seconds.append(CLOCK() - start)
    return seconds


main()
