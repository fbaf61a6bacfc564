"""Shapes that do not fit are told in the names of the source, with what would fit."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from failing import fail

ARMED = pytest.mark.parametrize("armed", [False, True], ids=["bare", "armed"])


@ARMED
def test_a_linear_layer_of_the_wrong_width(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.head = nn.Conv2d(3, 4, 3), nn.Linear(64, 10)

            def forward(self, image):
                features = F.relu(self.conv(image))
                flat = F.max_pool2d(features, 2).flatten(1)  # @made
                return self.head(flat)  # @blame

        model = nn.Sequential(Net())
        model(torch.randn(2, 3, 12, 12))
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("flat is [2, 100]", "0.head (Linear) wants 64", "conv [2, 4, 10, 10]")
    failed.says("relu [2, 4, 10, 10]", "max_pool2d [2, 4, 5, 5]", "flat = F.max_pool2d")
    assert failed.said.details.module == "0.head"
    assert failed.edit()[1].endswith("nn.Conv2d(3, 4, 3), nn.Linear(100, 10)")
    names = [(x.name, x.shape, x.dtype) for x in failed.said.details.inputs]
    assert names[0] == ("flat", (2, 100), "float32")
    assert names[1] == ("0.head.weight", (10, 64), "float32")


@ARMED
def test_without_a_graph_the_visible_names_tell_the_way(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        net = nn.Linear(8, 2)

        @torch.no_grad()
        def evaluate(image):
            pooled = F.max_pool2d(image, 2)
            flat = pooled.flatten(1)  # @made
            return net(flat)  # @blame

        evaluate(torch.randn(2, 1, 8, 8))
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("pooled [2, 1, 4, 4] -> flat [2, 16]")


@ARMED
def test_a_product_that_a_transpose_mends(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        def scores(queries, keys):
            return queries @ keys  # @blame

        scores(torch.ones(4, 5, 3), torch.ones(4, 6, 3))
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("queries [4, 5, 3]", "keys [4, 6, 3]", "[4, 5, 6]")
    assert failed.edit()[1] == "return queries @ keys.transpose(-2, -1)"


def test_a_product_of_results_without_names(tmp_path: Path) -> None:
    failed = fail(tmp_path, "y = torch.ones(2, 3).exp() @ torch.ones(2, 3).exp()  # @blame\n")
    failed.blames()
    failed.says("2x3")


def test_with_the_watch_results_without_names_are_seen(tmp_path: Path) -> None:
    source = "y = torch.ones(2, 3).exp() @ torch.ones(2, 4).exp()  # @blame\n"
    failed = fail(tmp_path, source, armed=True)
    assert [x.shape for x in failed.said.details.inputs] == [(2, 3), (2, 4)]
    failed.says("torch.ones(2, 3).exp() [2, 3]")


@ARMED
def test_channels_of_a_convolution(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        stem = nn.Conv2d(1, 8, 3)
        image = torch.randn(2, 3, 9, 9)  # @made
        stem(image)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("image is [2, 3, 9, 9]", "its channel dimension is 3", "stem (Conv2d) wants 1")
    failed.says("image was made here")
    assert failed.edit()[1] == "stem = nn.Conv2d(3, 8, 3)"


@ARMED
def test_broadcasting_says_how_the_dimensions_are_lined_up(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        def scale(x, weight):
            return x * weight  # @blame

        scale(torch.ones(4, 3, 2), torch.ones(3))
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("x [4, 3, 2]", "weight [3]", "x has 2 and weight has 3", "weight[:, None]")


@ARMED
def test_the_odd_one_of_a_cat_is_named(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        first, second, third = torch.ones(2, 3), torch.ones(2, 3), torch.ones(4, 5)
        torch.cat([first, second, third], dim=1)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("first [2, 3]", "third [4, 5]", "The odd one is third [4, 5]")


@ARMED
def test_a_view_lists_the_sizes_that_fit(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        x = torch.ones(8, 32, 6, 6)
        x.view(8, 512)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("x [8, 32, 6, 6] has 9,216 elements", "[8, 512] needs 4,096", "[8, 1152]")


@ARMED
def test_a_view_of_a_transposed_tensor(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        x = torch.ones(2, 3).t()
        x.view(6)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("x [3, 2] is not contiguous")
    assert failed.edit() == ("x.view(6)", "x.reshape(6)")


@ARMED
def test_a_loss_with_a_last_dimension_too_many(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        logits = torch.randn(8, 1)
        target = torch.rand(8)
        F.binary_cross_entropy_with_logits(logits, target)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("logits [8, 1]", "target [8]")
    assert "logits.squeeze(-1), target" in failed.edit()[1]


@ARMED
def test_classes_of_a_sequence_belong_second(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        logits = torch.randn(2, 7, 5)
        target = torch.zeros(2, 7, dtype=torch.long)
        nn.CrossEntropyLoss()(logits, target)  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    assert "logits.transpose(1, 2), target" in failed.edit()[1]


@ARMED
def test_a_batch_whose_samples_differ_in_size(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        from torch.utils.data import DataLoader
        samples = [torch.ones(3), torch.ones(4)]
        for batch in DataLoader(samples, batch_size=2):  # @blame
            pass
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("[3]", "[4]", "collate_fn")


def test_a_compiled_region_is_explained_too(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        x = torch.ones(2, 3, device="meta")
        w = torch.ones(4, 5, device="meta")
        x @ w  # @blame
        """,
    )
    failed.blames()
    failed.says("x [2, 3]", "w [4, 5]", "2x3", "4x5")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("nn.LSTM(3, 4)(torch.ones(2, 5, 9))", ["is [2, 5, 9]", "wants 3"]),
        ("nn.LayerNorm(8)(torch.ones(2, 5))", ["is [2, 5]", "wants 8"]),
        ("nn.BatchNorm1d(8)(torch.ones(2, 5))", ["is [2, 5]", "wants 8"]),
        ("nn.MaxPool2d(4)(torch.ones(1, 2, 2, 2))", ["Output size is too small"]),
        ("torch.ones(2, 3).expand(4, 3)", ["[2, 3]"]),
        ("torch.stack([torch.ones(2), torch.ones(3)])", ["[2]", "[3]"]),
        ("float(torch.ones(2, 3))", ["[2, 3]"]),
        ("bool(torch.ones(2, 3) > 0)", ["Reduce the tensor first"]),
        ("torch.ones(2, 3).sum(dim=4)", ["Dimension out of range"]),
        ("torch.einsum('ij,jk->ik', torch.ones(2, 3), torch.ones(4, 5))", ["[2, 3]"]),
        ("torch.bmm(torch.ones(2, 3, 4), torch.ones(3, 4, 5))", ["[2, 3, 4]", "[3, 4, 5]"]),
        ("torch.ones(3, 4)[torch.ones(5, dtype=torch.bool)]", ["shape of the mask"]),
    ],
)
def test_other_calls(tmp_path: Path, call: str, words: list[str]) -> None:
    for armed in (False, True):
        failed = fail(tmp_path, f"result = {call}  # @blame\n", armed=armed)
        failed.blames()
        assert failed.said.label == "Shape mismatch"
        assert failed.said.details.suggestions
    failed.says(*words)  # with the watch armed, operands need no name to be seen
