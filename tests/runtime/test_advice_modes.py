"""Advice on training and evaluation mode, and on loading."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, update_bn

from tests.runtime.advising import Programs

PROGRAMS = Programs()
X = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))
Y = (X.sum(1) > 0).long()
BATCHES = list(zip(X.split(8), Y.split(8)))


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))


def normed() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[float]:
    losses = []
    for x, y in BATCHES:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.01)


# -- evaluation in training mode ---------------------------------------------------------------


@PROGRAMS.gives("eval_in_train_mode")
def validation_loop_without_eval() -> list[float]:
    model, val_loader = normed(), BATCHES
    optimizer, out = sgd(model), []
    for _ in range(2):
        out += train_epoch(model, optimizer)
        with torch.no_grad():
            for x, y in val_loader:
                out.append(F.cross_entropy(model(x), y).item())  # <- here
    return out


@PROGRAMS.gives("eval_in_train_mode")
def accuracy_of_the_whole_set() -> list[float]:
    model = net()
    optimizer, out = sgd(model), []
    for _ in range(3):
        out += train_epoch(model, optimizer)
        with torch.inference_mode():
            accuracy = (model(X).argmax(1) == Y).float().mean()  # <- here
        out.append(accuracy.item())
    return out


@PROGRAMS.gives("eval_in_train_mode")
def eval_of_a_part_only() -> list[float]:
    model, test_loader, out = nn.Sequential(net(), nn.BatchNorm1d(2)), BATCHES, []
    model[0].eval()

    def predict(x: Tensor) -> Tensor:
        return model(x)  # <- here

    with torch.no_grad():
        for x, y in test_loader:
            out.append(F.cross_entropy(predict(x), y).item())
    return out


@PROGRAMS.silent
def validation_in_evaluation_mode() -> list[float]:
    model, val_loader = normed(), BATCHES
    optimizer, out = sgd(model), []
    for _ in range(5):
        model.train()
        out += train_epoch(model, optimizer)
        model.eval()
        with torch.no_grad():
            for x, y in val_loader:
                out.append(F.cross_entropy(model(x), y).item())
    return out


@PROGRAMS.silent
def fakes_for_the_critic() -> list[float]:
    generator, critic = normed(), nn.Linear(2, 1)
    g, d, out = sgd(generator), sgd(critic), []
    for _ in range(4):
        for x, _ in BATCHES:
            with torch.no_grad():
                fake = generator(x)
            d.zero_grad()
            loss = critic(fake).mean() - critic(torch.randn(8, 2)).mean()
            loss.backward()
            d.step()
        g.zero_grad()
        (-critic(generator(X)).mean()).backward()
        g.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def target_network() -> list[float]:
    policy, target = net(), net()
    target.load_state_dict(policy.state_dict())
    optimizer, out = sgd(policy), []
    for _ in range(4):
        for x, _ in BATCHES:
            with torch.no_grad():
                best = target(x).max(1, keepdim=True).values
            loss = F.smooth_l1_loss(policy(x), best.expand(-1, 2))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            out.append(loss.item())
    return out


@PROGRAMS.silent
def collecting_before_training() -> list[float]:
    policy, out = net(), []
    optimizer = sgd(policy)
    for _ in range(3):
        taken = []
        with torch.no_grad():
            for x, _ in BATCHES:
                taken.append(policy(x).argmax(1))
        out += train_epoch(policy, optimizer)
        out += [t.sum().item() for t in taken]
    return out


@PROGRAMS.silent
def statistics_of_averaged_weights() -> list[float]:
    model = normed()
    averaged, optimizer = AveragedModel(model), sgd(model)
    out = train_epoch(model, optimizer)
    averaged.update_parameters(model)
    update_bn(BATCHES, averaged)
    averaged.eval()
    with torch.no_grad():
        return [*out, averaged(X).sum().item()]


@PROGRAMS.silent
def statistics_by_hand() -> list[float]:
    model, val_loader = normed(), BATCHES
    out = train_epoch(model, sgd(model))
    with torch.no_grad():
        for x, _ in val_loader:
            model(x)
    return out


@PROGRAMS.silent
def sampling_with_dropout_on() -> list[float]:
    model = net()
    out = train_epoch(model, sgd(model))
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        predictions = torch.stack([model(X) for _ in range(5)])
    return [*out, predictions.std(0).mean().item()]


@PROGRAMS.silent
def sampling_in_training_mode() -> list[float]:
    model = net()
    out = train_epoch(model, sgd(model))

    def predict_distribution(x: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.stack([model(x) for _ in range(5)])

    return [*out, predict_distribution(X).std(0).mean().item()]


@PROGRAMS.silent
def a_try_before_training() -> list[float]:
    model = normed()
    with torch.no_grad():
        size = model(X).shape[1]
    return [size, *train_epoch(model, sgd(model))]


@PROGRAMS.silent
def nothing_differs_in_evaluation() -> list[float]:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.0), nn.LayerNorm(8), nn.Linear(8, 2))
    out = train_epoch(model, sgd(model))

    def validate() -> None:
        with torch.no_grad():
            for x, y in BATCHES:
                out.append(F.cross_entropy(model(x), y).item())

    validate()
    return out


@PROGRAMS.silent
def checkpointed_segments() -> list[float]:
    from torch.utils.checkpoint import checkpoint

    inner = nn.Sequential(nn.Dropout(0.1), nn.Linear(4, 2))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.inner = nn.Linear(4, 4), inner

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.inner, self.first(x), use_reentrant=True)

    model, out = Model(), []
    optimizer = sgd(model)
    for _ in range(3):
        for x, y in BATCHES:
            optimizer.zero_grad()
            logits = model(x)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            optimizer.step()
            accuracy = (logits.argmax(1) == y).float().mean()
            out += [loss.item(), accuracy.item()]
    return out


# -- training in evaluation mode ---------------------------------------------------------------


@PROGRAMS.gives("train_mode_not_restored")
def validation_leaves_the_model_in_eval() -> list[float]:
    model = net()
    optimizer, out = sgd(model), []
    model.train()
    for _ in range(3):
        out += train_epoch(model, optimizer)
        model.eval()  # <- here
        with torch.no_grad():
            out.append(F.cross_entropy(model(X), Y).item())
    return out


@PROGRAMS.gives("train_mode_not_restored")
def train_is_called_once_only() -> list[float]:
    model = normed()
    optimizer, out = sgd(model), []

    def score() -> float:
        model.eval()  # <- here
        with torch.no_grad():
            return F.cross_entropy(model(X), Y).item()

    for _ in range(4):
        out += train_epoch(model, optimizer)
        out.append(score())
    return out


@PROGRAMS.silent
def adapted_in_evaluation_mode_from_the_start() -> list[float]:
    model = normed().eval()
    optimizer, out = sgd(model), []
    for _ in range(3):
        out += train_epoch(model, optimizer)
        with torch.no_grad():
            out.append(F.cross_entropy(model(X), Y).item())
    return out


@PROGRAMS.silent
def frozen_batch_norm() -> list[float]:
    model = normed()
    optimizer, out = sgd(model), []
    for _ in range(3):
        model.train()
        model[1].eval()
        out += train_epoch(model, optimizer)
        model.eval()
        with torch.no_grad():
            out.append(F.cross_entropy(model(X), Y).item())
    return out


@PROGRAMS.silent
def attacks_in_evaluation_mode() -> list[float]:
    model = normed()
    optimizer, out = sgd(model), []
    for _ in range(4):
        model.eval()
        x = X.clone().requires_grad_()
        [gradient] = torch.autograd.grad(F.cross_entropy(model(x), Y), [x])
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X + 0.1 * gradient.sign()), Y)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


@PROGRAMS.silent
def eval_of_another_model() -> list[float]:
    model, teacher = net(), net()
    optimizer, out = sgd(model), train_epoch(teacher, sgd(net()))
    teacher.eval()
    for _ in range(5):
        with torch.no_grad():
            wanted = teacher(X).softmax(1)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X), wanted)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


# -- functional dropout ------------------------------------------------------------------------


class Functional(nn.Module):
    """A classifier that calls ``F.dropout``."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.inner, self.out, self.options = nn.Linear(4, 8), nn.Linear(8, 2), options

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.dropout(self.inner(x).relu(), 0.3, **self.options))


