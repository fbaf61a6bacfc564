"""Trainings in which all is as it is meant, although it looks like the faults beside it."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.stalled.parts import Net, Program, batch, descend, train

HEALTHY: dict[str, Program] = {}


def healthy(program: Program) -> Program:
    HEALTHY[program.__name__] = program
    return program


def sgd(*modules: nn.Module, lr: float = 0.1) -> torch.optim.SGD:
    return torch.optim.SGD([p for m in modules for p in m.parameters()], lr=lr)


# -- owned by nobody, or by somebody else ---------------------------------------------------------


@healthy
def head_only() -> None:
    net = Net()
    train(net, sgd(net.head))


@healthy
def biases_only() -> None:
    net = Net()
    train(net, torch.optim.SGD([net.body.bias, net.head.bias], lr=0.1))


@healthy
def manual_descent() -> None:
    net = Net()
    for _ in range(8):
        x, y = batch()
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad  # type: ignore[operator]


@healthy
def half_by_hand() -> None:
    """The head is owned, the body is moved through ``data``, which no version counter sees."""
    net = Net()
    optimizer = sgd(net.head)
    for _ in range(8):
        x, y = batch()
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        for p in net.body.parameters():
            p.data -= 0.1 * p.grad  # type: ignore[operator]


class Descent:
    """An optimiser that is none of torch's."""

    def __init__(self, parameters: Any) -> None:
        self.parameters = list(parameters)

    def zero_grad(self) -> None:
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for p in self.parameters:
            if p.grad is not None:
                p.sub_(p.grad, alpha=0.1)


@healthy
def optimizers_of_two_kinds() -> None:
    net = Net()
    train(net, sgd(net.body), Descent(net.head.parameters()))


@healthy
def optimizer_from_before() -> None:
    """One optimiser is found although it was not built while armed: it is looked up."""
    net = Net()
    both = [sgd(net.body), sgd(net.head)]
    train(net, *both)


@healthy
def second_optimizer_later() -> None:
    net = Net()
    first = sgd(net.head)
    train(net, first)
    train(net, first, sgd(net.body, lr=0.01))


@healthy
def group_added_with_the_module() -> None:
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
    optimizer = sgd(net)
    net.add_module("out", nn.Linear(12, 3))
    optimizer.add_param_group({"params": net[2].parameters()})
    train(net, optimizer)


@healthy
def fixed_judge() -> None:
    """A perceptual loss: the network behind it is in evaluation mode, gradients pass through."""
    net, judge = Net(), nn.Linear(3, 4).eval()
    optimizer = sgd(net)
    for _ in range(8):
        x, _ = batch()
        descend(judge(net(x)).square().mean(), optimizer)


@healthy
def optimised_input() -> None:
    net, image = Net(), nn.Parameter(torch.randn(4, 6))
    optimizer = torch.optim.Adam([image], lr=0.1)
    for _ in range(8):
        descend(net(image).square().mean(), optimizer)


@healthy
def coordinates_with_gradients() -> None:
    """A physics-informed net: the points need gradients, and stay where they are."""
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    points = torch.linspace(0, 1, 16)[:, None].requires_grad_()
    optimizer = sgd(net)
    for _ in range(8):
        u = net(points)
        (du,) = torch.autograd.grad(u.sum(), points, create_graph=True)
        descend((du + u).square().mean(), optimizer)


@healthy
def registered_and_listed() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)
            self.order = [self.first, self.second]

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.order:
                x = layer(x)
            return x

    net = Both()
    train(net, sgd(net))


@healthy
def adversary() -> None:
    maker, judge = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    for_maker, for_judge = sgd(maker), sgd(judge)
    for step in range(12):
        fake = maker(torch.randn(8, 3))
        d_loss = F.softplus(judge(fake.detach())).mean() + F.softplus(-judge(batch()[0])).mean()
        descend(d_loss, for_judge)
        if step % 4 == 3:
            descend(F.softplus(-judge(maker(torch.randn(8, 3)))).mean(), for_maker)


@healthy
def functional_call() -> None:
    net = Net()
    optimizer = sgd(net)
    weights = dict(net.named_parameters())
    train(lambda x: torch.func.functional_call(net, weights, (x,)), optimizer)


@healthy
def inner_loop() -> None:
    """MAML: fast weights are made anew in every step."""
    net = nn.Linear(6, 1)
    optimizer = sgd(net)
    for _ in range(8):
        x, y = torch.randn(8, 6), torch.randn(8, 1)
        fast = dict(net.named_parameters())
        loss = F.mse_loss(torch.func.functional_call(net, fast, (x,)), y)
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
        fast = {k: w - 0.1 * g for (k, w), g in zip(fast.items(), grads)}
        descend(F.mse_loss(torch.func.functional_call(net, fast, (x,)), y), optimizer)


# -- without a gradient ---------------------------------------------------------------------------


