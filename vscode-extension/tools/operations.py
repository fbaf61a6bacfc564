"""Writes src/pure/operations.json: PyTorch's functions by namespace, for "Break at Operation...".

    ../.venv/bin/python tools/operations.py

Run it again for a new version of PyTorch; any other name can be typed as well.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch
import torch.overrides

TARGET = Path(__file__).parent.parent / "src/pure/operations.json"
NAMESPACES = {"torch": torch, "F": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft}
INTERNAL = re.compile(
    r"^_|_$|_copy$|_cell$|_with_indices$|^(choose|fake|fused|fbgemm|miopen|quantize|q_|sym_|is_|"
    r"unsafe|native|nuclear|frobenius|hash|slice_)|batch_norm_|_inverse$|^(get_device|numel|t)$"
)


def main() -> None:
    """Write the file."""
    known = torch.overrides.get_overridable_functions()
    names = {
        short: {f.__name__.removeprefix(f"{short}_") for f in known.get(namespace, ())}
        for short, namespace in NAMESPACES.items()
    }
    for short, namespace in NAMESPACES.items():
        names[short] = {name for name in names[short] if hasattr(namespace, name)}
    shown = {name for group in names.values() for name in group}
    names["Tensor"] = {name for name in shown if hasattr(torch.Tensor, name)}
    names["aten"] = {name for name in shown if hasattr(torch.ops.aten, name)}
    lists = {
        short: " ".join(sorted(name for name in group if not INTERNAL.search(name)))
        for short, group in names.items()
    }
    TARGET.write_text(json.dumps(lists, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
