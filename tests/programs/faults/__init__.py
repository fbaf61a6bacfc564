"""Variants of real faults, each with a healthy twin.

``FAULTS`` maps a name to a ``Fault``: ``run(True)`` goes wrong because of the line marked
``# <- culprit`` (``# <- origin`` where the deeper cause is on another line), ``run(False)`` is
the same program without the fault, on which everything stays silent.
"""

from __future__ import annotations

from tests.programs.faults import (  # noqa: F401  (each adds faults)
    data,
    gradients,
    graphs,
    learning,
    modes,
    order,
    shapes,
    units,
)
from tests.programs.faults.record import FAULTS, Fault

__all__ = ["FAULTS", "Fault"]