@healthy
def target_network() -> None:
    """Owned by the same optimiser as the online one, run under ``no_grad``, copied at times."""

    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
            self.target = copy.deepcopy(self.online)

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                goal = self.target(x).max(1).values
            return F.smooth_l1_loss(self.online(x).max(1).values, 0.9 * goal + 1)

    agent = Agent()
    optimizer = torch.optim.SGD(agent.parameters(), lr=0.1)
    for _ in range(12):
        descend(agent(batch()[0]), optimizer)
    agent.target.load_state_dict(agent.online.state_dict())


@healthy
def body_warms_up_late() -> None:
    net = Net()
    optimizer = sgd(net)
    for step in range(30):
        x, y = batch()
        with torch.no_grad() if step < 25 else contextlib.nullcontext():
            h = torch.tanh(net.body(x))
        descend(F.cross_entropy(net.head(h), y), optimizer)


@healthy
def stops_the_gradient_by_switch() -> None:
    class Switched(Net):
        def __init__(self, *, freeze_body: bool) -> None:
            super().__init__()
            self.freeze_body = freeze_body

        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.body(x))
            if self.freeze_body:
                h = h.detach()
            return self.head(h)

    net = Switched(freeze_body=True)
    train(net, sgd(net))


@healthy
def unused_pooler() -> None:
    """A part whose output nobody needs in this task, though it is computed."""

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.pooler = nn.Linear(6, 12), nn.Linear(12, 12)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            h = torch.tanh(self.body(x))
            return h, torch.tanh(self.pooler(h))

    encoder, head = Encoder(), nn.Linear(12, 3)
    train(lambda x: head(encoder(x)[0]), sgd(encoder, head), steps=24)


@healthy
def accuracy_is_logged() -> None:
    """``argmax`` and ``item`` of an output that has a loss of its own later on."""
    net, probe = Net(), nn.Linear(6, 3)
    optimizer = sgd(net, probe)
    right: list[float] = []
    for step in range(24):
        x, y = batch()
        scores = probe(x)
        right.append((scores.argmax(1) == y).float().mean().item())
        loss = F.cross_entropy(net(x), y)
        if step >= 12:
            loss = loss + F.cross_entropy(scores, y)
        descend(loss, optimizer)


@healthy
def probe_is_only_measured() -> None:
    net, probe = Net(), nn.Linear(6, 3)
    optimizer = sgd(net, probe)
    for _ in range(12):
        x, y = batch()
        accuracy = (probe(x).argmax(1) == y).float().mean()
        descend(F.cross_entropy(net(x), y), optimizer)
        assert accuracy >= 0


@healthy
def experts_that_idle() -> None:
    class Mixture(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(6, 3) for _ in range(4))

        def forward(self, x: Tensor) -> Tensor:
            return self.experts[0](x) + self.experts[1](x)

    net = Mixture()
    train(net, sgd(net), steps=24)


@healthy
def straight_through() -> None:
    coder, head = nn.Linear(6, 12), nn.Linear(12, 3)

    def model(x: Tensor) -> Tensor:
        h = coder(x)
        return head(h + (h.round() - h).detach())

    train(model, sgd(coder, head))


