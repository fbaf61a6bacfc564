"""Which keys of a checkpoint belong to a tensor or a module.

RUNS IN the training process.
"""

from __future__ import annotations

import difflib
from typing import Collection, Iterable, Mapping, Sequence

from torch import Tensor

from zentracer.patches.change import Refused

_WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Parts of keys that wrappers of modules have put there."""
_EXTRA = "_extra_state"
_MAX_NAMES = 4


def key_of(stored: Collection[str], way: Sequence[str], label: str, path: str) -> str:
    """Return the key of one tensor.

    Args:
        stored: the keys of the file.
        way: the names from the model to the tensor, as far as they are known.
        label: how the user calls it.
        path: the file.

    Raises:
        Refused: there is no such key, or there are several.
    """
    if set(stored) == {""}:
        return ""
    last = way[-1:] or [label.rpartition(".")[2]]
    found = _best({key: key.split(".") for key in stored}, list(way) or last)
    if len(found) == 1:
        return found[0]
    name = ".".join(way) or label
    if found:
        raise Refused(f"Several keys of `{path}` may be `{name}`: {some(sorted(found))}.")
    near = difflib.get_close_matches(name, stored, n=3, cutoff=0.4)
    hint = f" Similar keys: {', '.join(near)}." if near else f" It has {some(sorted(stored))}."
    raise Refused(f"`{path}` has no key for `{name}`.{hint}")


def prefix_of(
    stored: Mapping[str, Tensor],
    own: Mapping[str, Tensor],
    aliases: Mapping[str, str],
    way: Sequence[str],
    label: str,
    path: str,
) -> str:
    """Return what stands in the file before the keys of one module.

    Args:
        stored: the tensors of the file.
        own: the tensors of the module, which must all be there, and no others.
        aliases: further names of them: name -> the one in ``own``.
        way: the names from the model to the module.
        label: how the user calls it.
        path: the file.

    Raises:
        Refused: the file does not fit the module; the text says why.
    """
    prefixes = _prefixes(stored, [*own, *aliases])
    fitting = {p: p.split(".")[:-1] for p in prefixes if not _faults(stored, own, aliases, p)}
    whole = [p for p in fitting if all(key.startswith(p) for key in stored)]
    found = whole if len(whole) == 1 else _best(fitting, way)
    if len(found) == 1:
        return found[0]
    if found:
        raise Refused(
            f"Several parts of `{path}` fit `{label}`: keys that begin with "
            f"{some(sorted(map(repr, found)))}. Load them one by one."
        )
    named = {p: p.split(".")[:-1] for p in prefixes}
    likely = _best(named, way) or sorted(prefixes, key=len) or [""]
    problems = _faults(stored, own, aliases, max(likely, key=lambda p: _common(stored, own, p)))
    if not problems:
        problems = [f"the keys that fit begin with {some(sorted(map(repr, fitting)))}"]
    raise Refused(f"`{path}` does not fit `{label}`: {'; '.join(problems)}.")


def some(names: Sequence[str]) -> str:
    """Return the first names, and how many there are besides."""
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def _prefixes(stored: Iterable[str], names: Iterable[str]) -> set[str]:
    """Return what stands before one of the names in one of the keys."""
    names = set(names)
    found: set[str] = set()
    for key in stored:
        parts = key.split(".")
        for at in range(len(parts)):
            if ".".join(parts[at:]) in names:
                found.add("".join(f"{part}." for part in parts[:at]))
    return found


def _best(keys: Mapping[str, Sequence[str]], way: Sequence[str]) -> list[str]:
    """Return the keys that name the way best: as much of it, with as little besides."""
    clean = {key: [p for p in parts if p not in _WRAPPERS] for key, parts in keys.items()}
    wanted = [part for part in way if part not in _WRAPPERS]
    if not wanted:  # a model: nothing in its name tells which of several parts is meant
        return list(keys)
    scores: dict[str, int] = {}
    for key, parts in clean.items():
        shorter = min(len(parts), len(wanted))
        is_named = parts[len(parts) - shorter :] == wanted[len(wanted) - shorter :]
        if is_named and shorter:
            scores[key] = shorter * 1000 - abs(len(parts) - len(wanted))
    best = max(scores.values(), default=0)
    return [key for key, score in scores.items() if score == best]


def _common(stored: Mapping[str, Tensor], own: Mapping[str, Tensor], prefix: str) -> int:
    return sum(prefix + name in stored for name in own)


def _faults(
    stored: Mapping[str, Tensor],
    own: Mapping[str, Tensor],
    aliases: Mapping[str, str],
    prefix: str,
) -> list[str]:
    """Return what is missing, what is too much, and what has another shape."""
    theirs = {key[len(prefix) :] for key in stored if key.startswith(prefix)}
    theirs = {key for key in theirs if key.rpartition(".")[2] != _EXTRA}
    given = {aliases.get(name, name) for name in theirs}
    missing = [name for name in own if name not in given]
    unexpected = sorted(name for name in theirs if name not in own and name not in aliases)
    told = [f"missing {some([_near(name, unexpected) for name in missing])}"] if missing else []
    told += [f"unexpected {some(unexpected)}"] if unexpected else []
    for name in sorted(theirs - set(unexpected)):
        mine, its = own[aliases.get(name, name)], stored[prefix + name]
        if mine.shape != its.shape:
            told.append(f"{name} is {list(its.shape)} in the file and {list(mine.shape)} here")
    return told


def _near(name: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return f"{name} (similar: {near[0]})" if near else name
