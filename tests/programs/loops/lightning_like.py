"""A stand-in for Lightning: the trainer owns the loop, the optimiser runs the closure."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.loops.record import Taken, data, loop, small


class WrappedOptimizer:
    """Looks like the optimiser, a subclass of its class without its constructor."""

    def __init__(self, optimizer: torch.optim.Optimizer, trainer: Trainer) -> None:
        self.__dict__ = {k: v for k, v in optimizer.__dict__.items() if k not in ("step",)}
        self.__class__ = type(
            "Wrapped" + type(optimizer).__name__, (WrappedOptimizer, type(optimizer)), {}
        )
        self._optimizer, self._trainer = optimizer, trainer

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        closure = closure or (lambda: None)
        return self._trainer.precision_step(self._optimizer, closure)


class Module(nn.Module):
    """The hooks of a user's module, with their defaults."""

    automatic_optimization = True
    trainer: Trainer

    def optimizers(self) -> Any:
        return self.trainer.optimizers

    def manual_backward(self, loss: Tensor) -> None:
        loss.backward()

    def on_train_epoch_end(self) -> None: ...

    def validation_step(self, batch: Any) -> None: ...

    def training_step(self, batch: Any) -> Any:
        raise NotImplementedError

    def configure_optimizers(self) -> Any:
        raise NotImplementedError

    def optimizer_step(self, optimizer: Any, closure: Callable[[], Any]) -> None:
        optimizer.step(closure=closure)

    def optimizer_zero_grad(self, optimizer: Any) -> None:
        optimizer.zero_grad()


class Trainer:
    def __init__(self, epochs: int, clip: float | None = None, accumulate: int = 1) -> None:
        self.max_epochs, self.clip, self.accumulate = epochs, clip, accumulate
        self.current_epoch = self.global_step = 0
        self.optimizers: list[Any] = []

    def fit(self, module: Module, train: Any, valid: Any) -> None:
        self.module, module.trainer = module, self
        configured = module.configure_optimizers()
        optimizers, self.schedulers = configured if isinstance(configured, tuple) else ([], [])
        self.optimizers = [WrappedOptimizer(o, self) for o in optimizers or [configured]]
        self.validate(valid, limit=2)
        while self.current_epoch < self.max_epochs:
            self.epoch(train)
            self.validate(valid)
            module.on_train_epoch_end()
            for scheduler in self.schedulers:
                scheduler.step()
            self.current_epoch += 1

    def validate(self, valid: Any, limit: int | None = None) -> None:
        """Before training (``limit``) it is a check that validation works at all."""
        self.module.eval()
        with torch.inference_mode():
            for i, batch in enumerate(valid):
                if i == limit:
                    break
                self.module.validation_step(batch)
        self.module.train()

    def epoch(self, train: Any) -> None:
        torch.set_grad_enabled(True)
        for i, batch in enumerate(train):
            if not self.module.automatic_optimization:
                self.module.training_step(batch)
                continue
            self.automatic(batch, i, last=i + 1 == len(train))

    def automatic(self, batch: Any, i: int, *, last: bool) -> None:
        optimizer = self.optimizers[0]
        starts = i % self.accumulate == 0

        def closure() -> Tensor:
            loss = self.module.training_step(batch) / self.accumulate
            if starts:
                self.module.optimizer_zero_grad(optimizer)
            loss.backward()
            return loss.detach()

        if (i + 1) % self.accumulate and not last:
            closure()
            return
        self.module.optimizer_step(optimizer, closure)
        self.global_step += 1

    def precision_step(self, optimizer: Any, closure: Callable[[], Any]) -> Any:
        def clipped() -> Any:
            result = closure()
            if self.clip is not None and self.module.automatic_optimization:
                parameters = [p for g in optimizer.param_groups for p in g["params"]]
                nn.utils.clip_grad_norm_(parameters, self.clip)
            return result

        return optimizer.step(closure=clipped)


class Classifier(Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = small()
        self.taken: list[Taken] = []
        self.micro: list[float] = []
        self.scores: list[float] = []

    def training_step(self, batch: Any) -> Tensor:
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.micro.append(loss.item() / self.trainer.accumulate)
        return loss

    def validation_step(self, batch: Any) -> None:
        x, y = batch
        self.scores.append((self.net(x).argmax(1) == y).float().mean().item())

    def optimizer_step(self, optimizer: Any, closure: Callable[[], Any]) -> None:
        super().optimizer_step(optimizer, closure)
        self.taken.append(Taken(self.trainer.current_epoch, tuple(self.micro)))
        self.micro.clear()

    def on_train_epoch_end(self) -> None:
        self.scores.clear()

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


@loop(8, 2, "Adam")
def lightning_automatic() -> list[Taken]:
    module = Classifier()
    Trainer(epochs=2, clip=1.0).fit(module, data(32, 8), data(16, 8, shuffle=False))
    return module.taken


@loop(6, 2, "Adam")
def lightning_accumulating() -> list[Taken]:
    """Two batches a step; the fifth of an epoch has a step of its own."""
    module = Classifier()
    Trainer(epochs=2, accumulate=2).fit(module, data(40, 8), data(16, 8, shuffle=False))
    return module.taken


@loop(6, 2, "LBFGS")
def lightning_closure_often() -> list[Taken]:
    """An optimiser that calls the closure several times a step."""

    class Often(Classifier):
        def configure_optimizers(self) -> Any:
            return torch.optim.LBFGS(self.net.parameters(), lr=0.1, max_iter=3)

    module = Often()
    Trainer(epochs=2).fit(module, data(24, 8), data(16, 8, shuffle=False))
    return module.taken


@loop(8, 2, "Adam", "SGD")
def lightning_manual() -> list[Taken]:
    """Two optimisers, stepped by the module itself; a round of both is a step."""

    class Adversarial(Module):
        automatic_optimization = False

        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(1)
            self.maker, self.judge = nn.Linear(3, 6), nn.Linear(6, 1)
            self.taken: list[Taken] = []

        def training_step(self, batch: Any) -> None:
            for_judge, for_maker = self.optimizers()
            x, _ = batch
            fake = self.maker(torch.randn(len(x), 3))
            first = F.softplus(-self.judge(x)).mean() + F.softplus(self.judge(fake.detach())).mean()
            for_judge.zero_grad()
            self.manual_backward(first)
            for_judge.step()
            second = F.softplus(-self.judge(fake)).mean()
            for_maker.zero_grad()
            self.manual_backward(second)
            for_maker.step()
            self.taken.append(Taken(self.trainer.current_epoch, (first.item(), second.item())))

        def configure_optimizers(self) -> Any:
            return [
                torch.optim.Adam(self.judge.parameters(), lr=1e-2),
                torch.optim.SGD(self.maker.parameters(), lr=1e-2),
            ], []

    module = Adversarial()
    Trainer(epochs=2).fit(module, data(32, 8), data(16, 8, shuffle=False))
    return module.taken
