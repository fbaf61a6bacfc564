"""Says that a breakpoint inside compiled code will not be hit, and runs eagerly on request.

RUNS IN the training process. What is said is the whole state, each time that it may have changed.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import torch

from zentracer.control.pydevd import channel, lines
from zentracer.fork_locks import renewed
from zentracer.frameworks.pytorch import compiled_regions
from zentracer.frameworks.pytorch.compiled_regions import (
    CAPTURED,
    COMPILED,
    SCRIPTED,
    TRACED,
    Region,
)
from zentracer.wire.messages import CompiledLine, CompiledLines, Eager

_EAGER_OPTION = 'put "eager": true into the "zentracer" part of the launch configuration'
_WORDS = {
    COMPILED: "which torch.compile (at {where}) runs as generated code: the breakpoint is not hit. "
    f"To stop here, run this session eagerly (your editor offers it), or {_EAGER_OPTION}. Eager "
    "results may differ from compiled ones in their last bits.",
    SCRIPTED: "which torch.jit.script (at {where}) has translated: TorchScript runs it without "
    "Python, and the breakpoint is not hit. A running program cannot undo that: to stop here, "
    f"{_EAGER_OPTION}, which sets PYTORCH_JIT=0.",
    TRACED: "which torch.jit.trace (at {where}) records: the breakpoint is hit only while it "
    "records, and later calls run the recording. A running program cannot undo that: to stop "
    f"here, {_EAGER_OPTION}, which sets PYTORCH_JIT=0.",
    CAPTURED: "which is captured into a CUDA graph (at {where}): it runs once, during the capture, "
    "and replays do not run Python. A stop during the capture would break it. To stop here, run "
    "the code without the graph.",
}
_TOO_OLD = (
    "This PyTorch ({version}) cannot leave torch.compile while the program runs; that takes 2.6. "
    f"Instead, {_EAGER_OPTION}."
)
_JIT_STAYS = (
    f"TorchScript stays as it is: a running program cannot undo it. Instead, {_EAGER_OPTION}."
)
_GRAPHS_STAY = "CUDA graphs go on replaying what was captured."
_STARTED_SO = (
    "The program was started with TORCHDYNAMO_DISABLE=1, so nothing has been compiled; start it "
    "without to run compiled code."
)


class CompiledCode:
    """The compiled regions of this process."""

    def __init__(self) -> None:
        self._regions: dict[Region, None] = {}
        self._lock = renewed(self, "_lock", threading.RLock)
        self._stance: Any = None
        """The user's own stance, while the session runs eagerly."""
        self._is_eager = False
        self._has_told = False

    def watch(self) -> None:
        """Notice every region from now on, and every breakpoint."""
        compiled_regions.watch(self.add, self._dynamo_came)
        lines.on_change(self.tell)

    def add(self, region: Region) -> None:
        """Note that lines do not run one by one any more."""
        with self._lock:
            self._regions[region] = None
        self.tell()

    def tell(self) -> None:
        """Send which breakpoints are not hit; quiet while there are none."""
        with self._lock:
            found = tuple(self._unreachable())
            if found or self._has_told:
                body = CompiledLines(eager=self._is_eager, breakpoints=found)
                self._has_told = channel.send_event("compiled_lines", body) and bool(found)

    def run_eagerly(self, *, eager: bool) -> Eager:
        """Leave the code of torch.compile from its next call on, or go back to it.

        The stance is one for the whole process, and read at each call of compiled code.
        """
        with self._lock:
            if eager != self._is_eager:
                if eager and not hasattr(torch.compiler, "set_stance"):
                    note = _TOO_OLD.format(version=torch.__version__)
                    return Eager(eager=False, regions=self._count(), note=note)
                self._is_eager = eager
                self._force_eager() if eager else self._restore()
            self.tell()
            return Eager(eager=eager, regions=self._count(), note=self._note(eager=eager))

    def _unreachable(self) -> list[CompiledLine]:
        found: dict[int, CompiledLine] = {}
        for region in self._regions:
            if region.kind == COMPILED and self._is_eager:
                continue
            for number, line in lines.breakpoints_between(region.path, region.first, region.last):
                if number is not None:
                    words = _WORDS[region.kind].format(where=region.where)
                    message = f"Line {line} is part of {region.name}, {words}"
                    found[number] = CompiledLine(id=number, kind=region.kind, message=message)
        return list(found.values())

    def _dynamo_came(self) -> None:
        with self._lock:
            if self._is_eager:
                self._force_eager()

    def _force_eager(self) -> None:
        # Without dynamo nothing is compiled yet; importing it would take the program seconds.
        dynamo: Any = sys.modules.get(compiled_regions.EVAL_FRAME)
        if hasattr(dynamo, "DynamoStance") and self._stance is None:
            self._stance = dynamo._set_stance(dynamo.DynamoStance("force_eager"))

    def _restore(self) -> None:
        if self._stance is not None:
            sys.modules[compiled_regions.EVAL_FRAME]._set_stance(self._stance)
            self._stance = None

    def _count(self) -> int:
        return sum(region.kind == COMPILED for region in self._regions)

    def _note(self, *, eager: bool) -> str | None:
        if not eager and _is_disabled():
            return _STARTED_SO
        kinds = {region.kind for region in self._regions}
        notes = [_JIT_STAYS] if kinds & {SCRIPTED, TRACED} else []
        notes += [_GRAPHS_STAY] if CAPTURED in kinds else []
        return " ".join(notes) if eager and notes else None


def _is_disabled() -> bool:
    return os.environ.get("TORCHDYNAMO_DISABLE") == "1"
