"""Take the values of a tensor or of a whole module from a file.

RUNS IN the training process. All is compared before anything is changed.
"""

from __future__ import annotations

import os
import types
from typing import Any, Callable, Sequence

import torch
from torch import Tensor, nn

from zentracer.control.pointed import Pointed
from zentracer.frameworks.pytorch.modules import named_modules, root_modules
from zentracer.frameworks.pytorch.patches import files, keys
from zentracer.frameworks.pytorch.patches.operands import fitting
from zentracer.frameworks.pytorch.patches.operations import Computed
from zentracer.frameworks.pytorch.patches.place import place_of
from zentracer.frameworks.pytorch.patches.tables import (
    Held,
    held_below,
    indices,
    once,
    owner,
    way,
    written,
)
from zentracer.frameworks.pytorch.patches.tensor_change import TensorChange
from zentracer.frameworks.pytorch.unseen import unseen
from zentracer.patches.change import Change, Refused
from zentracer.patches.several import Several


def load_change(
    value: str | None,
    pointed: Pointed,
    more: Sequence[Any],
    frame: types.FrameType | None,
    kind: type[TensorChange],
    part: type[TensorChange],
) -> Change:
    """Return the change that takes a tensor, or all that a module holds, from a file.

    Args:
        value: the file.
        pointed: a tensor or a module.
        more: what a tensor is indexed with besides.
        frame: where the program stands.
        kind: the change of a tensor.
        part: the change of a tensor of a module.

    Raises:
        Refused: the file cannot be read, or does not fit.
    """
    if not value:
        raise Refused("`load` needs a value: the path of a file.")
    with unseen():
        stored = files.stored_in(value)
        if isinstance(pointed.value, nn.Module):
            return _of_module(stored, pointed, frame, part)
        return _of_tensor(stored, pointed, more, frame, kind)


def _of_tensor(
    stored: files.Stored,
    pointed: Pointed,
    more: Sequence[Any],
    frame: types.FrameType | None,
    kind: type[TensorChange],
) -> Change:
    place = place_of(pointed, more)
    found = owner(pointed)
    whole = next(value for value in pointed.values if isinstance(value, Tensor))
    at = next(i for i, value in enumerate(pointed.values) if value is whole)
    if found is not None:
        names = [*_names_to(found[0], found[2][:-1]), found[1]]
    else:
        names = _plain_way(pointed, at)
    key = keys.key_of(stored.tensors, names, place.label, stored.path)
    x, shape = stored.tensors[key], place.view().shape
    code = f"{stored.code}[{key!r}]" if key else stored.code
    if x.shape != shape and x.shape == whole.shape:
        for index in indices(pointed, more):  # the file has the whole of it
            x = x[index]
        code = ""
    pointed.release()
    return kind(place, "load", _loading(x, stored.path, key, code), stored.path, frame)


def _plain_way(pointed: Pointed, at: int) -> list[str]:
    """Return the names on the way, beginning with the variable."""
    return [pointed.label.partition(".")[0].partition("[")[0], *way(pointed, at)]


def _of_module(
    stored: files.Stored,
    pointed: Pointed,
    frame: types.FrameType | None,
    part: type[TensorChange],
) -> Change:
    module, label = pointed.value, pointed.label
    every = [one for one in held_below(module) if one.is_saved]
    held, notes = once(iter(every))
    own = {one.path: one.tensor for one in held}
    aliases = _aliases(every, held)
    names = _names_to(module, way(pointed, len(pointed.values) - 1))
    prefix = keys.prefix_of(stored.tensors, own, aliases, names, label, stored.path)
    parts = [_part(one, stored, prefix, aliases, label, frame, part) for one in held]
    pointed.release()
    if not parts:
        raise Refused(f"`{label}` has no parameters and no buffers.")
    if prefix:
        notes.append(f"keys that begin with {prefix!r}")
    text = f"loaded from {os.path.basename(stored.path)}, {len(parts)} tensors"
    code = f"{label}.load_state_dict({stored.code})"
    if prefix:
        code = (
            f"saved = {stored.code}\n{label}.load_state_dict(\n"
            f"    {{k[{len(prefix)}:]: v for k, v in saved.items() "
            f"if k.startswith({prefix!r})}}\n)"
        )
    return Several(label, text, parts, notes=notes, code=code)


def _names_to(module: nn.Module, otherwise: list[str]) -> list[str]:
    """Return the names from the model to one of its modules: the user may have it by another."""
    for root in root_modules():
        for name, one in named_modules(root):
            if one is module:
                return name.split(".") if name else []
    return otherwise


def _aliases(every: Sequence[Held], held: Sequence[Held]) -> dict[str, str]:
    """Return the further names of tied tensors: name -> the first name."""
    first = {one.tensor.data_ptr(): one.path for one in held if one.tensor.numel()}
    known = {one.path for one in held}
    return {
        one.path: first[one.tensor.data_ptr()]
        for one in every
        if one.path not in known and one.tensor.data_ptr() in first
    }


def _part(
    one: Held,
    stored: files.Stored,
    prefix: str,
    aliases: dict[str, str],
    label: str,
    frame: types.FrameType | None,
    part: type[TensorChange],
) -> Change:
    names = [one.path, *(alias for alias, first in aliases.items() if first == one.path)]
    given = [prefix + name for name in names if prefix + name in stored.tensors]
    x = stored.tensors[given[0]]
    for other in given[1:]:
        if not torch.equal(x, stored.tensors[other]):
            raise Refused(
                f"`{given[0]}` and `{other}` differ in `{stored.path}`, and are one tensor here."
            )
    place = place_of(Pointed(written(label, one.path), [one.tensor], []))
    return part(place, "load", _loading(x, stored.path, given[0], ""), stored.path, frame)


def _loading(x: Tensor, path: str, key: str, code: str) -> Callable[[Tensor, str], Computed]:
    def compute(there: Tensor, label: str) -> Computed:
        if x.shape != there.shape:
            raise Refused(
                f"`{label}` is {list(there.shape)}, and {f'`{key}`' if key else 'the tensor'} in "
                f"`{path}` is {list(x.shape)}."
            )
        if x.is_sparse or x.is_quantized:
            raise Refused(f"`{key}` in `{path}` is sparse or quantised; load a dense tensor.")
        new = fitting(x.to(there.device), there, label)
        note = (f"{_name(x)} in the file became {_name(there)}",) if x.dtype != there.dtype else ()
        statement = f"{{}}.copy_({code.replace('{', '{{').replace('}', '}}')})" if code else ""
        return Computed(new, f"loaded from {os.path.basename(path)}", note, statement)

    return compute


def _name(x: Tensor) -> str:
    return str(x.dtype).rpartition(".")[2]
