"""A batch of one in a batch norm, and the loader that made it.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, Iterator, Optional

from torch.utils.data import DataLoader

from zentracer.control import edits
from zentracer.control.source import Place, call_name, function_node, parsed
from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure, Spot
from zentracer.frameworks.pytorch.errors.lookup import held, shape_of
from zentracer.frameworks.pytorch.errors.making import shape_text
from zentracer.frameworks.pytorch.errors.operands import module_name, operands_of
from zentracer.frameworks.pytorch.origin import location
from zentracer.wire.messages import Location, TextEdit

LABEL = "Batch of one"
_MESSAGE = re.compile(
    r"Expected more than 1 (value per channel|spatial element) when training"
    r".*?\[(?P<size>[\d, ]*)\]"
)


@dataclass(frozen=True)
class Loader:
    """A live DataLoader of the program."""

    name: str
    value: DataLoader[Any]
    spot: Spot

    @property
    def samples(self) -> Optional[int]:
        """The size of its dataset, where it is known without the user's code."""
        dataset: Any = held(self.value).get("dataset")
        kept: Any = held(dataset)
        tensors = kept.get("tensors")
        if type(dataset).__module__.startswith("torch.") and type(tensors) is tuple and tensors:
            return shape_of(tensors[0])[0]
        if type(dataset) in (list, tuple):
            return len(dataset)
        indices = kept.get("indices")
        if type(dataset).__module__.startswith("torch.") and type(indices) in (list, range):
            return len(indices)
        return None

    @property
    def batch_size(self) -> Optional[int]:
        """Its batch size."""
        size = held(self.value).get("batch_size")
        return size if type(size) is int else None

    @property
    def drops_last(self) -> bool:
        """Whether it leaves out the incomplete batch."""
        return bool(held(self.value).get("drop_last"))


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain that variance needs more than one value."""
    match = _MESSAGE.search(failure.message)
    if match is None:
        return None
    said = Explanation(LABEL, "", op="batch_norm")
    given = operands_of(failure)
    x = next((one for one in given if not one.is_parameter), None)
    size = f"[{match['size']}]" if x is None else shape_text(shape_of(x.value))
    module = failure.called
    name = module_name(failure, module) if module is not None else "batch norm"
    if module is not None:
        said.op = type(module).__name__
    said.blamed = x
    what = x.called if x is not None else "its input"
    said.text = (
        f"{name} is given {what} {size} in training: one value per channel has no variance to "
        "normalise by."
    )
    loader = _culprit(failure)
    if loader is None:
        said.suggest(
            "Give it batches of at least two, or use another norm",
            "drop_last=True leaves the incomplete batch out; eval() uses the running statistics; "
            "GroupNorm and LayerNorm do not depend on the batch.",
        )
        return said
    _blame_loader(said, loader)
    return said


def _blame_loader(said: Explanation, loader: Loader) -> None:
    samples, size = loader.samples, loader.batch_size
    where, edit = _made(loader)
    if samples is not None and size:
        said.fact(
            f"{loader.name} ends with a batch of {samples % size or size}: "
            f"{samples} % {size} == {samples % size}, and drop_last is {loader.drops_last}",
            where,
        )
    else:
        said.fact(f"{loader.name} may end with a batch of one: drop_last is False", where)
    said.suggest(
        "Leave the incomplete last batch out",
        f"drop_last=True in {loader.name}; or choose a batch size that leaves more than one.",
        edit,
    )


def _culprit(failure: Failure) -> Optional[Loader]:
    """Return the loader whose last batch has one sample, else one that cannot be counted."""
    loaders = [x for x in _loaders(failure) if not x.drops_last and x.batch_size]
    for loader in loaders:
        if loader.samples is not None and loader.samples % (loader.batch_size or 1) == 1:
            return loader
    return next((x for x in loaders if x.samples is None or x.batch_size == 1), None)


def _loaders(failure: Failure) -> Iterator[Loader]:
    for spot in failure.users:
        for scope in (spot.frame.f_locals, spot.frame.f_globals):
            for name, value in list(scope.items()):
                if type(name) is str and issubclass(type(value), DataLoader):
                    yield Loader(name, value, spot)


def _made(loader: Loader) -> tuple[Optional[Location], Optional[TextEdit]]:
    path = loader.spot.code.co_filename
    module = parsed(path)
    if module is None:
        return None, None
    for scope in (function_node(module, loader.spot.code), module.tree):
        for node in ast.walk(scope):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if any(isinstance(t, ast.Name) and t.id == loader.name for t in node.targets):
                where = location(path, node.lineno)
                call = node.value
                if call_name(call) != "DataLoader":
                    return where, None
                if any(k.arg == "drop_last" for k in call.keywords):
                    return where, None
                text = edits.with_keyword(module, call, "drop_last", "True")
                place = Place(where, module, None)
                return where, edits.replace(place, call, text) if text else None
    return None, None
