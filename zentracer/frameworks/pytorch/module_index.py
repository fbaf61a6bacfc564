"""A live model as plain lists: its modules' names and sizes.

RUNS IN the training process, on the link's thread; nothing but metadata is read. It keeps no
module alive, and has no object for each one: a hundred thousand new objects would make Python
collect the garbage of the whole process.
"""

from __future__ import annotations

import bisect
from itertools import accumulate
from typing import Any, Callable, Iterator

import torch
from torch import Tensor, nn

from zentracer.frameworks.pytorch.live import Pace, children_of, held_by
from zentracer.frameworks.pytorch.modules import stripped
from zentracer.wire.messages import ModuleInfo


class ModuleIndex:
    """A root and all below it in the order of ``named_modules``: each module once.

    So below module ``i`` are the modules ``i + 1`` to ``_ends[i] - 1``, and what links lead to:
    modules that were met before by another name.
    """

    def __init__(self, root: nn.Module, pace: Pace) -> None:
        self._names: list[str] = []
        self._classes: list[str] = []
        self._ends: list[int] = []
        self._children: list[int] = []
        self._sizes: list[int] = []
        """Elements of each module's own parameters."""
        self._links: list[tuple[int, int]] = []
        self._shared: dict[int, tuple[int, list[int]]] = {}
        """Parameters of several modules, by identity: how large, and whose."""
        _Walk(self, pace).through(root)
        self._links.sort()
        self._up_to = [0, *accumulate(self._sizes)]

    def __len__(self) -> int:
        return len(self._names)

    def matching(self, matches: Callable[[str], Any], pace: Pace) -> Iterator[int]:
        """Yield the indices of the modules whose name or class matches."""
        for index, name in enumerate(self._names):
            pace.step()
            if matches(name) or matches(self._classes[index]):
                yield index

    def info(self, index: int) -> ModuleInfo:
        """Return one module as it is sent."""
        return ModuleInfo(
            name=self._names[index],
            class_name=self._classes[index],
            parameters=self._parameters(index),
            children=self._children[index],
        )

    def _parameters(self, index: int) -> int:
        """Return the number of elements in a module and below, each parameter once."""
        if not self._links and not self._shared:
            return self._up_to[self._ends[index]] - self._up_to[index]
        inside = self._reached_from(index)
        total = sum([self._sizes[i] for i in inside])
        for size, owners in self._shared.values():
            total -= size * max(0, sum([owner in inside for owner in owners]) - 1)
        return total

    def _reached_from(self, index: int) -> set[int]:
        inside: set[int] = set()
        waiting = [index]
        while waiting:
            index = waiting.pop()
            if index in inside:
                continue
            end = self._ends[index]
            inside.update(range(index, end))
            first = bisect.bisect_left(self._links, (index, 0))
            last = bisect.bisect_left(self._links, (end, 0))
            waiting += [target for _, target in self._links[first:last]]
        return inside

    # -- while it is made ------------------------------------------------------------------

    def add(self, name: str, module: nn.Module, children: int) -> int:
        """Append a module; returns its index."""
        class_name = type(module).__name__
        self._names.append(stripped(name) or class_name)
        self._classes.append(class_name)
        self._children.append(children)
        self._sizes.append(0)
        self._ends.append(0)
        return len(self._names) - 1

    def add_parameter(self, index: int, parameter: Any, owner: int | None) -> None:
        """Add to module ``index`` a parameter that module ``owner`` has as well."""
        size = _numel(parameter)
        self._sizes[index] += size
        if owner is not None and size:
            self._shared.setdefault(id(parameter), (size, [owner]))[1].append(index)

    def add_link(self, source: int, target: int) -> None:
        """Note that ``source`` has below it ``target``, which has another name."""
        if self._ends[target] != target + 1 or self._sizes[target]:
            self._links.append((source, target))

    def finish(self, index: int) -> None:
        """Note that all below ``index`` has been added."""
        self._ends[index] = len(self._names)


class _Walk:
    """From a root to all below it, depth first."""

    def __init__(self, index: ModuleIndex, pace: Pace) -> None:
        self._index = index
        self._pace = pace
        self._known: dict[int, int] = {}
        """Index of each module that was met, by identity."""
        self._owners: dict[int, int] = {}
        """Index of the first module that has a parameter, by identity."""
        self._alive: list[nn.Module] = []
        """So that no identity is reused."""
        self._stack: list[tuple[int, str, Iterator[tuple[str, nn.Module]]]] = []

    def through(self, root: nn.Module) -> None:
        """Visit ``root`` and all below it."""
        self._enter("", root)
        while self._stack:
            self._pace.step()
            source, prefix, children = self._stack[-1]
            for name, child in children:
                target = self._known.get(id(child))
                if target is None:
                    self._enter(prefix + name, child)
                    break
                self._index.add_link(source, target)
            else:
                self._index.finish(source)
                self._stack.pop()

    def _enter(self, name: str, module: nn.Module) -> None:
        children = children_of(module)
        distinct = len({id(child) for _, child in children}) if children else 0
        index = self._known[id(module)] = self._index.add(name, module, distinct)
        self._alive.append(module)
        own = {id(x): x for _, x in held_by(module, "_parameters") if x is not None}
        for identity, parameter in own.items():
            self._index.add_parameter(index, parameter, self._owners.get(identity))
            self._owners.setdefault(identity, index)
        self._stack.append((index, f"{name}." if name else "", iter(children)))


def _numel(parameter: Any) -> int:
    """Return the number of elements, 0 if it is not known yet."""
    if type(parameter) is nn.Parameter:
        return parameter.numel()
    if not issubclass(type(parameter), Tensor):
        return 0
    try:
        with torch._C.DisableTorchFunction():  # a lazy parameter refuses to tell
            size = Tensor.numel(parameter)
    except Exception:  # a subclass that computes its shape, and cannot
        return 0
    return size if type(size) is int else 0
