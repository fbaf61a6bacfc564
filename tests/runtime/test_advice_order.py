"""Advice on the order of calls in a training loop."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from tests.runtime.advising import Programs

PROGRAMS = Programs()
STEPS = 8


def data(seed: int = 0) -> tuple[Tensor, Tensor]:
    x = torch.randn(16, 4)
    return x, x.sum(1, keepdim=True)


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def sgd(model: nn.Module, lr: float = 0.01) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr)


# -- gradients that are never reset ------------------------------------------------------------


@PROGRAMS.gives("missing_zero_grad")
def nothing_resets() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # <- here
        optimizer.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.gives("missing_zero_grad")
def reset_of_another_model() -> list[float]:
    model, other = net(), net()
    optimizer, losses = torch.optim.Adam(model.parameters()), []
    for _ in range(STEPS):
        other.zero_grad()
        x, y = data()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # <- here
        optimizer.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.gives("missing_zero_grad")
def reset_once_before_the_loop() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    optimizer.zero_grad()
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        loss.backward()  # <- here
        clip_grad = [p.grad.norm().item() for p in model.parameters()]
        optimizer.step()
        losses.append(loss.item() + 0 * sum(clip_grad))
    return losses


@PROGRAMS.gives("missing_zero_grad")
def discriminator_is_never_reset() -> list[float]:
    generator, critic = net(), nn.Linear(1, 1)
    g, d, losses = sgd(generator), sgd(critic), []
    for _ in range(STEPS):
        x, y = data()
        loss = critic(y).mean() - critic(generator(x).detach()).mean()
        loss.backward()  # <- here
        d.step()
        g.zero_grad()
        with_fake = -critic(generator(x)).mean()
        with_fake.backward(inputs=list(generator.parameters()))
        g.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def gradients_put_there_by_hand() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        parameters = list(model.parameters())
        for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters)):
            p.grad = gradient
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def reset_to_none() -> list[float]:
    return _trained(lambda model, optimizer: optimizer.zero_grad())


@PROGRAMS.silent
def reset_to_zero() -> list[float]:
    return _trained(lambda model, optimizer: optimizer.zero_grad(set_to_none=False))


@PROGRAMS.silent
def reset_by_the_model() -> list[float]:
    return _trained(lambda model, optimizer: model.zero_grad(set_to_none=False))


@PROGRAMS.silent
def reset_by_hand() -> list[float]:
    return _trained(lambda model, optimizer: [p.grad.data.zero_() for p in model.parameters()])


@PROGRAMS.silent
def momentum_by_hand() -> list[float]:
    return _trained(lambda model, optimizer: [p.grad.mul_(0.9) for p in model.parameters()])


@PROGRAMS.silent
def replaced_by_hand() -> list[float]:
    def replace(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for p in model.parameters():
            p.grad = torch.zeros_like(p)

    return _trained(replace)


def _trained(reset: object) -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        reset(model, optimizer)
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def accumulation_over_batches() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for index in range(4 * STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y) / 4
        loss.backward()
        if index % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def players_that_reset_before_their_turn() -> list[float]:
    generator, critic = net(), nn.Linear(1, 1)
    g, d, losses = sgd(generator), sgd(critic), []
    for _ in range(STEPS):
        x, y = data()
        d.zero_grad()
        loss = critic(y).mean() - critic(generator(x)).mean()
        loss.backward()
        d.step()
        g.zero_grad()
        fooled = -critic(generator(x)).mean()
        fooled.backward()
        g.step()
        losses += [loss.item(), fooled.item()]
    return losses


@PROGRAMS.silent
def closure_of_lbfgs() -> list[float]:
    model, losses = net(), []
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    x, y = data()

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(STEPS):
        losses.append(optimizer.step(closure).item())
    return losses


@PROGRAMS.silent
def two_losses_one_step() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(2):
            x, y = data()
            loss = F.mse_loss(model(x), y)
            loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def sharpness_aware() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        F.mse_loss(model(x), y).backward()
        with torch.no_grad():
            moved = [0.05 * p.grad / (p.grad.norm() + 1e-12) for p in model.parameters()]
            for p, e in zip(model.parameters(), moved):
                p.add_(e)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, e in zip(model.parameters(), moved):
                p.sub_(e)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def unused_head_keeps_its_gradient() -> list[float]:
    model, head = net(), nn.Linear(4, 1)
    optimizer, losses = sgd(nn.ModuleList([model])), []
    F.mse_loss(head(torch.ones(1, 4)), torch.ones(1, 1)).backward()
    for _ in range(STEPS):
        x, y = data()
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def gradients_of_gradients() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        (loss + 0.01 * sum(g.square().sum() for g in gradients)).backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# -- clipping ----------------------------------------------------------------------------------


@PROGRAMS.gives("clip_after_step")
def norm_is_clipped_after_the_step() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # <- here
        losses.append(loss.item())
    return losses


@PROGRAMS.gives("clip_after_step")
def values_are_clipped_after_the_step() -> list[float]:
    model = net()
    optimizer, losses = torch.optim.AdamW(model.parameters()), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        clip_grad_value_(model.parameters(), 0.5)  # <- here
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def norm_is_clipped_in_time() -> list[float]:
    return _clipped(lambda model: clip_grad_norm_(model.parameters(), 0.5), None)


@PROGRAMS.silent
def norm_is_measured_after_the_step() -> list[float]:
    return _clipped(None, lambda model: clip_grad_norm_(model.parameters(), float("inf")))


@PROGRAMS.silent
def norm_is_clipped_twice() -> list[float]:
    def clip(model: nn.Module) -> Tensor:
        return clip_grad_norm_(model.parameters(), 0.5)

    return _clipped(clip, clip)


def _clipped(before: object, after: object) -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        if before is not None:
            before(model)
        optimizer.step()
        if after is not None:
            after(model)
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def one_of_two_optimisers_has_stepped() -> list[float]:
    first, second = net(), nn.Linear(1, 1)
    a, b, losses = sgd(first), sgd(second), []
    for _ in range(STEPS):
        x, y = data()
        a.zero_grad()
        b.zero_grad()
        loss = F.mse_loss(second(first(x)), y)
        loss.backward()
        a.step()
        clip_grad_norm_([*first.parameters(), *second.parameters()], 0.5)
        b.step()
        losses.append(loss.item())
    return losses


def _scaled(clip: object, *, unscale: bool) -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
        clip(model, scaler)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@PROGRAMS.gives("clip_before_unscale")
def scaled_gradients_are_clipped() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)  # <- here
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@PROGRAMS.silent
def unscaled_gradients_are_clipped() -> list[float]:
    return _scaled(lambda model, scaler: clip_grad_norm_(model.parameters(), 1.0), unscale=True)


@PROGRAMS.silent
def the_limit_is_scaled_too() -> list[float]:
    def clip(model: nn.Module, scaler: torch.amp.GradScaler) -> None:
        clip_grad_norm_(model.parameters(), 1.0 * scaler.get_scale())

    return _scaled(clip, unscale=False)


@PROGRAMS.silent
def a_scaler_that_is_off() -> list[float]:
    model = net()
    optimizer, losses = sgd(model), []
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for _ in range(STEPS):
        x, y = data()
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy_is_silent(name: str) -> None:
    PROGRAMS.check_healthy(name)


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told_without_waiting_for_the_device(name: str) -> None:
    PROGRAMS.check_deferred(name)
