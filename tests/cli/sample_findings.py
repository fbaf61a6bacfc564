"""Findings as the runtime reports them, for tests of how they are shown."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

SOURCE = """\
import torch


def contrastive(left, right, same, margin=1.0):
    diff = left - right
    squared = diff.pow(2).sum(dim=1)
    distance = torch.sqrt(squared)
    pull = same * distance.pow(2)
    push = (1 - same) * torch.relu(margin - distance).pow(2)
    return (pull + push).mean()


loss = contrastive(a, b, same)
loss.backward()
"""


def write_source(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def info(path: Path) -> dict[str, Any]:
    """An ``exceptionInfo`` body: infinite gradient of sqrt, the program stands at backward()."""
    return copy.deepcopy(
        {
            "exceptionId": "NaN or Inf",
            "description": "",
            "breakMode": "always",
            "details": {
                "message": "Inf in gradient of torch.sqrt (backward, step 41): 2 of 4096 elements",
                "typeName": "NaN or Inf",
                "zentracer": details(path),
            },
        }
    )


def details(path: Path) -> dict[str, Any]:
    at = str(path)
    return {
        "filter": "zentracer.nonfinite",
        "module": "encoder.head",
        "op": "torch.sqrt",
        "phase": "backward",
        "step": 41,
        "rank": None,
        "source": {"path": at, "line": 14, "function": "<module>", "text": "loss.backward()"},
        "origin": {
            "path": at,
            "line": 7,
            "column": 16,
            "end_line": 7,
            "end_column": 35,
            "function": "contrastive",
            "text": "    distance = torch.sqrt(squared)",
        },
        "tensor": {
            "shape": [4096],
            "dtype": "float32",
            "device": "cpu",
            "size": 4096,
            "bytes": 16384,
            "min": -0.0316,
            "max": 3.79,
            "mean": 0.412,
            "std": 0.88,
            "absmax": 3.79,
            "norm": 61.2,
            "nan": 0,
            "inf": 2,
            "zeros": 1024,
            "sampled": False,
            "name": "grad of squared",
        },
        "inputs": [
            {
                "shape": [4096],
                "dtype": "float32",
                "device": "cpu",
                "size": 4096,
                "bytes": 16384,
                "min": 0.0,
                "max": 12.5,
                "mean": 1.9,
                "std": 2.4,
                "nan": 0,
                "inf": 0,
                "zeros": 2,
                "sampled": False,
                "name": "squared",
            }
        ],
        "suggestions": [
            {
                "title": "Keep sqrt away from zero",
                "why": "The derivative of sqrt is 1 / (2 sqrt(x)), which is infinite at 0; "
                "2 elements of squared are 0 because both items of a pair are the same.",
                "edit": {
                    "path": at,
                    "line": 7,
                    "old_text": "    distance = torch.sqrt(squared)",
                    "new_text": "    distance = torch.sqrt(squared + 1e-12)",
                },
            },
            {
                "title": "Leave the root out",
                "why": "pull uses the square of distance only.",
                "edit": None,
            },
        ],
        "finite_before": "The loss (0.731) and every value of the forward pass were finite.",
        "note": None,
        "stack": [
            {"path": at, "line": 14, "function": "<module>", "text": "loss.backward()"},
        ],
    }