@PROGRAMS.gives("functional_dropout_in_eval")
def dropout_by_its_own_name() -> list[float]:
    from torch.nn.functional import dropout

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(dropout(x, 0.2))  # <- here

    model = Model()
    out = train_epoch(model, sgd(model))
    model.eval()
    with torch.no_grad():
        return [*out, model(X).sum().item(), model(X).sum().item()]


@PROGRAMS.gives("functional_dropout_in_eval")
def dropout_of_attention_by_its_attribute() -> list[float]:
    class Attention(nn.Module):
        p = 0.3

        def forward(self, x: Tensor) -> Tensor:
            q = x[None]
            return F.scaled_dot_product_attention(q, q, q, None, self.p)  # <- here

    model = Attention().eval()
    return [model(X).sum().item() for _ in range(3)]


@PROGRAMS.silent
def dropout_of_attention_that_is_chosen() -> list[float]:
    class Attention(nn.Module):
        p = 0.3

        def forward(self, x: Tensor, sample: bool = True) -> Tensor:
            q = x[None]
            drawn = F.scaled_dot_product_attention(q, q, q, dropout_p=self.p if sample else 0.0)
            p = self.p if self.training else 0.0
            return drawn + F.scaled_dot_product_attention(q, q, q, dropout_p=p)

    model = Attention().eval()
    return [model(X).sum().item() for _ in range(3)]


