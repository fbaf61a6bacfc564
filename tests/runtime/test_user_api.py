"""``zentracer.step`` and ``zentracer.log``: what a program says wins over what is found."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch import nn

import zentracer
from tests.runtime.watching import Host
from zentracer import bootstrap
from zentracer.frameworks.base import ArmedFilter
from zentracer.frameworks.pytorch import PyTorch
from zentracer.runtime import Runtime


@pytest.fixture
def host(monkeypatch):
    """A runtime whose PyTorch tells a list, armed."""
    host = Host()
    runtime = Runtime({})
    framework = PyTorch(host)
    runtime._frameworks.append(framework)
    runtime.notice = lambda message, breakpoint_id=None: host.notice(message)
    monkeypatch.setattr(bootstrap, "_runtime", runtime)
    framework.arm((ArmedFilter(1, "zentracer.nonfinite"),), precise=False)
    yield host
    framework.disarm()


def train(times: int, after=lambda loss: None) -> None:
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(times):
        loss = net(torch.ones(3, 2)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after(loss)


def test_steps_are_those_of_the_program(host):
    train(2, after=lambda loss: None)
    assert [step.step for step in host.steps] == [1, 2]
    host.steps.clear()
    train(4, after=lambda loss: zentracer.step(7))
    assert host.steps[-1].step == 7
    host.steps.clear()
    zentracer.step()
    train(1)
    zentracer.step()
    assert [step.step for step in host.steps] == [8, 9]


def test_first_mark_without_a_number_is_step_one(host):
    train(1, after=lambda loss: zentracer.step())
    assert host.steps[-1].step == 1


def test_loss_is_what_the_program_logs(host):
    train(3, after=lambda loss: zentracer.log("loss", 42.5))
    assert [step.loss for step in host.steps][1:] == [42.5, 42.5]


def test_log_returns_its_value_and_takes_tensors_and_mappings(host):
    x = torch.tensor(3.0, requires_grad=True)
    assert zentracer.log("loss", x) is x
    zentracer.log({"val_loss": torch.tensor([1.0]), "accuracy": 1})
    train(1)
    assert host.steps[-1].loss == 3.0
    assert host.notices == []


def test_nonsense_never_raises(host):
    zentracer.log("loss", "a lot")
    zentracer.log("loss", torch.ones(0))
    zentracer.step("three")  # type: ignore[arg-type]
    assert len(host.notices) == 3
    train(1)


def test_without_a_debugger_nothing_happens_and_nothing_is_imported():
    code = (
        "import zentracer, sys; zentracer.step(); zentracer.log('loss', 1.0); zentracer.log({});"
        "assert 'torch' not in sys.modules and 'zentracer.runtime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
