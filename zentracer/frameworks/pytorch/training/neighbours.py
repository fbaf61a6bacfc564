"""What a value came from and where it goes: modules and operations, with shapes and statistics.

RUNS IN the training process, while a condition on modules is armed. Upstream is read from the
autograd graph at the hit. Downstream is not known yet when a module returns, so the calls of the
last steps are on record: names, shapes and numbers, no tensor and no node.
"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Iterator

from torch import Tensor, nn

from zentracer.control.source import place_of
from zentracer.frameworks.pytorch.finite import PLAIN, readable_tensor, tensors_in
from zentracer.frameworks.pytorch.nodes import leaf_behind, saved
from zentracer.frameworks.pytorch.training.detector import Looker
from zentracer.frameworks.pytorch.training.events import leaf_of, node_of
from zentracer.frameworks.pytorch.training.module_names import ModuleNames
from zentracer.frameworks.pytorch.training.producers import base_of, key_of
from zentracer.observe.stats import stats
from zentracer.wire.messages import Location, Neighbour, Stats

if TYPE_CHECKING:
    from zentracer.frameworks.pytorch.training.hub import Training

DEPTH = 3
"""Levels of neighbours that are told."""
_MAX_LINES = 16
_RECORDED_FIRST = 3
_RECORDED_EVERY = 10
"""Of the first three steps, then of every tenth, it is noted which module feeds which."""
_SAMPLE = 4096
"""Elements that are looked at of a neighbour's output, in passing."""
_MAX_PATH = 12
"""Nodes between two modules that are walked through."""
_MAX_CALLS = 50_000
_SILENT = frozenset(
    """
    View UnsafeView Reshape ReshapeAlias Transpose Permute T Squeeze Unsqueeze Expand ToCopy Clone
    Alias AsStrided Detach Copy
    """.split()
)
"""They move values only, and are left out."""
_GIVEN = ("mat1", "input", "self", "other", "mat2", "tensors")

Key = "tuple[str, int]"


@dataclass
class _Call:
    """One call of a module, by the node that made its result."""

    module: weakref.ref[nn.Module] | None
    """None: backward starts here."""
    kind: str
    shape: tuple[int, ...] = ()
    tensor: Stats | None = None
    sources: list[tuple[Any, tuple[str, ...]]] = field(default_factory=list)
    """Calls whose results it was given, and the operations on the way."""