@healthy
def one_loss_of_several() -> None:
    """Tasks take turns: each head goes without gradients for a while."""
    body, heads = nn.Linear(6, 12), nn.ModuleDict({"a": nn.Linear(12, 3), "b": nn.Linear(12, 3)})
    optimizer = sgd(body, heads)
    for step in range(40):
        x, y = batch()
        descend(F.cross_entropy(heads["a" if step // 10 % 2 else "b"](body(x)), y), optimizer)


@healthy
def siamese_with_a_stop() -> None:
    net, predictor = nn.Linear(6, 8), nn.Linear(8, 8)
    optimizer = sgd(net, predictor)
    for _ in range(8):
        one, two = net(batch()[0]), net(batch()[0])
        descend(-F.cosine_similarity(predictor(one), two.detach()).mean(), optimizer)


@healthy
def codebook_moved_by_averages() -> None:
    net = nn.ModuleDict(
        {"enc": nn.Linear(6, 4), "codes": nn.Embedding(8, 4), "dec": nn.Linear(4, 6)}
    )
    optimizer = sgd(net)
    for _ in range(8):
        x, _ = batch()
        z = net["enc"](x)
        index = torch.cdist(z.detach(), net["codes"].weight.detach()).argmin(1)
        quantised = net["codes"](index).detach()
        descend(F.mse_loss(net["dec"](z + (quantised - z).detach()), x), optimizer)
        net["codes"].weight.data.mul_(0.99).add_(0.01 * z.detach().mean(0))


@healthy
def closure() -> None:
    net = Net()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
    x, y = batch()

    def evaluate() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(evaluate)


@healthy
def reset_after_the_step() -> None:
    net = Net()
    optimizer = sgd(net)
    for _ in range(8):
        x, y = batch()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


@healthy
def accumulation() -> None:
    net = Net()
    optimizer = sgd(net)
    for step in range(24):
        x, y = batch()
        (F.cross_entropy(net(x), y) / 4).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


# -- frozen ---------------------------------------------------------------------------------------


@healthy
def frozen_before() -> None:
    net = Net()
    net.body.requires_grad_(False)
    train(net, sgd(net), steps=12)


@healthy
def frozen_after() -> None:
    net = Net()
    optimizer = sgd(net)
    train(net, optimizer)
    net.body.requires_grad_(False)
    train(net, optimizer, steps=12)


@healthy
def thawed_in_phase_two() -> None:
    net = Net()
    optimizer = sgd(net)
    for phase in (1, 2):
        for p in net.body.parameters():
            p.requires_grad_(phase == 2)
        train(net, optimizer, steps=5)


@healthy
def norms_frozen_each_epoch() -> None:
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    optimizer = sgd(net)
    for _ in range(4):
        net.train()
        net[1].eval().requires_grad_(False)
        train(net, optimizer, steps=5)


@healthy
def frozen_each_epoch() -> None:
    net = Net()
    optimizer = sgd(net)
    for _ in range(4):
        net.body.requires_grad_(False)
        train(net, optimizer, steps=5)


@healthy
def switched_for_the_adversary() -> None:
    maker, judge = nn.Linear(3, 6), nn.Linear(6, 1)
    for_maker, for_judge = sgd(maker), sgd(judge)
    for _ in range(10):
        judge.requires_grad_(True)
        fake = maker(torch.randn(8, 3))
        descend(F.softplus(judge(fake.detach())).mean(), for_judge)
        judge.requires_grad_(False)
        descend(F.softplus(-judge(fake)).mean(), for_maker)


# -- small updates --------------------------------------------------------------------------------


@healthy
def warm_up_from_zero() -> None:
    net = Net()
    optimizer = sgd(net)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 30))
    for _ in range(30):
        train(net, optimizer, steps=1)
        schedule.step()


@healthy
def long_warm_up_in_bfloat16() -> None:
    net = Net().bfloat16()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1e-6, total_iters=1000)
    for _ in range(44):
        train(lambda x: net(x.bfloat16()).float(), optimizer, steps=1)
        schedule.step()


@healthy
def converged_but_for_noise() -> None:
    """A linear fit at its optimum: gradients of 1e-8 move nothing any more."""
    x = torch.randn(32, 3)
    y = x @ torch.tensor([1.0, -2.0, 3.0]) + 0.1 * torch.randn(32)
    weight = nn.Parameter(torch.zeros(3))
    optimizer = torch.optim.SGD([weight], lr=0.3)
    for _ in range(100):
        descend((x @ weight - y).square().mean(), optimizer)


@healthy
def cosine_to_the_end() -> None:
    net = Net()
    optimizer = sgd(net)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)
    for _ in range(30):
        train(net, optimizer, steps=1)
        schedule.step()


@healthy
def bias_before_a_norm() -> None:
    """Its gradient is made of rounding errors; all others learn."""
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
    train(net, sgd(net, lr=0.01), steps=24)


@healthy
def bfloat16_that_learns() -> None:
    net = Net().bfloat16()
    train(lambda x: net(x.bfloat16()).float(), sgd(net), steps=24)


@healthy
def converged() -> None:
    """Nothing moves any more once the solution is found, to the last bit."""
    weight = nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    for _ in range(60):
        descend((weight - torch.ones(4)).square().mean(), optimizer)


@healthy
def hidden_state_with_gradients() -> None:
    """``grad`` is read of an intermediate result that keeps it."""
    net = Net()
    optimizer = sgd(net)
    for _ in range(4):
        x, y = batch()
        h = torch.tanh(net.body(x))
        h.retain_grad()
        loss = F.cross_entropy(net.head(h), y)
        optimizer.zero_grad()
        loss.backward()
        assert h.grad is not None
        optimizer.step()


@healthy
def part_of_the_inputs_is_unused() -> None:
    """``allow_unused`` for what does not take part by design."""
    net, other = Net(), nn.Linear(6, 3)
    parameters = [*net.parameters(), *other.parameters()]
    for _ in range(4):
        x, y = batch()
        shown = other(x).argmax(1)
        torch.autograd.grad(F.cross_entropy(net(x), y), parameters, allow_unused=True)
        assert shown.shape == y.shape


@healthy
def samples_by_log_probability() -> None:
    """REINFORCE: what is drawn has no gradient, its log-probability has."""
    policy, value = nn.Linear(6, 3), nn.Linear(6, 1)
    optimizer = sgd(policy, value)
    for _ in range(8):
        x, _ = batch()
        choice = torch.distributions.Categorical(logits=policy(x))
        action = choice.sample()
        gain = (action == 1).float() - value(x).squeeze(1)
        loss = -(choice.log_prob(action) * gain.detach()).mean() + gain.square().mean()
        descend(loss, optimizer)
