"""A stand-in for accelerate: wrappers that hold optimiser, scheduler and loader."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from tests.programs.loops.record import Taken, data, loop, small


class State:
    def __init__(self, every: int) -> None:
        self.every, self.count = every, 0
        self.sync_gradients, self.end_of_loader = True, False


class AcceleratedOptimizer(torch.optim.Optimizer):
    """An optimiser by class, without its constructor; steps only when gradients are complete."""

    def __init__(self, optimizer: torch.optim.Optimizer, state: State, scaler: Any) -> None:
        self.optimizer, self.gradients, self.scaler = optimizer, state, scaler
        self.step_was_skipped = False

    @property
    def state(self) -> Any:
        return self.optimizer.state

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    @property
    def defaults(self) -> Any:
        return self.optimizer.defaults

    def zero_grad(self, set_to_none: bool = True) -> None:
        if self.gradients.sync_gradients:
            self.optimizer.zero_grad(set_to_none=set_to_none)

    def step(self, closure: Any = None) -> None:
        if not self.gradients.sync_gradients:
            return
        if self.scaler is None:
            self.optimizer.step(closure)
            return
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer, closure)
        self.scaler.update()
        self.step_was_skipped = self.scaler.get_scale() < before


class AcceleratedScheduler:
    def __init__(self, scheduler: Any, optimizer: AcceleratedOptimizer) -> None:
        self.scheduler, self.optimizer = scheduler, optimizer

    def step(self) -> None:
        if self.optimizer.gradients.sync_gradients and not self.optimizer.step_was_skipped:
            self.scheduler.step()


class LoaderShard(DataLoader):
    """Looks one batch ahead, to know the last one."""

    def __init__(self, loader: DataLoader[Any], state: State) -> None:
        super().__init__(loader.dataset, batch_sampler=loader.batch_sampler)
        self.gradients = state

    def __iter__(self) -> Iterator[Any]:
        self.gradients.end_of_loader = False
        inner = super().__iter__()
        current = next(inner)
        for following in inner:
            yield current
            current = following
        self.gradients.end_of_loader = True
        yield current


class Accelerator:
    def __init__(self, every: int = 1, mixed_precision: str = "no") -> None:
        self.state = State(every)
        self.dtype = torch.float16 if mixed_precision == "fp16" else None
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**15) if self.dtype else None

    def prepare(self, *things: Any) -> tuple[Any, ...]:
        return tuple(map(self._prepared, things))

    def _prepared(self, thing: Any) -> Any:
        if isinstance(thing, DataLoader):
            return LoaderShard(thing, self.state)
        if isinstance(thing, torch.optim.Optimizer):
            self._optimizer = AcceleratedOptimizer(thing, self.state, self.scaler)
            return self._optimizer
        if isinstance(thing, torch.optim.lr_scheduler.LRScheduler):
            return AcceleratedScheduler(thing, self._optimizer)
        if self.dtype is not None:
            autocast = torch.autocast("cpu", dtype=self.dtype)(type(thing).forward)
            thing.forward = lambda *args: autocast(thing, *args).float()
        return thing

    @contextlib.contextmanager
    def accumulate(self, *models: nn.Module) -> Iterator[None]:
        if self.state.end_of_loader:
            self.state.count, self.state.sync_gradients = 0, True
        else:
            self.state.count += 1
            self.state.sync_gradients = self.state.count % self.state.every == 0
        yield

    def backward(self, loss: Tensor) -> None:
        loss = loss / self.state.every
        if self.scaler is not None:
            loss = self.scaler.scale(loss)
        loss.backward()

    def clip_grad_norm_(self, parameters: Any, norm: float) -> None:
        if not self.state.sync_gradients:
            return
        if self.scaler is not None:
            self.scaler.unscale_(self._optimizer.optimizer)
        nn.utils.clip_grad_norm_(parameters, norm)


def train(accelerator: Accelerator, rows: int) -> list[Taken]:
    """Two epochs, as accelerate's own examples are written."""
    model, loader, valid = small(), data(rows, 8), data(16, 8, shuffle=False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=20)
    model, optimizer, schedule, loader, valid = accelerator.prepare(
        model, optimizer, schedule, loader, valid
    )
    taken: list[Taken] = []
    micro: list[float] = []
    for epoch in range(2):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
                micro.append(loss.item() / accelerator.state.every)
            if accelerator.state.sync_gradients:
                taken.append(Taken(epoch, tuple(micro)))
                micro.clear()
        model.eval()
        with torch.no_grad():
            hits = [(model(x).argmax(1) == y).sum() for x, y in valid]
    return taken


@loop(8, 2, "AdamW")
def accelerate() -> list[Taken]:
    return train(Accelerator(), 32)


@loop(6, 2, "AdamW")
def accelerate_accumulating() -> list[Taken]:
    """Two batches a step, and one for the fifth of an epoch."""
    return train(Accelerator(every=2), 40)


@loop(8, 2, "AdamW")
def accelerate_float16() -> list[Taken]:
    return train(Accelerator(mixed_precision="fp16"), 32)