@PROGRAMS.silent
def dropout_that_is_said_to_be_on() -> list[float]:
    model = Functional(training=True).eval()
    return [model(X).sum().item()]


@PROGRAMS.silent
def dropout_in_training_only() -> list[float]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            x = self.inner(x)
            return F.dropout(x) if self.training else x

    model = Model()
    out = train_epoch(model, sgd(model))
    return [*out, model.eval()(X).sum().item()]


@PROGRAMS.silent
def dropout_for_sampling() -> list[float]:
    class BayesianNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            return F.dropout(self.inner(x), 0.1)

    model = BayesianNet().eval()
    return [model(X).sum().item() for _ in range(3)]


@PROGRAMS.silent
def augmentation_outside_any_module() -> list[float]:
    model = net().eval()
    return [model(F.dropout(X, 0.1)).sum().item()]


# -- loading -----------------------------------------------------------------------------------


@PROGRAMS.gives("load_matched_nothing")
def the_model_has_the_prefix() -> list[float]:
    saved, model = net().state_dict(), nn.ModuleDict({"backbone": net()})
    model.load_state_dict(saved, strict=False)  # <- here
    return [model["backbone"](X).sum().item()]


@PROGRAMS.gives("load_matched_nothing")
def saved_after_compile() -> list[float]:
    saved = {f"_orig_mod.{k}": v for k, v in net().state_dict().items()}
    saved["3.bias"] = torch.zeros(2)
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(12)])
    model.load_state_dict({k: v for k, v in saved.items() if "bias" not in k}, False)  # <- here
    return [model(X).sum().item()]


@PROGRAMS.silent
def a_new_head() -> list[float]:
    saved, model = net().state_dict(), net()
    saved = {k: v for k, v in saved.items() if not k.startswith("3")}
    model.load_state_dict({**saved, "head.weight": torch.zeros(9)}, strict=False)
    return [model(X).sum().item()]


@PROGRAMS.silent
def adapters_only() -> list[float]:
    model = nn.ModuleDict({"base": net(), "adapter": nn.Linear(4, 4)})
    model.load_state_dict({"adapter.weight": torch.eye(4)}, strict=False)
    return [model["adapter"](X).sum().item()]


@PROGRAMS.silent
def a_part_of_a_checkpoint() -> list[float]:
    whole = nn.ModuleDict({"encoder": net(), "decoder": net()}).state_dict()
    model = nn.ModuleDict({"encoder": net()})
    model.load_state_dict(whole, strict=False)
    return [model["encoder"](X).sum().item()]


@pytest.mark.parametrize("name", PROGRAMS.faulty)
def test_fault_is_told(name: str) -> None:
    PROGRAMS.check_faulty(name)


@pytest.mark.parametrize("name", PROGRAMS.healthy)
def test_healthy_is_silent(name: str) -> None:
    PROGRAMS.check_healthy(name)
