"""Transforms, subclasses, hooks and modes of the user's own."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, stack_module_state, vmap
from torch.overrides import TorchFunctionMode

from tests.programs.zoo.registry import batches, clusters, training


@training
def meta_learning(steps: int) -> list[float]:
    """MAML: an inner step with ``functional_call``, the outer loss is differentiated through it."""
    net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses: list[float] = []
    for _ in range(steps):
        outer = torch.zeros(())
        for _ in range(2):
            height, phase = torch.rand(()) + 0.5, torch.rand(()) * 3
            x = torch.rand(20, 1) * 6 - 3
            y = height * torch.sin(x + phase)
            weights = dict(net.named_parameters())
            inner = F.mse_loss(functional_call(net, weights, (x[:10],)), y[:10])
            slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
            fast = {k: w - 0.05 * g for (k, w), g in zip(weights.items(), slopes)}
            outer = outer + F.mse_loss(functional_call(net, fast, (x[10:],)), y[10:])
        loss = outer / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def per_sample_gradients(steps: int) -> list[float]:
    """DP-SGD: each sample's gradient by vmap(grad), clipped, averaged and made noisy."""
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)

    def loss_of(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(net, weights, (x[None],)), y[None])

    each = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0))
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 8, 3)):
        weights = {k: v.detach() for k, v in net.named_parameters()}
        slopes, values = each(weights, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in slopes.values()], 1).norm(dim=1)
        factor = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        for name, p in net.named_parameters():
            mean = torch.einsum("n,n...->...", factor, slopes[name]) / len(x)
            p.grad = mean + 0.002 * torch.randn_like(mean)
        optimizer.step()
        losses.append(values.mean().item())
    return losses


@training
def ensemble(steps: int) -> list[float]:
    """Five nets trained at once by vmap over stacked parameters."""
    nets = [nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1)) for _ in range(5)]
    parameters, buffers = stack_module_state(nets)
    optimizer = torch.optim.Adam(list(parameters.values()), lr=5e-3)

    def one(p: dict[str, Tensor], b: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(nets[0], (p, b), (x,))

    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(32, 6)
        y = (x[:, :1] * x[:, 1:2]).tanh()
        out = vmap(one, in_dims=(0, 0, None))(parameters, buffers, x)
        loss = (out - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def physics_informed(steps: int) -> list[float]:
    """The net's own derivatives enter the loss: a damped spring by its equation."""
    net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)

    def height(t: Tensor) -> Tensor:
        return net(t.view(1, 1)).squeeze()

    speed = vmap(grad(height))
    losses: list[float] = []
    for _ in range(steps):
        t = torch.rand(24, 1, requires_grad=True) * 2
        u = net(t)
        (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
        residual = (ddu + 0.4 * du + 4 * u).square().mean()
        start = (height(torch.zeros(())) - 1).square() + speed(torch.zeros(1)).square().sum()
        loss = 0.1 * residual + start
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Tagged(torch.Tensor):
    """Images that carry where they came from."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, Tagged):
            out.origin = next((getattr(a, "origin", None) for a in args), None)
        return out


@training
def tensor_subclass(steps: int) -> list[float]:
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 4))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 4, noise=1.0)):
        tagged = x.as_subclass(Tagged)
        tagged.origin = "made up"
        logits = net(tagged)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.as_subclass(Tensor).item())
    return losses


@training
def hooks_of_the_users_own(steps: int) -> list[float]:
    """Hooks that read, scale and clamp, and one that clips while gradients accumulate."""
    net = nn.Sequential(
        nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 4)
    )
    norms: list[Tensor] = []
    seen: dict[str, float] = {}
    net[0].register_forward_pre_hook(lambda m, args: (args[0] * 0.5,))
    net[1].register_forward_hook(lambda m, args, out: seen.update(active=float((out > 0).sum())))
    net[2].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.9,))
    net[4].weight.register_hook(lambda g: g.clamp(-1, 1))
    net[0].weight.register_post_accumulate_grad_hook(lambda p: norms.append(p.grad.norm()))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: norms.clear())
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.update(steps=1.0))
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 4, noise=1.0)):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def optimiser_in_backward(steps: int) -> list[float]:
    """Each parameter has an optimiser of its own, which steps as soon as its gradient is there."""
    net = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 4))
    owners = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def step(p: Tensor) -> None:
        owners[p].step()
        owners[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    losses: list[float] = []
    for x, y in batches(steps, 32, *clusters(256, 12, 4, noise=1.0)):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        losses.append(loss.item())
    return losses


class Counting(TorchFunctionMode):
    """Counts calls, as a user's own profiler would."""

    calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return func(*args, **(kwargs or {}))


@training
def mode_and_compile(steps: int) -> list[float]:
    """A function mode of the user's own, and a step function that is compiled without code."""
    net = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 4))
    compiled = torch.compile(net, backend="eager")
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    losses: list[float] = []
    for step, (x, y) in enumerate(batches(steps, 32, *clusters(256, 12, 4, noise=1.0))):
        optimizer.zero_grad()
        if step < steps // 2:
            with Counting():
                loss = F.cross_entropy(net(x), y)
        else:
            loss = F.cross_entropy(compiled(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
