"""Training and evaluation in the wrong mode, and checkpoints that load nothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.faults.record import batches, classifier, clusters, confirm, fault


def train(net: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 20) -> None:
    for x, y in batches(steps, 32, *clusters(256, 10, 3)):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@fault("eval_in_train_mode")
def batch_norm_learns_from_the_validation(fault: bool) -> None:
    net = nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x, y = clusters(64, 10, 3)
    for _ in range(3):
        train(net.train(), optimizer, 8)
        before = net[1].running_mean.clone()
        if not fault:
            net.eval()
        with torch.inference_mode():
            logits = net(x)  # <- culprit
            accuracy = (logits.argmax(1) == y).float().mean().item()
    confirm(fault, not torch.equal(before, net[1].running_mean))


@fault("eval_in_train_mode")
def dropout_in_generation(fault: bool) -> None:
    """Text is sampled between the epochs without leaving train mode."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.drop = nn.Embedding(9, 16), nn.Dropout(0.5)
            self.gru, self.head = nn.GRU(16, 16, batch_first=True), nn.Linear(16, 9)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.gru(self.drop(self.embed(x)))[0])

        @torch.no_grad()
        def generate(self, start: Tensor) -> Tensor:
            for _ in range(4):
                logits = self(start)[:, -1]  # <- culprit
                start = torch.cat([start, logits.argmax(1, keepdim=True)], 1)
            return start

    net = Model()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(24):
        x = (torch.randint(9, (8, 1)) + torch.arange(6)) % 9
        loss = F.cross_entropy(net(x[:, :-1]).transpose(1, 2), x[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 7:
            net.train(fault)
            texts = net.generate(torch.zeros(32, 1, dtype=torch.long))
            net.train()
    confirm(fault, not (texts == texts[0]).all())


@fault("functional_dropout_in_eval")
def dropout_of_channels_always(fault: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 8, 3), nn.Linear(8, 3)

        def forward(self, x: Tensor) -> Tensor:
            h = F.relu(self.conv(x))
            if fault:
                h = F.dropout2d(h, 0.3)  # <- culprit
            else:
                h = F.dropout2d(h, 0.3, self.training)
            return self.head(h.mean((2, 3)))

    validated(Net(), fault, torch.randn(16, 1, 6, 6))


@fault("functional_dropout_in_eval")
def dropout_in_attention_always(fault: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.head = nn.Linear(6, 18), nn.Linear(6, 3)

        def forward(self, x: Tensor) -> Tensor:
            q, k, v = self.qkv(x).chunk(3, -1)
            if fault:
                h = F.scaled_dot_product_attention(q, k, v, dropout_p=0.2)  # <- culprit
            else:
                p = 0.2 if self.training else 0.0
                h = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
            return self.head(h.mean(1))

    validated(Net(), fault, torch.randn(16, 5, 6))


@fault("functional_dropout_in_eval")
def dropout_module_always(fault: bool) -> None:
    """A dropout module of the user's own that forgets to ask for its mode."""

    class Drop(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if fault:
                return F.dropout(x, 0.2)  # <- culprit
            return F.dropout(x, 0.2, training=self.training)

    net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), Drop(), nn.Linear(24, 3))
    validated(net, fault, torch.randn(16, 6))


def validated(net: nn.Module, fault: bool, x: Tensor) -> None:
    """Train a little, then validate twice in eval mode."""
    y = x.flatten(1)[:, :3].argmax(1)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(15):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        once, again = net(x), net(x)
    confirm(fault, not torch.equal(once, again))


@fault("train_mode_not_restored", "eval_in_train_mode")
def never_back_to_training(fault: bool) -> None:
    """Validation sets eval mode; from the second epoch on nothing is dropped any more."""
    net = classifier()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    x, y = clusters(64, 10, 3)
    for _ in range(4):
        train(net, optimizer, 10)
        net.eval()  # <- culprit
        with torch.no_grad():
            accuracy = (net(x).argmax(1) == y).float().mean().item()
        if not fault:
            net.train()
    confirm(fault, not net.training)


@fault("load_matched_nothing")
def checkpoint_of_a_compiled_model(fault: bool) -> None:
    """Keys begin with ``_orig_mod.``; ``strict=False`` hides that none fits."""
    source, net = classifier(), classifier()
    state = {f"_orig_mod.{key}": value.clone() for key, value in source.state_dict().items()}
    if not fault:
        state = {key[len("_orig_mod.") :]: value for key, value in state.items()}
    net.load_state_dict(state, strict=False)  # <- culprit
    confirm(fault, not torch.equal(net[0].weight, source[0].weight))


@fault("load_matched_nothing")
def checkpoint_in_a_checkpoint(fault: bool) -> None:
    """The weights are one level deeper than they are looked for."""
    source, net = classifier(), classifier()
    saved = {"epoch": 3, "model": source.state_dict(), "optimizer": {}}
    state = saved if fault else saved["model"]
    missing = net.load_state_dict(state, strict=False)  # <- culprit
    confirm(fault, len(missing.missing_keys) == 4)
