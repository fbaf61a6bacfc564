"""DDP and FSDP under ``zentracer.stalled``: silent where all learns, with the model's own names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from tests.programs.stalled.parts import Net, train
from tests.runtime.watching import watching_for


@pytest.fixture(autouse=True)
def group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def sharded() -> nn.Module:
    mesh = init_device_mesh("cpu", (1,))
    net = Net()
    fully_shard(net.body, mesh=mesh)
    fully_shard(net, mesh=mesh)
    return net


@pytest.mark.parametrize("wrap", [lambda: DistributedDataParallel(Net()), sharded])
def test_all_learn(wrap: object) -> None:
    with watching_for("stalled", advice=True) as host:
        net = wrap()  # type: ignore[operator]
        train(net, torch.optim.Adam(net.parameters(), lr=1e-2), steps=24)
    assert not host.hits
    assert not host.notices


def test_names_are_those_of_the_model() -> None:
    with watching_for("stalled") as host:
        net = DistributedDataParallel(Net())
        train(net, torch.optim.Adam(net.module.body.parameters()))
    assert "head.weight and head.bias do not learn" in host.hits[0].text
    assert "module." not in host.hits[0].text


def test_an_odd_selection_of_shards_survives() -> None:
    with watching_for("stalled") as host:
        net = sharded()
        train(net, torch.optim.Adam(net.get_submodule("body").parameters()))
    assert not host.notices


def test_two_ranks(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.programs.stalled.ranks", str(rank), f"{tmp_path}/two"],
            cwd=root, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    for rank in ranks:
        said, _ = rank.communicate()
        assert rank.returncode == 0
        assert said.count("\n") == 1
        assert said.startswith("head.weight and head.bias do not learn (update, step 3)")
