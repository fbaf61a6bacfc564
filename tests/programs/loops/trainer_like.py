"""A stand-in for the Trainer of transformers: arguments, callbacks, evaluation every few steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from tests.programs.loops.record import Taken, loop


@dataclass
class TrainingArguments:
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 1
    num_train_epochs: int = 2
    max_steps: int = -1
    learning_rate: float = 1e-2
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    warmup_steps: int = 2
    eval_steps: int = 3
    logging_steps: int = 2


@dataclass
class TrainerState:
    epoch: float = 0.0
    global_step: int = 0
    log_history: list[dict[str, float]] = field(default_factory=list)


class Output(dict):
    """What a model returns: a dictionary whose entries are attributes too."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


class TrainerCallback:
    def on_step_end(self, state: TrainerState) -> None: ...

    def on_epoch_begin(self, state: TrainerState) -> None: ...


class Trainer:
    def __init__(
        self,
        model: nn.Module,
        args: TrainingArguments,
        train_dataset: Dataset[Any],
        eval_dataset: Dataset[Any],
        callbacks: list[TrainerCallback],
    ) -> None:
        self.model, self.args, self.callbacks = model, args, callbacks
        self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
        self.state = TrainerState()

    def create_optimizer_and_scheduler(self, steps: int) -> None:
        norms = {
            id(p)
            for module in self.model.modules()
            if isinstance(module, nn.LayerNorm)
            for p in module.parameters()
        }
        plain = [p for p in self.model.parameters() if id(p) in norms or p.ndim < 2]
        decayed = [p for p in self.model.parameters() if id(p) not in norms and p.ndim >= 2]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": decayed, "weight_decay": self.args.weight_decay},
                {"params": plain, "weight_decay": 0.0},
            ],
            lr=self.args.learning_rate,
        )
        warmup = self.args.warmup_steps
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda step: min((step + 1) / warmup, max(0.0, (steps - step) / (steps - warmup))),
        )

    def loader(self, dataset: Dataset[Any], *, shuffle: bool) -> DataLoader[Any]:
        size = self.args.per_device_train_batch_size
        return DataLoader(dataset, size, shuffle=shuffle, collate_fn=self.collate)

    @staticmethod
    def collate(rows: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}

    def train(self) -> float:
        loader = self.loader(self.train_dataset, shuffle=True)
        every = self.args.gradient_accumulation_steps
        per_epoch = max(len(loader) // every, 1)
        max_steps = self.args.max_steps
        if max_steps < 0:
            max_steps = self.args.num_train_epochs * per_epoch
        self.create_optimizer_and_scheduler(max_steps)
        total = torch.tensor(0.0)
        self.model.zero_grad()
        for _ in range(-(-max_steps // per_epoch)):
            for callback in self.callbacks:
                callback.on_epoch_begin(self.state)
            for inputs in self.updates(loader, every):
                for batch in inputs:
                    total += self.training_step(batch)
                nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_grad_norm)
                self.optimizer.step()
                self.lr_scheduler.step()
                self.model.zero_grad()
                self.state.global_step += 1
                self.state.epoch = self.state.global_step / per_epoch
                for callback in self.callbacks:
                    callback.on_step_end(self.state)
                self.maybe_log_and_evaluate(total)
                if self.state.global_step >= max_steps:
                    return total.item() / max_steps
        return total.item() / max_steps

    @staticmethod
    def updates(loader: DataLoader[Any], every: int) -> Iterator[list[Any]]:
        """Yield the batches of one update after the other; an incomplete last one is dropped."""
        batches: list[Any] = []
        for batch in loader:
            batches.append(batch)
            if len(batches) == every:
                yield batches
                batches = []

    def training_step(self, inputs: dict[str, Tensor]) -> Tensor:
        self.model.train()
        loss = self.compute_loss(self.model, inputs)
        loss = loss / self.args.gradient_accumulation_steps
        loss.backward()
        return loss.detach()

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        return model(**inputs).loss

    def maybe_log_and_evaluate(self, total: Tensor) -> None:
        step = self.state.global_step
        if step % self.args.logging_steps == 0:
            self.state.log_history.append({"loss": total.item() / step})
        if step % self.args.eval_steps == 0:
            self.state.log_history.append({"eval_loss": self.evaluate()})

    def evaluate(self) -> float:
        self.model.eval()
        losses: list[Tensor] = []
        for batch in self.loader(self.eval_dataset, shuffle=False):
            with torch.no_grad():
                losses.append(self.compute_loss(self.model, batch))
        return torch.stack(losses).mean().item()


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embed = nn.Embedding(11, 12)
        self.norm = nn.LayerNorm(12)
        self.mix = nn.GRU(12, 12, batch_first=True)
        self.head = nn.Linear(12, 11)

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Output:
        logits = self.head(self.mix(self.norm(self.embed(input_ids)))[0])
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:])
        return Output(loss=loss, logits=logits)


class Texts(Dataset):
    def __init__(self, rows: int) -> None:
        torch.manual_seed(2)
        self.rows = (torch.randint(11, (rows, 1)) + torch.arange(7)) % 11

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {"input_ids": self.rows[i], "labels": self.rows[i].clone()}


def run(args: TrainingArguments, rows: int) -> list[Taken]:
    taken: list[Taken] = []
    micro: list[float] = []

    class Recorder(TrainerCallback):
        def __init__(self) -> None:
            self.begun = -1

        def on_epoch_begin(self, state: TrainerState) -> None:
            self.begun += 1

        def on_step_end(self, state: TrainerState) -> None:
            taken.append(Taken(self.begun, tuple(micro)))
            micro.clear()

    class Own(Trainer):
        def training_step(self, inputs: dict[str, Tensor]) -> Tensor:
            loss = super().training_step(inputs)
            micro.append(loss.item())
            return loss

    Own(LanguageModel(), args, Texts(rows), Texts(16), [Recorder()]).train()
    return taken


@loop(8, 2, "AdamW")
def trainer() -> list[Taken]:
    return run(TrainingArguments(), 32)


@loop(9, 3, "AdamW")
def trainer_accumulating() -> list[Taken]:
    """Two batches a step; the seventh of an epoch is left out."""
    return run(TrainingArguments(gradient_accumulation_steps=2, num_train_epochs=3), 56)


@loop(7, 2, "AdamW")
def trainer_for_some_steps() -> list[Taken]:
    """Ends in the middle of an epoch."""
    return run(TrainingArguments(max_steps=7), 32)
