"""The modules of a model, read without calling anything of the user's."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from tests.runtime.watching import watching_for
from zentracer.frameworks.pytorch.modules import has_parameters, named_modules, root_modules


class Hostile(nn.Module):
    """A model of the program's whose methods raise, as one that is half built may."""

    def named_modules(self, *args: object, **kwargs: object):  # type: ignore[override]
        raise ZeroDivisionError

    def parameters(self, recurse: bool = True):  # type: ignore[override]
        raise ZeroDivisionError


def test_names_and_order_are_those_of_the_models_own_method() -> None:
    shared = nn.Linear(2, 2)
    net = nn.Sequential(nn.Sequential(shared, nn.ReLU()), shared, nn.ModuleDict({"a": nn.GELU()}))
    net.register_module("gone", None)
    assert list(named_modules(net)) == list(net.named_modules())
    assert has_parameters(net) and not has_parameters(nn.ReLU())


def test_a_model_that_raises_does_not_keep_others_from_their_names() -> None:
    hostile = Hostile()
    assert any(root is hostile for root in root_modules())
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    with watching_for("exploding:norm > 0 and match('0')") as host:
        net(torch.ones(1, 2)).sum().backward()
    assert host.notices == []
    assert {hit.details.module for hit in host.hits} == {"0"}
