"""How storages read: one line and a few facts, never their elements.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, Iterable, List, Mapping, Tuple

from zentracer.observe.quiet import quiet, torch_if_loaded
from zentracer.observe.stats import error_text
from zentracer.present.attributes import instance_dict
from zentracer.present.numbers import byte_count
from zentracer.present.rows import Child, Text


def summarise_storage(storage: Any, sharing: Iterable[str] = ()) -> str:
    """``cpu · 120 MB · shared by big, view``; the elements are never read."""
    try:
        with quiet():
            untyped = getattr(storage, "_untyped_storage", storage)
            text = f"{untyped.device} · {byte_count(untyped.nbytes())}"
    except Exception as error:  # a storage that was freed or never existed
        return f"not available: {error_text(error)}"
    names = list(sharing)
    return f"{text} · shared by {', '.join(names)}" if names else text


def storage_children(storage: Any) -> List[Child]:
    """A few facts and no elements."""
    untyped = getattr(storage, "_untyped_storage", storage)
    rows: List[Child] = []
    for name in ("device", "nbytes", "data_ptr", "resizable"):
        rows.append((name, _fact(untyped, name), f".{name}" if name == "device" else f".{name}()"))
    return rows


def names_sharing(storage: Any, namespace: Mapping[str, Any]) -> List[str]:
    """Names of tensors in ``namespace``, or of parameters of modules there, on that storage."""
    try:
        with quiet():
            untyped = getattr(storage, "_untyped_storage", storage)
            return [name for name, other in _named_storages(namespace) if other == untyped._cdata]
    except Exception:  # a storage that was freed: nothing shares it
        return []


def _named_storages(namespace: Mapping[str, Any]) -> Iterable[Tuple[str, int]]:
    torch = torch_if_loaded()
    for name, value in list(namespace.items()):
        if issubclass(type(value), torch.Tensor):
            yield from _storage_of(name, value)
        elif issubclass(type(value), torch.nn.Module):
            held = instance_dict(value)
            for key, tensor in {**held["_parameters"], **held["_buffers"]}.items():
                if tensor is not None:
                    yield from _storage_of(f"{name}.{key}", tensor)


def _storage_of(name: str, tensor: Any) -> Iterable[Tuple[str, int]]:
    try:
        yield name, tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return  # sparse layouts and wrappers have no storage


def _fact(storage: Any, name: str) -> Any:
    try:
        with quiet():
            found = getattr(storage, name)
            return found if name == "device" else found()
    except Exception as error:  # a storage that was freed or never existed
        return Text(f"not available: {error_text(error)}")
