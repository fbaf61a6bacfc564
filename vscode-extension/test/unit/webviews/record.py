"""Records what the runtime answers for some tensors, for the tests of the Tensor panel.

Run it from the repository's root: python vscode-extension/test/unit/webviews/record.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from zentracer.tensor_view.view import view_of
from zentracer.wire.codec import to_json
from zentracer.wire.editor import TensorQuery

FILE = Path(__file__).parent / "recorded.json"
NAN, INF = float("nan"), float("inf")

LOGITS = torch.tensor([[0.0, 1.5, NAN, -2.25], [3.0, -0.5, INF, 0.125], [-INF, 2.0, 0.75, -1.0]])
IMAGES = torch.arange(2 * 3 * 4 * 5, dtype=torch.uint8).reshape(2, 3, 4, 5)

ASKED: dict[str, tuple[Any, TensorQuery]] = {
    "logits.stats": (LOGITS, TensorQuery(view="stats", expression="logits")),
    "logits.image": (LOGITS, TensorQuery(view="image", expression="logits", slice=":, :")),
    "logits.page": (LOGITS, TensorQuery(view="page", expression="logits", slice=":, :")),
    "logits.histogram": (
        LOGITS,
        TensorQuery(view="histogram", expression="logits", width=8),
    ),
    "images.stats": (IMAGES, TensorQuery(view="stats", expression="images")),
    "images.image": (
        IMAGES,
        TensorQuery(view="image", expression="images", slice="1, :, :, :", channels=1),
    ),
    "signal.stats": (torch.arange(100.0), TensorQuery(view="stats", expression="signal")),
    "signal.image": (
        torch.arange(100.0),
        TensorQuery(view="image", expression="signal", slice=":", width=10),
    ),
    "empty.stats": (torch.zeros(0, 4), TensorQuery(view="stats", expression="empty")),
    "loss.stats": (torch.tensor(0.6931472), TensorQuery(view="stats", expression="loss")),
    "loss.page": (torch.tensor(0.6931472), TensorQuery(view="page", expression="loss")),
    "meta.stats": (torch.zeros(3, 4, device="meta"), TensorQuery(view="stats", expression="meta")),
    "sparse.stats": (torch.eye(12).to_sparse(), TensorQuery(view="stats", expression="sparse")),
    "deep.stats": (
        torch.zeros(2, 3, 2, 4, 3, 2, 12, 9),
        TensorQuery(view="stats", expression="deep"),
    ),
}


def main() -> None:
    """Writes all answers, by name."""
    answers = {name: to_json(view_of(tensor, query)) for name, (tensor, query) in ASKED.items()}
    text = json.dumps(answers, indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
