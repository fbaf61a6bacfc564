"""Errors of autograd are told by the lines that wrote in place, kept a graph or cut it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from failing import fail

ARMED = pytest.mark.parametrize("armed", [False, True], ids=["bare", "armed"])


@ARMED
@pytest.mark.parametrize(
    ("made", "write"),
    [
        ("torch.exp(x)", "h += x"),
        ("x.tanh()", "h.mul_(2)"),
        ("torch.sigmoid(x)", "h[0] = 0"),
        ("F.softmax(x, 1)", "h[:, 0].zero_()"),
        ("x.exp()", "F.relu(h, inplace=True)"),
        ("x.sqrt()", "torch.nn.init.zeros_(h.data[0]); h.add_(1)"),
    ],
)
def test_the_write_after_the_function_has_returned(
    tmp_path: Path, armed: bool, made: str, write: str
) -> None:
    failed = fail(
        tmp_path,
        f"""
        class Block(nn.Module):
            def forward(self, x):
                h = {made}  # @made
                {write}  # @blame
                return h * 2

        block = nn.Sequential(nn.Linear(3, 3), Block())
        block(torch.rand(2, 3)).sum().abs().backward()  # @raises
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("h [2, 3] made by", "version 0 -> ", "h was made here")
    assert failed.said.details.source.line == failed.line("raises")
    assert failed.said.details.facts[0].location is not None
    assert failed.said.details.facts[0].location.line == failed.line("made")


def test_a_write_outside_of_the_graph_is_remembered(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        def scale(weight):
            with torch.no_grad():
                weight.mul_(0.5)  # @blame

        x = torch.ones(3, requires_grad=True)
        gate = torch.sigmoid(x)
        scale(gate)
        gate.sum().backward()
        """,
        armed=True,
    )
    failed.blames()


@ARMED
def test_an_in_place_operator_is_replaced_by_one_that_is_not(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
        y *= x + 1  # @blame
        y.sum().backward()
        """,
        armed=armed,
    )
    failed.blames()
    assert failed.edit() == ("y *= x + 1", "y = y * (x + 1)")


@ARMED
def test_a_step_between_forward_and_backward(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        out = net(torch.ones(2, 3))
        out.sum().backward(retain_graph=True)
        optimizer.step()  # @blame
        out.mean().backward()
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("Run forward again", "every step")


def test_a_leaf_is_not_written_into(tmp_path: Path) -> None:
    failed = fail(tmp_path, "w = torch.ones(2, requires_grad=True)\nw += 1  # @blame\n")
    failed.blames()
    failed.says("w is a leaf", "torch.no_grad()")


@ARMED
@pytest.mark.parametrize(
    ("before", "body", "name"),
    [
        (
            "total = 0",
            "total = total + (w * step).exp().sum()  # @blame\n    total.backward()",
            "total",
        ),
        (
            "state = torch.zeros(2)",
            "state = torch.tanh(state + w)  # @blame\n    state.sum().backward()",
            "state",
        ),
        (
            "shared = w.exp()  # @blame",
            "loss = (shared * step).sum()\n    loss.backward()",
            "shared",
        ),
    ],
)
def test_what_a_loop_keeps(tmp_path: Path, armed: bool, before: str, body: str, name: str) -> None:
    source = f"""
w = torch.ones(2, requires_grad=True)
{before}
for step in range(3):
    {body}
"""
    failed = fail(tmp_path, source, armed=armed)
    failed.blames()
    failed.says(f"{name} was made", "graph was freed")


@ARMED
def test_a_state_that_a_module_keeps(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        class Memory(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell, self.state = nn.Linear(2, 2), torch.zeros(1, 2)

            def forward(self, x):
                self.state = torch.tanh(self.cell(x + self.state))  # @blame
                return self.state

        memory = Memory()
        for _ in range(2):
            memory(torch.ones(1, 2)).sum().backward()
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("memory.state")


@ARMED
def test_two_losses_of_one_graph(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        def step(net):
            hidden = net(torch.ones(1, 2)).exp()
            first, second = hidden.sum(), (hidden * hidden).sum()
            first.backward()  # @blame
            second.backward()  # @raises

        step(nn.Linear(2, 2))
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("The graph of second", "Add the losses")
    assert failed.edit() == ("first.backward()", "first.backward(retain_graph=True)")


@ARMED
@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("loss = (net(x).argmax(1).float() - 1).abs().mean()  # @blame", ".argmax() cut"),
        ("loss = torch.tensor(net(x).sum().item())  # @blame", "cut the graph here"),
        ("loss = net(x).detach().mean()  # @blame", ".detach() cut"),
    ],
)
def test_what_cut_the_graph(tmp_path: Path, armed: bool, cut: str, words: str) -> None:
    source = f"net, x = nn.Linear(2, 3), torch.ones(1, 2)\n{cut}\nloss.backward()\n"
    failed = fail(tmp_path, source, armed=armed)
    failed.blames()
    failed.says(words, "loss does not depend")


def test_a_loss_under_no_grad_and_one_of_frozen_parameters(tmp_path: Path) -> None:
    failed = fail(
        tmp_path,
        """
        net = nn.Linear(2, 1)
        with torch.no_grad():
            loss = net(torch.ones(1, 2)).sum()
        loss.backward()  # @blame
        """,
    )
    failed.blames()
    failed.says("outside of torch.no_grad()")
    failed = fail(
        tmp_path,
        """
        net = nn.Linear(2, 1).requires_grad_(False)
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
        """,
    )
    failed.says("net.requires_grad_(True)")


@ARMED
def test_an_optimizer_of_computed_tensors(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        scale = torch.ones(2, requires_grad=True) * 0.1  # @blame
        torch.optim.Adam([scale], lr=0.1)
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("scale is not a leaf, made by MulBackward0")


def test_numpy_of_a_tensor_with_a_graph(tmp_path: Path) -> None:
    source = "out = nn.Linear(2, 2)(torch.ones(1, 2))\nout.numpy()  # @blame\n"
    failed = fail(tmp_path, source)
    failed.blames()
    assert failed.edit() == ("out.numpy()", "out.detach().numpy()")


@ARMED
def test_backward_of_many_numbers(tmp_path: Path, armed: bool) -> None:
    failed = fail(
        tmp_path,
        """
        loss = F.mse_loss(nn.Linear(2, 2)(torch.ones(3, 2)), torch.ones(3, 2), reduction="none")
        loss.backward()  # @blame
        """,
        armed=armed,
    )
    failed.blames()
    failed.says("loss is [3, 2]")
    assert failed.edit() == ("loss.backward()", "loss.mean().backward()")
