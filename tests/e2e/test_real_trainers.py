"""The real accelerate and the real Trainer of transformers, where they are installed.

They are not among the development extras (`pip install accelerate transformers` brings 190 MB);
tests/programs/loops has small stand-ins that always run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("accelerate")

import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.runtime.watching import Host, watching_for
from zentracer.wire.filters import ALL

EVERY = tuple(f.id.split(".")[1] for f in ALL)


def assert_silent(host: Host) -> None:
    assert [hit.text for hit in host.hits] == []
    assert [advice.text for advice in host.advice] == []
    assert host.notices == []


# -- accelerate ------------------------------------------------------------------------------------


def with_accelerate(precision: str, every: int) -> tuple[list[list[float]], list[Any]]:
    """Train for two epochs; return the losses of each step, and the parameters."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(True)
    torch.manual_seed(0)
    accelerator = Accelerator(
        cpu=True, mixed_precision=precision, gradient_accumulation_steps=every
    )
    x = torch.randn(40, 6)
    data = DataLoader(TensorDataset(x, x[:, :3].argmax(1)), batch_size=8, shuffle=True)
    model: Any = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    optimizer: Any = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule: Any = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    losses: list[list[float]] = [[]]
    for _ in range(2):
        model.train()
        for inputs, labels in data:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(inputs), labels)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses[-1].append(loss.item() / every)
            if accelerator.sync_gradients:
                losses.append([])
        model.eval()
        with torch.no_grad():
            accelerator.gather_for_metrics(model(x[:8]).argmax(1))
    return losses[:-1], [p.detach() for p in model.parameters()]


@pytest.mark.parametrize(("precision", "every"), [("no", 1), ("no", 2), ("bf16", 1)])
def test_accelerate(precision: str, every: int) -> None:
    losses, parameters = with_accelerate(precision, every)
    with watching_for(*EVERY, advice=True) as host:
        again, changed = with_accelerate(precision, every)
    assert again == losses
    assert all(map(torch.equal, changed, parameters))
    assert [step.step for step in host.steps] == list(range(1, len(losses) + 1))
    assert [step.loss for step in host.steps] == pytest.approx([micro[-1] for micro in losses])
    assert_silent(host)


# -- transformers ----------------------------------------------------------------------------------


def with_trainer(folder: Path, every: int) -> list[list[float]]:
    """Train a tiny language model with evaluations in between; return the losses of each step."""
    from accelerate.state import AcceleratorState
    from transformers import (
        GPT2Config,
        GPT2LMHeadModel,
        Trainer,
        TrainerCallback,
        TrainingArguments,
        set_seed,
    )

    AcceleratorState._reset_state(True)
    set_seed(0)
    losses: list[list[float]] = [[]]

    class Recorder(TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            losses.append([])

    class Own(Trainer):
        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            loss = super().training_step(*args, **kwargs)
            losses[-1].append(loss.item())
            return loss

    size = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 12, "vocab_size": 19}
    model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=0, eos_token_id=0, pad_token_id=0))
    rows = (torch.randint(19, (48, 1)) + torch.arange(10)) % 19
    data = [{"input_ids": row, "labels": row} for row in rows]
    args = TrainingArguments(
        output_dir=str(folder), num_train_epochs=2, per_device_train_batch_size=8,
        gradient_accumulation_steps=every, learning_rate=5e-3, weight_decay=0.01,
        warmup_steps=2, eval_strategy="steps", eval_steps=3, logging_steps=2,
        save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    Own(
        model=model, args=args, train_dataset=data, eval_dataset=data[:8], callbacks=[Recorder()]
    ).train()
    return losses[:-1]


@pytest.mark.parametrize("every", [1, 2])
def test_trainer(tmp_path: Path, every: int) -> None:
    pytest.importorskip("transformers")
    losses = with_trainer(tmp_path, every)
    with watching_for(*EVERY, advice=True) as host:
        assert with_trainer(tmp_path, every) == losses
    assert len(losses) == 12 // every
    assert [step.step for step in host.steps] == list(range(1, len(losses) + 1))
    assert [step.loss for step in host.steps] == pytest.approx([micro[-1] for micro in losses])
    assert_silent(host)
