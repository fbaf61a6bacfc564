"""The process: its rank and its memory.

RUNS IN the user's training process.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Optional

from zentracer.observe.quiet import torch_if_loaded
from zentracer.present.numbers import byte_count


def rank() -> Optional[int]:
    """Return the global rank, None outside a distributed run."""
    bootstrap: Any = sys.modules.get("zentracer.bootstrap")
    return bootstrap.rank() if bootstrap is not None else None


class Memory:
    """Bytes in use, as far as they are told without waiting for anything."""

    __slots__ = ("devices", "process")

    def __init__(self) -> None:
        self.process = _resident()
        """Memory of the process that is in use now; None where the system does not tell."""
        self.devices: Dict[str, Dict[str, int]] = _devices()
        """By device: allocated, reserved and the peak of allocated."""

    def __repr__(self) -> str:
        parts = [f"process {byte_count(self.process)}"] if self.process is not None else []
        for device, used in self.devices.items():
            counts = ", ".join(f"{byte_count(count)} {name}" for name, count in used.items())
            parts.append(f"{device} {counts}")
        return " · ".join(parts) or "not known on this system"


def _resident() -> Optional[int]:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):  # no such file but on Linux
        return None
    import resource

    return pages * resource.getpagesize()


def _devices() -> Dict[str, Dict[str, int]]:
    torch = torch_if_loaded()
    if torch is None or not torch.cuda.is_initialized():
        return {}
    cuda = torch.cuda
    return {
        f"cuda:{index}": {
            "allocated": cuda.memory_allocated(index),
            "reserved": cuda.memory_reserved(index),
            "peak": cuda.max_memory_allocated(index),
        }
        for index in range(cuda.device_count())
    }