class Neighbours:
    """The record of one detector's conditions."""

    def __init__(self, training: Training, names: ModuleNames) -> None:
        self._training = training
        self._names = names
        self._now: dict[Any, _Call] = {}
        self._of_now: dict[int, Any] = {}
        """Identity of a module -> key of its first call's result."""
        self._last: dict[Any, _Call] = {}
        self._of_last: dict[int, Any] = {}
        self._measured: set[int] = set()
        """Modules whose outputs are measured: those after one that was hit."""
        self._passes = 0

    why_no_downstream = (
        "what it goes to is not known yet: that is on record once a backward pass has run."
    )

    def forget(self) -> None:
        """Know nothing any more."""
        for table in (self._now, self._of_now, self._last, self._of_last):
            table.clear()
        self._measured.clear()

    # -- record ------------------------------------------------------------------------------------

    def looker(self, module: nn.Module) -> Looker:
        """Return who notes the calls of ``module``."""
        return self._note

    def _note(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any,
        frame: types.FrameType,
    ) -> None:  # fmt: skip
        result = out if type(out) in PLAIN else next(tensors_in(out, 2), None)
        node = result.grad_fn if result is not None else None
        if result is None or node is None or self._training.in_backward:
            return
        if len(self._now) >= _MAX_CALLS:  # forward passes without any backward
            self._now.clear()
            self._of_now.clear()
        key = key_of(node)
        self._of_now.setdefault(id(module), key)
        if key in self._now:
            return  # a container gives what its last module gave
        call = _Call(weakref.ref(module), type(module).__name__, tuple(result.shape))
        if self._records:
            call.sources += self._makers(edge for edge, _ in node.next_functions)
            if not call.sources:  # too far through the module's own operations
                call.sources += self._makers(x.grad_fn for x in tensors_in((args, kwargs), 3))
        if id(module) in self._measured:
            call.tensor = stats(result, limit=_SAMPLE)
        self._now[key] = call

    @property
    def _records(self) -> bool:
        return self._passes < _RECORDED_FIRST or self._passes % _RECORDED_EVERY == 0

    def forward_ended(self, roots: tuple[Any, ...]) -> None:
        """Close the record of a pass: backward starts from ``roots``."""
        if self._records and self._now:
            for root in roots:
                node = node_of(root)
                if node is not None and key_of(node) not in self._now:
                    call = _Call(None, "backward", tuple(getattr(root, "shape", ())))
                    call.sources += self._makers([node])
                    self._now[key_of(node)] = call
            self._last, self._of_last = self._now, self._of_now
        self._passes += 1
        self._now, self._of_now = {}, {}

    def _makers(self, nodes: Iterable[Any]) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Yield the calls on record that ``nodes`` lead back to, with the operations on the way."""
        stack: list[tuple[Any, tuple[str, ...]]] = [(node, ()) for node in nodes if node]
        for _ in range(_MAX_PATH):
            if not stack:
                return
            current, path = stack.pop(0)
            key = key_of(current)
            if key in self._now:
                yield key, path
                continue
            base = base_of(current)
            onward = path if base in _SILENT else (_plain(base), *path)
            stack += [(edge, onward) for edge, _ in current.next_functions if edge is not None]

    # -- what is told ------------------------------------------------------------------------------

    def downstream(self, node: Any, module: nn.Module | None) -> tuple[Neighbour, ...]:
        """Return what the output of ``module`` went to, in this step or the last one on record."""
        key = key_of(node) if node is not None else None
        record = self._now if any(k == key for k, _ in _sources(self._now)) else self._last
        if record is self._last:
            key = self._of_last.get(id(module)) if module is not None else None
        if key is None:
            return ()
        users: dict[Any, list[tuple[Any, tuple[str, ...]]]] = {}
        for name, call in record.items():
            for source, path in call.sources:
                users.setdefault(source, []).append((name, path))
        found: list[Neighbour] = []
        self._follow(record, users, key, 1, found, set())
        return tuple(found)

    def _follow(
        self, record: dict[Any, _Call], users: dict[Any, Any], key: Any, depth: int,
        found: list[Neighbour], seen: set[Any],
    ) -> None:  # fmt: skip
        for name, path in users.get(key, ()):
            level = depth
            for op in path:
                if level <= DEPTH and len(found) < _MAX_LINES:
                    found.append(Neighbour(name=op, op=op, depth=level))
                level += 1
            if level > DEPTH or len(found) >= _MAX_LINES:
                continue
            call = record[name]
            module = call.module() if call.module is not None else None
            if call.module is None:
                found.append(Neighbour(name="backward", op="backward", depth=level))
            elif module is not None:
                self._measured.add(id(module))
                found.append(self._neighbour(module, call, level))
            if name not in seen:
                seen.add(name)
                self._follow(record, users, name, level + 1, found, seen)

    def upstream(self, node: Any, frame: types.FrameType | None) -> tuple[Neighbour, ...]:
        """Return what the value made by ``node`` came from."""
        found: list[Neighbour] = []
        if node is not None:
            self._climb(node, 1, found, frame, {node})
        return tuple(found)

    def _climb(
        self, node: Any, depth: int, found: list[Neighbour], frame: Any, seen: set[Any]
    ) -> None:
        for edge, _ in node.next_functions:
            current = edge
            while current is not None and base_of(current) in _SILENT and current.next_functions:
                current = current.next_functions[0][0]
            if current is None or current in seen or len(found) >= _MAX_LINES:
                continue
            seen.add(current)
            leaf = leaf_of(current)
            if leaf is not None:
                found.append(self._leaf(leaf, depth, frame))
                continue
            found.append(self._maker(current, node, depth, frame))
            if depth < DEPTH:
                self._climb(current, depth + 1, found, frame, seen)

    def _leaf(self, leaf: Tensor, depth: int, frame: Any) -> Neighbour:
        named = self._training.names.of(leaf, frame)
        return Neighbour(
            name=named.name if named is not None else "a leaf",
            op="parameter" if isinstance(leaf, nn.Parameter) else "leaf",
            depth=depth,
            tensor=stats(leaf.detach(), limit=_SAMPLE),
        )

    def _maker(self, node: Any, user: Any, depth: int, frame: Any) -> Neighbour:
        tensor = _result_of(node, user)
        call = self._now.get(key_of(node))
        module = call.module() if call is not None and call.module is not None else None
        if call is not None and module is not None:
            neighbour = self._neighbour(module, call, depth)
            return _with(neighbour, tensor)
        op = _plain(base_of(node))
        leaves = (leaf_behind(edge) for edge, _ in node.next_functions)
        own = next((leaf for leaf in leaves if leaf is not None), None)
        named = self._training.names.of(own, frame) if own is not None else None
        site = self._training.watch.site_of_node(node)
        return Neighbour(
            name=named.module_name if named is not None else op,
            op=op,
            depth=depth,
            source=place_of(site.code, site.lasti, site.op).location if site else None,
            tensor=tensor,
        )

    def _neighbour(self, module: nn.Module, call: _Call, depth: int) -> Neighbour:
        return Neighbour(
            name=self._names.of(module),
            op=call.kind,
            depth=depth,
            source=self._line_of(module),
            tensor=call.tensor or _shape_only(call.shape),
        )

    def _line_of(self, module: nn.Module) -> Location | None:
        modules = self._training.modules
        site = modules.site_of(module) if modules is not None else None
        return place_of(site.code, site.lasti, site.op).location if site is not None else None


def _sources(record: dict[Any, _Call]) -> Iterator[tuple[Any, Any]]:
    for call in record.values():
        yield from call.sources


def _with(neighbour: Neighbour, tensor: Stats | None) -> Neighbour:
    if tensor is None or (neighbour.tensor is not None and neighbour.tensor.min is not None):
        return neighbour
    return Neighbour(
        name=neighbour.name, op=neighbour.op, depth=neighbour.depth, source=neighbour.source,
        tensor=tensor,
    )  # fmt: skip


def _result_of(node: Any, user: Any) -> Stats | None:
    """Return the statistics of what ``node`` made, if the graph still holds it; else its shape."""
    made = next(iter(getattr(node, "_input_metadata", ())), None)
    shape = tuple(made.shape) if made is not None else None
    kept = ((node, ("result", "output")), (user, _GIVEN))
    for holder, labels in kept:
        for label in labels:
            value = saved(holder, label)
            plain = readable_tensor(value) if isinstance(value, Tensor) else None
            if plain is not None and (shape is None or tuple(plain.shape) == shape):
                return stats(plain.detach(), limit=_SAMPLE)
    return _shape_only(shape) if shape is not None else None


def _shape_only(shape: tuple[int, ...]) -> Stats:
    size = 1
    for n in shape:
        size *= n
    return Stats(shape=shape, dtype="", device="", size=size, bytes=0)


def _plain(base: str) -> str:
    """Return ``native_layer_norm`` for ``NativeLayerNorm``."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(base))
