"""Reinforcement learning: the data come from the model, and the loss need not fall."""

from __future__ import annotations

import copy
import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import training


@training
def reinforce(steps: int) -> list[float]:
    """Policy gradient with a learnt baseline and normalised returns: the loss has no trend."""
    policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    value = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=5e-3)
    losses: list[float] = []
    for _ in range(steps):
        state, log_probs, rewards, states = torch.randn(8, 2), [], [], []
        for _ in range(4):
            chosen = torch.distributions.Categorical(logits=policy(state))
            action = chosen.sample()
            log_probs.append(chosen.log_prob(action))
            states.append(state)
            state = state * 0.9 + 0.3 * (action[:, None] * 2 - 1) + 0.05 * torch.randn(8, 2)
            rewards.append(-state.square().sum(1))
        back, returns = torch.zeros(8), []
        for reward in reversed(rewards):
            back = reward + 0.95 * back
            returns.append(back)
        gain = torch.stack(returns[::-1])
        baseline = value(torch.stack(states)).squeeze(-1)
        gain_unit = (gain - gain.mean()) / (gain.std() + 1e-6)
        advantage = (gain_unit - baseline).detach()
        loss = -(torch.stack(log_probs) * advantage).mean() + F.mse_loss(baseline, gain_unit)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def dqn(steps: int) -> list[float]:
    """A replay memory and a target network under no_grad, moved by Polyak averaging."""
    q = nn.Sequential(nn.Linear(2, 24), nn.ReLU(), nn.Linear(24, 3))
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=2e-3)
    memory: deque[tuple[Tensor, int, Tensor, Tensor]] = deque(maxlen=500)
    state = torch.randn(2)
    losses: list[float] = []
    while len(losses) < steps:
        with torch.no_grad():
            explore = random.random() < max(0.1, 1 - len(losses) / 100)
            action = random.randrange(3) if explore else int(q(state).argmax())
        after = (state + 0.3 * (action - 1)).clamp(-3, 3) + 0.05 * torch.randn(2)
        memory.append((state, action, -after.abs().sum(), after))
        state = torch.randn(2) if random.random() < 0.1 else after
        if len(memory) < 32:
            continue
        s, a, r, n = zip(*random.sample(memory, 32))
        chosen = q(torch.stack(s)).gather(1, torch.tensor(a)[:, None]).squeeze(1)
        with torch.no_grad():
            wanted = torch.stack(r) + 0.8 * target(torch.stack(n)).max(1).values
        loss = F.smooth_l1_loss(chosen, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), q.parameters()):
                old.mul_(0.98).add_(new, alpha=0.02)
        losses.append(loss.item())
    return losses


@training
def actor_critic(steps: int) -> list[float]:
    """Continuous actions squashed by tanh, two critics and a temperature of its own."""
    actor = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))
    critics = nn.ModuleList(
        nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 1)) for _ in range(2)
    )
    log_alpha = torch.zeros((), requires_grad=True)
    for_actor = torch.optim.Adam(actor.parameters(), lr=1e-3)
    for_critics = torch.optim.Adam(critics.parameters(), lr=2e-3)
    for_alpha = torch.optim.Adam([log_alpha], lr=3e-3)
    losses: list[float] = []

    def act(s: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = actor(s).chunk(2, dim=-1)
        raw = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        u = raw.rsample()
        log_p = raw.log_prob(u) - 2 * (0.6931 - u - F.softplus(-2 * u))
        return torch.tanh(u), log_p

    for _ in range(steps):
        s = torch.randn(32, 3)
        a = torch.rand(32, 1) * 2 - 1
        reward = -(a - 0.5 * torch.tanh(s[:, :1])).square()
        q = [critic(torch.cat([s, a], 1)) for critic in critics]
        loss = sum(F.mse_loss(value, reward) for value in q)
        for_critics.zero_grad()
        loss.backward()
        for_critics.step()

        own, log_p = act(s)
        least = torch.min(*(critic(torch.cat([s, own], 1)) for critic in critics))
        actor_loss = (log_alpha.exp().detach() * 0.1 * log_p - least).mean()
        for_actor.zero_grad()
        actor_loss.backward()
        for_actor.step()

        alpha_loss = -(log_alpha * (log_p.detach() - 1).mean())
        for_alpha.zero_grad()
        alpha_loss.backward()
        for_alpha.step()
        losses.append(loss.item())
    return losses
