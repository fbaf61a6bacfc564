"""Tensors in a file: safetensors, or what ``torch.save`` has written.

RUNS IN the training process, inside ``unseen()``. No code in a file is ever run.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import os
import pickle
from typing import Any, Mapping, NamedTuple

import torch
from torch import Tensor

from zentracer.observe.stats import error_text
from zentracer.patches.change import Refused

_WEIGHTS = (
    "state_dict",
    "model_state_dict",
    "model_state",
    "model",
    "module",
    "net",
    "network",
    "weights",
    "params",
)
"""Under which key the programs of many users keep the weights, the most telling first."""
_DEPTH = 3
_MAX_NAMES = 4


class Stored(NamedTuple):
    """What a file holds."""

    path: str
    tensors: dict[str, Tensor]
    """By key; the only one has the key ``""`` if the file is one tensor."""
    code: str
    """An expression that reads the same."""


def stored_in(text: str) -> Stored:
    """Read a file, without copying it into memory where that can be.

    Args:
        text: its path, relative to the program's working directory; quotes are taken off.

    Raises:
        Refused: there is no such file, or there are no tensors in it that can be read safely.
    """
    path = os.path.expanduser(_unquoted(text))
    if not os.path.isfile(path):
        raise Refused(_missing(path))
    try:
        with open(path, "rb") as file:
            start = file.read(9)
    except OSError as error:
        raise Refused(f"`{path}` cannot be read: {error.strerror}.") from None
    if path.endswith(".safetensors") or (len(start) == 9 and start[8:] == b"{"):
        code = f"safetensors.torch.load_file({path!r})"
        return Stored(path, _safetensors(path), code)
    held, keys = _weights(_loaded(path), path)
    code = f'torch.load({path!r}, map_location="cpu", weights_only=True)'
    return Stored(path, held, code + "".join(f"[{key!r}]" for key in keys))


def _unquoted(text: str) -> str:
    text = text.strip()
    if text[:1] in ("'", '"'):
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            return text
        return value if isinstance(value, str) else text
    return text


def _missing(path: str) -> str:
    folder, name = os.path.split(path)
    if os.path.isdir(path):
        return f"`{path}` is a folder; name one file in it."
    try:
        near = difflib.get_close_matches(name, os.listdir(folder or "."), n=2)
    except OSError:
        return f"There is no folder `{folder}`, seen from {os.getcwd()}."
    hint = f" Similar names: {', '.join(near)}." if near else ""
    return f"There is no file `{path}`, seen from {os.getcwd()}.{hint}"


def _safetensors(path: str) -> dict[str, Tensor]:
    try:
        # The user's own package: it is no part of this one, nor needed by it.
        reader: Any = importlib.import_module("safetensors.torch")
    except ImportError:
        raise Refused(
            f"`{path}` is a safetensors file, and the program's environment lacks the package "
            "that reads it: pip install safetensors."
        ) from None
    try:
        return dict(reader.load_file(path, device="cpu"))
    except Exception as error:  # its own kind of exception, which is no other
        raise Refused(f"`{path}` cannot be read: {error_text(error)}.") from None


def _loaded(path: str) -> Any:
    for mmap in (True, None):  # files of the old format cannot be mapped
        try:
            return torch.load(path, map_location="cpu", weights_only=True, mmap=mmap)
        except pickle.UnpicklingError as error:
            raise Refused(
                f"`{path}` is no checkpoint of tensors alone, and it is not loaded: that could run "
                f"code from the file. {_first_line(error)} Save the state_dict() by itself."
            ) from None
        except (RuntimeError, EOFError, OSError, ValueError, TypeError, KeyError) as error:
            failed = error
    raise Refused(f"`{path}` cannot be read by torch.load: {_first_line(failed)}")


def _first_line(error: BaseException) -> str:
    line = next(iter(error_text(error).splitlines()), "").strip()
    return f"{line[:200].rstrip('.')}."


def _weights(value: Any, path: str) -> tuple[dict[str, Tensor], list[str]]:
    """Return the tensors of what was loaded, and the keys that lead to them."""
    keys: list[str] = []
    for _ in range(_DEPTH):
        if isinstance(value, Tensor):
            return {"": value}, keys
        if not isinstance(value, Mapping):
            break
        tensors = {str(key): x for key, x in value.items() if isinstance(x, Tensor)}
        inner = {key: v for key, v in value.items() if isinstance(v, Mapping) and _has_tensor(v)}
        known = [key for key in _WEIGHTS if key in inner]
        if not known and tensors:
            return tensors, keys
        if not known and len(inner) != 1:
            break
        keys.append((known or list(inner))[0])
        value = value[keys[-1]]
    found = f" It holds {', '.join(map(str, list(value)[:_MAX_NAMES]))}." if _named(value) else ""
    raise Refused(f"`{path}` holds no weights that could be told from the rest.{found}")


def _has_tensor(value: Mapping[Any, Any], depth: int = 2) -> bool:
    return any(
        isinstance(x, Tensor) or (depth and isinstance(x, Mapping) and _has_tensor(x, depth - 1))
        for x in value.values()
    )


def _named(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)
