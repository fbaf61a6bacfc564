"""The names of the condition language for one finding.

RUNS IN the training process. A statistic is computed only if the condition names it.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

import torch

from zentracer.observe.stats import exact_stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.report import Finding

_STATISTICS = frozenset(["min", "max", "mean", "std", "absmax", "norm", "nan", "inf", "zeros"])


def hit_values(finding: Finding, names: frozenset[str]) -> dict[str, Any]:
    """Return the value of each of ``names`` for ``finding``."""
    x = finding.tensor
    module = finding.module or ""
    values: dict[str, Any] = {
        "module": module,
        "op": finding.op,
        "phase": finding.phase,
        "step": finding.step or 0,
        "epoch": finding.epoch,
        "rank": finding.rank or 0,
        "x": x,
        "name": finding.subject,
        "ratio": None,
        "match": lambda pattern: fnmatch.fnmatchcase(module, pattern),
    }
    if x is not None:
        values.update(
            {
                "shape": tuple(x.shape),
                "dtype": str(x.dtype).replace("torch.", ""),
                "device": str(x.device),
                "size": x.numel(),
            }
        )
        if names & _STATISTICS:
            with torch.no_grad():
                stats = exact_stats(x)
            values.update({name: getattr(stats, name) for name in _STATISTICS})
    values.update(finding.values)
    return values
