"""Advice on learning-rate schedules."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterator

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

from tests.runtime.advising import Programs

PROGRAMS = Programs()
X = torch.randn(12, 4, generator=torch.Generator().manual_seed(1))
EPOCHS = 6


@pytest.fixture(autouse=True)
def torchs_own_warning() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def loader() -> Any:
    return DataLoader(TensorDataset(X), 4)


def made(make: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[nn.Module, Any, Any]:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return model, optimizer, make(optimizer, *args, **kwargs)


def step(model: nn.Module, optimizer: Any, x: Any) -> None:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


@PROGRAMS.gives("scheduler_rhythm")
def stepped_before_the_optimiser() -> float:
    model, optimizer, scheduler = made(lr_scheduler.StepLR, 2)
    for _ in range(EPOCHS):
        scheduler.step()  # <- here
        for (x,) in loader():
            step(model, optimizer, x)
    return model.weight.sum().item()


@PROGRAMS.gives("scheduler_rhythm")
def decay_by_epoch_stepped_per_batch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.ExponentialLR, 0.01)
    batches = loader()
    for _ in range(EPOCHS):
        for (x,) in batches:
            step(model, optimizer, x)
            if scheduler is not None:
                scheduler.step()  # <- here
    return model.weight.sum().item()


@PROGRAMS.silent
def decay_made_anew_for_each_fold() -> float:
    total = 0.0
    for _ in range(EPOCHS):
        model, optimizer, scheduler = made(lr_scheduler.ExponentialLR, 0.1)
        for _ in range(12):
            step(model, optimizer, X)
            scheduler.step()
        total += model.weight.sum().item()
    return total


@PROGRAMS.gives("scheduler_rhythm")
def epochs_stepped_per_batch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.CosineAnnealingLR, T_max=EPOCHS)
    batches = loader()
    for _ in range(EPOCHS):
        for (x,) in batches:
            step(model, optimizer, x)
            scheduler.step()  # <- here
    return model.weight.sum().item()


@PROGRAMS.gives("scheduler_rhythm")
def milestones_stepped_per_batch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.MultiStepLR, [3, 5])

    def train_epoch(batches: Any) -> None:
        for _, (x,) in enumerate(batches):
            step(model, optimizer, x)
            scheduler.step()  # <- here

    batches = loader()
    for _ in range(EPOCHS):
        train_epoch(batches)
    return model.weight.sum().item()


@PROGRAMS.gives("scheduler_rhythm")
def batches_stepped_per_epoch() -> float:
    model, optimizer, scheduler = made(
        lr_scheduler.OneCycleLR, max_lr=0.1, epochs=EPOCHS, steps_per_epoch=3
    )
    for _ in range(EPOCHS):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step()  # <- here
    return model.weight.sum().item()


@PROGRAMS.gives("scheduler_rhythm")
def cosine_beyond_its_end() -> float:
    model, optimizer, scheduler = made(lr_scheduler.CosineAnnealingLR, T_max=4)
    for _ in range(EPOCHS + 1):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step()  # <- here
    return model.weight.sum().item()


@PROGRAMS.silent
def once_an_epoch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.CosineAnnealingLR, T_max=EPOCHS)
    for _ in range(EPOCHS):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def once_a_batch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.OneCycleLR, 0.1, total_steps=3 * EPOCHS)
    batches = loader()
    for _ in range(EPOCHS):
        for (x,) in batches:
            step(model, optimizer, x)
            scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def resumed() -> float:
    model, optimizer, scheduler = made(lr_scheduler.StepLR, 2)
    for _ in range(1):
        scheduler.step()
    for _ in range(EPOCHS):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def warm_up_by_batch_then_cosine() -> float:
    model, optimizer, _ = made(lr_scheduler.StepLR, 2)
    warm = lr_scheduler.LinearLR(optimizer, 0.1, total_iters=EPOCHS)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=2 * EPOCHS)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warm, cosine], [EPOCHS])
    batches = loader()
    for _ in range(EPOCHS):
        for (x,) in batches:
            step(model, optimizer, x)
            scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def warm_up_by_batch() -> float:
    model, optimizer, scheduler = made(lr_scheduler.LinearLR, 0.1, total_iters=EPOCHS)
    batches = loader()
    for _ in range(EPOCHS):
        for (x,) in batches:
            step(model, optimizer, x)
            scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def whole_cycles() -> float:
    model, optimizer, scheduler = made(lr_scheduler.CosineAnnealingLR, T_max=3)
    for _ in range(EPOCHS):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def accumulated() -> float:
    model, optimizer, scheduler = made(lr_scheduler.StepLR, 2)
    for _ in range(EPOCHS):
        for index, (x,) in enumerate(loader()):
            model(x).square().mean().backward()
            if index % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
            scheduler.step()
    return model.weight.sum().item()


@PROGRAMS.silent
def on_a_plateau() -> float:
    model, optimizer, scheduler = made(lr_scheduler.ReduceLROnPlateau, patience=1)
    for _ in range(EPOCHS):
        for (x,) in loader():
            step(model, optimizer, x)
        scheduler.step(1.0)
    return model.weight.sum().item()


@PROGRAMS.silent
def scaled() -> float:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-30)
    scheduler = lr_scheduler.StepLR(optimizer, 2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**46)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        scaler.scale(model(1e25 * X).sin().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
    return model.weight.sum().item()


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy_is_silent(name: str) -> None:
    PROGRAMS.check_healthy(name)
