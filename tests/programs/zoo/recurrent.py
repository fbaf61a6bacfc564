"""Recurrent networks."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.programs.zoo.registry import batches, sentences, training


@training
def lstm(steps: int) -> list[float]:
    """Truncated back-propagation: the state goes on, its graph does not."""

    class Forecast(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(1, 16, num_layers=2, dropout=0.1, batch_first=True)
            self.head = nn.Linear(16, 1)

        def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None):  # type: ignore[no-untyped-def]
            out, state = self.lstm(x, state)
            return self.head(out), state

    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    phase = torch.rand(8, 1) * 6
    state = None
    losses: list[float] = []
    for step in range(steps):
        t = torch.arange(step * 10, step * 10 + 11) * 0.3
        wave = torch.sin(t + phase)[..., None]
        if state is not None:
            state = tuple(s.detach() for s in state)
        prediction, state = model(wave[:, :-1], state)
        loss = F.mse_loss(prediction, wave[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def gru_characters(steps: int) -> list[float]:
    """Sequences of different lengths, padded and packed; padding is ignored by the loss."""

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(12, 8, padding_idx=0)
            self.gru = nn.GRU(8, 16, batch_first=True, bidirectional=False)
            self.out = nn.Linear(16, 12)

        def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embed(x), lengths, batch_first=True, enforce_sorted=False
            )
            out, _ = self.gru(packed)
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
            return self.out(out)

    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses: list[float] = []
    for step in range(steps):
        texts = [row[: 4 + (step + i) % 5] + 1 for i, row in enumerate(sentences(8, 9, 11))]
        lengths = torch.tensor([len(text) - 1 for text in texts])
        padded = nn.utils.rnn.pad_sequence(texts, batch_first=True)
        logits = model(padded[:, :-1], lengths)
        loss = F.cross_entropy(logits.transpose(1, 2), padded[:, 1:], ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def rnn_time_first(steps: int) -> list[float]:
    """A plain RNN over (time, batch, feature), as its default wants it."""
    rnn, head = nn.RNN(3, 16, nonlinearity="tanh"), nn.Linear(16, 1)
    nn.init.orthogonal_(rnn.weight_hh_l0)
    optimizer = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
    losses: list[float] = []
    for _ in range(steps):
        x = torch.randn(7, 16, 3)
        target = x[-1, :, 0] + 0.5 * x[-2, :, 1]
        out, _ = rnn(x)
        loss = F.smooth_l1_loss(head(out[-1]).squeeze(-1), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(rnn.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return losses


@training
def seq2seq(steps: int) -> list[float]:
    """Encoder and decoder cells with attention; scheduled sampling feeds back argmax tokens."""
    words, width = 10, 24
    embed, encoder = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)
    cell, out = nn.GRUCell(width, width), nn.Linear(2 * width, words)
    net = nn.ModuleList([embed, encoder, cell, out])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses: list[float] = []
    for _ in range(steps):
        source = torch.randint(words, (16, 3))
        target = source.flip(1)
        memory, state = encoder(embed(source))
        h = state[0]
        token = torch.zeros(16, dtype=torch.long)
        loss = torch.zeros(())
        for t in range(3):
            h = cell(embed(token), h)
            weights = torch.softmax(torch.einsum("bd,btd->bt", h, memory), dim=-1)
            context = torch.einsum("bt,btd->bd", weights, memory)
            logits = out(torch.cat([h, context], -1))
            loss = loss + F.cross_entropy(logits, target[:, t])
            token = logits.argmax(-1) if torch.rand(()) < 0.3 else target[:, t]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / 3)
    return losses


@training
def curriculum(steps: int) -> list[float]:
    """Sequences get longer in stages; the last batch of an epoch is smaller."""
    embed, gru, head = nn.Embedding(9, 12), nn.GRU(12, 16, batch_first=True), nn.Linear(16, 9)
    net = nn.ModuleDict({"embed": embed, "gru": gru, "head": head})
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    texts = sentences(70, 16, 9)
    losses: list[float] = []
    for step, (batch,) in enumerate(batches(steps, 16, texts)):
        length = 4 + 4 * (step * 3 // max(steps, 1))
        batch = batch[:, :length]
        hidden, _ = gru(embed(batch[:, :-1]))
        loss = F.cross_entropy(head(hidden).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
