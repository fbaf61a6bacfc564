"""How ``torch.nn.Module`` reads: its size, training flag, submodules, parameters and buffers.

RUNS IN the user's training process. Everything is read from the instances' dictionaries: no
``named_parameters``, ``__getattr__`` or ``extra_repr`` of the user's runs.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.torch_facts import special_type
from zentracer.present.attributes import instance_dict, own_attributes, properties
from zentracer.present.numbers import byte_count, plural
from zentracer.present.rows import Child, Group, Text, same_expression

MOST_MODULES = 2_000
"""Modules visited to count parameters for one row."""


def summarise_module(module: Any) -> str:
    """``Linear(in_features=8, …) · 72 parameters, 288 B · training``."""
    mode = "training" if instance_dict(module).get("training") else "eval"
    return f"{_signature(module)} · {_size_text(module)} · {mode}"


def module_children(module: Any) -> List[Child]:
    """Size, training flag, submodules, parameters, buffers, and the plain attributes last."""
    held = instance_dict(module)
    rows: List[Child] = [
        ("parameters", Text(_size_text(module)), None),
        ("training", held.get("training"), ".training"),
    ]
    for table in ("_modules", "_parameters", "_buffers"):
        rows.extend(_table_rows(held.get(table), table))
    rows.append(("attributes", Group("", lambda: _module_attributes(module)), same_expression))
    return rows


def _table_rows(table: Any, name: str) -> List[Child]:
    rows: List[Child] = []
    for key, value in list(table.items()) if isinstance(table, dict) else []:
        plain = isinstance(key, str) and key.isidentifier()
        rows.append((str(key), value, f".{key}" if plain else f".{name}[{key!r}]"))
    return rows


def _module_attributes(module: Any) -> List[Child]:
    torch = torch_if_loaded()
    internal = set(torch.nn.Module().__dict__) if torch is not None else set()
    own = [row for row in own_attributes(module) if row[0] not in internal]
    return own + properties(module)


def _signature(module: Any) -> str:
    name = type(module).__name__
    # extra_repr of PyTorch's own layers is cheap; one of the user's may do anything.
    if not str(getattr(type(module).extra_repr, "__module__", "")).startswith("torch.nn."):
        return name
    try:
        details = module.extra_repr()
    except Exception:  # a layer without all of its attributes
        return name
    return f"{name}({details})" if details and "\n" not in details else name


def _size_text(module: Any) -> str:
    count = size = lazy = 0
    modules, complete = _tree(module)
    seen = set()
    with quiet():
        for held in modules:
            for parameter in _tensors(held.get("_parameters")):
                if id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                if special_type(type(parameter)) == "lazy":
                    lazy += 1
                    continue
                elements = _elements(parameter)
                count += elements
                size += elements * parameter.dtype.itemsize
    text = f"{'' if complete else '≥'}{plural(count, 'parameter')}, {byte_count(size)}"
    return f"{text}, {lazy} uninitialised (lazy)" if lazy else text


def _tree(module: Any) -> Tuple[List[Dict[str, Any]], bool]:
    """The dictionaries of a module and all below it, and whether none was left out."""
    found: List[Dict[str, Any]] = []
    seen = {id(module)}
    waiting = [module]
    while waiting and len(found) < MOST_MODULES:
        held = instance_dict(waiting.pop())
        found.append(held)
        for child in _tensors(held.get("_modules")):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)
    return found, not waiting


def _tensors(table: Any) -> Iterable[Any]:
    return [value for value in table.values() if value is not None] if table else []


def _elements(tensor: Any) -> int:
    try:
        elements = tensor.numel()
        return elements if type(elements) is int else 0
    except Exception:  # a broken tensor type counts as empty
        return 0
