"""Dtypes, indices, devices and state dicts that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from failing import fail

ARMED = pytest.mark.parametrize("armed", [False, True], ids=["bare", "armed"])


@ARMED
def test_the_line_that_made_the_odd_dtype(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        import numpy as np

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 2)

            def forward(self, features):
                return self.layer(features)  # @blame

        def train(table):
            Net()(table)

        table = torch.from_numpy(np.ones((3, 4)))  # @made
        train(table)
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("features is float64", "layer.weight is float32", "by from_numpy")
    assert failed.edit()[1] == "table = torch.from_numpy(np.ones((3, 4))).float()"
    places = [fact.location.line for fact in failed.said.details.facts if fact.location]
    assert failed.line("made") in places


@ARMED
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a, b = torch.ones(2, 2), torch.ones(2, 2).double()\na @ b  # @blame", ["b is float64"]),
        ("a = torch.ones(1, 1, 5, 5).half()\nnn.Conv2d(1, 1, 3)(a)  # @blame", ["a is float16"]),
        ("a = torch.tensor([1.0])\nnn.Embedding(3, 2)(a)  # @blame", ["a is float32", "int64"]),
        (
            "p, t = torch.ones(2, 3), torch.zeros(2)\nF.cross_entropy(p, t)  # @blame",
            ["t is float32", "t.long()"],
        ),
        (
            "p, t = torch.ones(2), torch.ones(2).long()\n"
            "F.binary_cross_entropy_with_logits(p, t)  # @blame",
            ["t is int64", ".float()"],
        ),
        ("a = torch.arange(3)\na.mean()  # @blame", ["a is int64"]),
        ("x, i = torch.ones(3), torch.tensor([1.0])\nx[i]  # @blame", ["i is float32"]),
    ],
)
def test_dtypes(tmp_path: Path, armed: bool, source: str, words: list[str]) -> None:
    failed = fail(tmp_path, source + "\n", armed=armed)
    failed.blames()
    assert failed.said.label == "Dtype mismatch"
    failed.says(*words)


@ARMED
def test_tokens_beyond_the_vocabulary(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(10, 4)

            def forward(self, tokens):
                return self.words(tokens)  # @blame

        model = Model()
        batch = torch.tensor([[1, 2, 30], [4, 10, -1]])
        model(batch)
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("Index -1, 10, 30 with table size 10", "`words`", "[0, 2], [1, 1], [1, 2]")
    assert failed.said.details.module == "words"


@ARMED
def test_a_target_below_zero(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        loss = nn.CrossEntropyLoss(ignore_index=-100)
        scores, labels = torch.randn(4, 3), torch.tensor([0, -100, -1, 2])
        loss(scores, labels)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("Label value -1 in labels", "0..2", "rows 2.", "ignore_index=-1")
    assert "-100" not in failed.said.text


@ARMED
@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "x, i = torch.ones(2, 3), torch.tensor([[0, 9]])\nx.gather(1, i)  # @blame",
            ["Index 9 in i", "size 3"],
        ),
        (
            "x, i = torch.ones(5, 3), torch.tensor([0, 7])\nx[i]  # @blame",
            ["Index 7 in i", "-5..4", "rows 1"],
        ),
        ("i = torch.tensor([0, 3])\nF.one_hot(i, 3)  # @blame", ["3 in i", "0..2"]),
        ("x = torch.ones(2, 3)\nx[5]  # @blame", ["index 5", "size 2"]),
    ],
)
def test_indices(tmp_path: Path, armed: bool, source: str, words: list[str]) -> None:
    failed = fail(tmp_path, source + "\n", armed=armed)
    failed.blames()
    assert failed.said.label == "Index out of range"
    failed.says(*words)


def test_keys_with_the_prefix_of_a_wrapper(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
        saved = {f"module.{key}": value for key, value in model.state_dict().items()}
        model.load_state_dict(saved)  # @blame
        """,
    )
    failed.blames()
    failed.says(
        "4 of 4 keys of Sequential are missing", '4 unexpected, all with the prefix "module."'
    )
    failed.says("DistributedDataParallel")
    assert 'k.replace("module.", "", 1)' in failed.edit()[1]


def test_keys_of_other_sizes_and_a_whole_checkpoint(tmp_path: Path) -> None:
    failed = fail(tmp_path, "nn.Linear(2, 3).load_state_dict(nn.Linear(2, 4).state_dict())\n")
    failed.says("weight is [4, 2] in the checkpoint and [3, 2] in the model", "number of classes")
    failed = fail(
        tmp_path,
        """
        checkpoint = {"epoch": 3, "model_state_dict": nn.Linear(2, 2).state_dict()}
        nn.Linear(2, 2).load_state_dict(checkpoint)
        """,
    )
    failed.says("The file holds more than the model")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("batch_size=8", ["17 % 8 == 1", "drop_last is False"]),
        ("batch_size=4, shuffle=True", ["17 % 4 == 1"]),
    ],
)
def test_a_loader_that_ends_with_one_sample(tmp_path: Path, options: str, words: list[str]) -> None:
    failed = fail(
        tmp_path,
        f"""
        from torch.utils.data import DataLoader, TensorDataset

        norm = nn.BatchNorm1d(3)

        def epoch(batches):
            for (batch,) in batches:
                norm(batch)  # @blame

        loader = DataLoader(TensorDataset(torch.randn(17, 3)), {options})
        epoch(loader)
        """,
    )
    failed.blames()
    failed.says("norm is given batch [1, 3]", *words)


def test_a_batch_of_one_without_a_loader(tmp_path: Path) -> None:
    failed = fail(tmp_path, "norm = nn.BatchNorm1d(3)\nnorm(torch.ones(1, 3))  # @blame\n")
    failed.blames()
    failed.says("norm is given", "GroupNorm")


def test_no_accelerator(tmp_path: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is one")
    failed = fail(tmp_path, "model = nn.Linear(2, 2)\nmodel.to('cuda')  # @blame\n")
    failed.blames()
    failed.says("torch.cuda.is_available()")


def test_devices_by_name(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        model = nn.BatchNorm1d(2, device="meta")
        batch = torch.ones(3, 2)  # @made
        model(batch)  # @blame
        """,
    )
    failed.blames()
    failed.says("batch")
