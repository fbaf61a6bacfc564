"""Training programs that do nothing wrong, of many kinds. Each returns what it computed.

``PROGRAMS`` maps a name to a function of the number of steps. Read by the tests that compare a run
under the watch with one without it, bit by bit.
"""

from __future__ import annotations

import copy
from typing import Any, Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Program = Callable[[int], "list[Any]"]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def train(
    net: nn.Module,
    batch: Callable[[], tuple[Any, ...]],
    steps: int,
    loss_of: Callable[..., Tensor] | None = None,
    **adam: Any,
) -> list[Any]:
    """Train ``net`` with Adam; return all losses and the final parameters."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, **adam)
    losses: list[Any] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(net, *batch()) if loss_of else net(*batch()).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in net.parameters())]


@program
def inplace_relu(steps: int) -> list[Any]:
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(16, 1))
    return train(net, lambda: (torch.randn(8, 6),), steps)


@program
def convolutions(steps: int) -> list[Any]:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.Dropout2d(0.2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip

    def loss_of(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(net(x), y, label_smoothing=0.1)

    return train(
        net, lambda: (torch.randn(4, 3, 8, 8), torch.randint(4, (4,))), steps, loss_of, foreach=True
    )


@program
def checkpointed(steps: int) -> list[Any]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.ReLU())
            self.b = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU())

        def forward(self, x: Tensor) -> Tensor:
            x = checkpoint(self.a, x, use_reentrant=False)
            x = checkpoint(self.b, x, use_reentrant=True)
            return checkpoint(self.b, x, use_reentrant=False, preserve_rng_state=False)

    return train(Net(), lambda: (torch.randn(8, 6),), steps)


@program
def tied_weights(steps: int) -> list[Any]:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(11, 8, padding_idx=0)
            self.mix = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.2))
            self.out = nn.Linear(8, 11, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.mix(self.embed(x)))

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        return F.cross_entropy(net(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    return train(Tied(), lambda: (torch.randint(11, (4, 6)),), steps, loss_of)


@program
def hooks_of_the_users_own(steps: int) -> list[Any]:
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
    log: list[Any] = []
    net[0].register_forward_pre_hook(lambda m, args: (args[0] * 1.5,))
    net[1].register_forward_hook(lambda m, args, out: out + 0.1)
    net[3].register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.5,))
    net[0].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    net[0].weight.register_hook(lambda g: g.clamp(-0.5, 0.5))
    net[3].weight.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.norm()))

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        hidden = net[2](net[1](net[0](x)))
        hidden.retain_grad()
        hidden.register_hook(lambda g: log.append(g.clone()))
        out = net[3](hidden)
        out.grad_fn.register_prehook(lambda g: (g[0] * 1.1,))
        out.grad_fn.register_hook(lambda gi, go: log.append(len(gi)))
        torch.autograd.graph.register_multi_grad_hook(
            (hidden, out), lambda grads: log.append([g is None for g in grads])
        )
        return out.square().mean()

    return train(net, lambda: (torch.randn(8, 6),), steps, loss_of) + log


@program
def bfloat16_autocast(steps: int) -> list[Any]:
    net = nn.Sequential(
        nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(), nn.Linear(16, 4)
    )

    def loss_of(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.cross_entropy(net(x), y)

    return train(net, lambda: (torch.randn(8, 6), torch.randint(4, (8,))), steps, loss_of)


@program
def gradient_scaler(steps: int) -> list[Any]:
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=3)
    for _ in range(steps):
        optimizer.zero_grad()
        scaler.scale(net(torch.randn(8, 4)).square().mean() * 100).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return [*(p.detach() for p in net.parameters()), scaler.get_scale()]


@program
def transformer(steps: int) -> list[Any]:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
    net = nn.TransformerEncoder(layer, 2, enable_nested_tensor=True)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        return net(x, src_key_padding_mask=padding)[~padding].square().mean()

    done = train(net, lambda: (torch.randn(2, 5, 8),), steps, loss_of)
    net.eval()
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        fused = net(x, src_key_padding_mask=padding)
    with torch.inference_mode():
        done += [
            fused,
            net(x).clone(),
            net.layers[0](x).clone(),
            net.layers[0].self_attn(x, x, x)[0],
        ]
    return done


@program
def attention_with_masks(steps: int) -> list[Any]:
    net = nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)
    causal = nn.Transformer.generate_square_subsequent_mask(5)

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        out, weights = net(x, x, x, attn_mask=causal, is_causal=False)
        q = out.view(2, 5, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q, is_causal=True).mean() + weights.mean()

    return train(net, lambda: (torch.randn(2, 5, 8),), steps, loss_of)


@program
def recurrent(steps: int) -> list[Any]:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(4, 6, num_layers=2, dropout=0.2, batch_first=True)
            self.lstm = nn.LSTM(6, 5, bidirectional=True, proj_size=3, batch_first=True)
            self.cell = nn.GRUCell(6, 6)

        def forward(self, x: Tensor) -> Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]), batch_first=True)
            out, _ = self.gru(packed)
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
            out, (h, _) = self.lstm(out)
            state = torch.zeros(2, 6)
            for t in range(out.shape[1]):
                state = self.cell(out[:, t], state)
            return state + h.mean()

    return train(Net(), lambda: (torch.randn(2, 5, 4),), steps)


@program
def adversarial(steps: int) -> list[Any]:
    make = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 2))
    judge = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 1))
    for_make = torch.optim.AdamW(make.parameters(), lr=1e-3)
    for_judge = torch.optim.RMSprop(judge.parameters(), lr=1e-3)
    losses: list[Any] = []
    for _ in range(steps):
        real, fake = torch.randn(8, 2), make(torch.randn(8, 3))
        for_judge.zero_grad()
        d_real, d_fake = judge(real), judge(fake.detach())
        loss = F.binary_cross_entropy_with_logits(d_real, torch.ones_like(d_real))
        loss = loss + F.binary_cross_entropy(d_fake.sigmoid(), torch.zeros_like(d_fake))
        t = torch.rand(8, 1)
        between = (t * real + (1 - t) * fake.detach()).requires_grad_()
        (slope,) = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
        loss = loss + 10 * (slope.norm(dim=1) - 1).square().mean()
        loss.backward()
        for_judge.step()
        for_make.zero_grad()
        g_loss = -judge(fake).mean()
        g_loss.backward()
        for_make.step()
        losses += [loss.detach(), g_loss.detach()]
    return losses


@program
def accumulation_and_average(steps: int) -> list[Any]:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
    mean = copy.deepcopy(net).requires_grad_(False)
    averaged = torch.optim.swa_utils.AveragedModel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=max(steps, 2))
    losses: list[Any] = []
    for step in range(steps):
        loss = net(torch.randn(4, 4)).square().mean() / 3
        loss.backward()
        losses.append(loss.detach())
        if step % 3 == 2:
            nn.utils.clip_grad_value_(net.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            with torch.no_grad():
                for p, m in zip(net.parameters(), mean.parameters()):
                    m.mul_(0.9).add_(p, alpha=0.1)
            averaged.update_parameters(net)
        schedule.step()
    return [*losses, *(p for p in mean.parameters()), *(p.detach() for p in averaged.parameters())]


@program
def lbfgs(steps: int) -> list[Any]:
    w = torch.randn(5, requires_grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=4, line_search_fn="strong_wolfe")
    target, losses = torch.randn(5), []

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (w.sin() - target).square().sum()
        loss.backward()
        return loss

    for _ in range(min(steps, 12)):
        losses.append(optimizer.step(closure).detach())
    return [*losses, w.detach()]


@program
def reinforce(steps: int) -> list[Any]:
    net = nn.Linear(4, 3)
    allowed = torch.tensor([True, True, False])

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        logits = net(x).masked_fill(~allowed, -torch.inf)
        policy = torch.distributions.Categorical(logits=logits)
        action = policy.sample()
        return -(policy.log_prob(action) * x.sum(1)).mean() - 0.01 * policy.entropy().mean()

    return train(net, lambda: (torch.randn(8, 4),), steps, loss_of)


@program
def variational(steps: int) -> list[Any]:
    class Vae(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inward, self.outward = nn.Linear(4, 6), nn.Linear(3, 4)

        def forward(self, x: Tensor) -> Tensor:
            mean, logvar = self.inward(x).chunk(2, -1)
            z = torch.distributions.Normal(mean, (logvar / 2).exp()).rsample()
            kl = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum(-1).mean()
            return F.mse_loss(self.outward(z), x) + kl

    return train(Vae(), lambda: (torch.randn(8, 4),), steps, lambda net, x: net(x))


@program
def graph_convolution(steps: int) -> list[Any]:
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 0, 0, 3]])
    net = nn.Linear(4, 2)

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        row, col = edges
        degree = torch.zeros(6).scatter_add_(0, row, torch.ones(5))
        scale = degree.pow(-0.5)
        scale.masked_fill_(scale == float("inf"), 0)
        messages = net(x)[col] * (scale[row] * scale[col]).unsqueeze(1)
        out = torch.zeros(6, 2).index_add(0, row, messages)
        best = torch.full((6, 2), -torch.inf).scatter_reduce(
            0, row[:, None].expand(-1, 2), messages, "amax"
        )
        return out.square().mean() + best[torch.isfinite(best)].mean()

    return train(net, lambda: (torch.randn(6, 4),), steps, loss_of)


@program
def ctc(steps: int) -> list[Any]:
    net = nn.Conv1d(3, 5, 3, padding=1)

    def loss_of(net: nn.Module, x: Tensor) -> Tensor:
        logp = net(x).permute(2, 0, 1).log_softmax(-1)
        lengths = torch.tensor([7, 7])
        targets = torch.tensor([[1, 2, 3], [4, 4, 1]])
        return F.ctc_loss(logp, targets, lengths, torch.tensor([3, 3]), zero_infinity=True)

    return train(net, lambda: (torch.randn(2, 3, 7),), steps, loss_of)


@program
def normalised_weights(steps: int) -> list[Any]:
    from torch.nn.utils import parametrizations

    net = nn.Sequential(
        parametrizations.weight_norm(nn.Linear(4, 6)),
        nn.Softplus(),
        parametrizations.spectral_norm(nn.Linear(6, 6)),
        nn.SiLU(),
        parametrizations.orthogonal(nn.Linear(6, 2)),
        nn.LazyLinear(2),
    )
    net(torch.zeros(1, 4))
    return train(net, lambda: (torch.randn(8, 4),), steps)


@program
def loader_batches(steps: int) -> list[Any]:
    data = torch.utils.data.TensorDataset(torch.randn(4 * steps, 4), torch.randint(3, (4 * steps,)))

    def batches() -> Iterator[Any]:
        while True:
            yield from torch.utils.data.DataLoader(data, 4, shuffle=True)

    stream = batches()

    def loss_of(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(net(x), y)

    return train(nn.Linear(4, 3), lambda: tuple(next(stream)), steps, loss_of)
