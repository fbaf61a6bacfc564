"""Indices and targets outside of their range: embedding, gather, indexing, losses.

RUNS IN the training process, when an exception is explained.
"""

from __future__ import annotations

import re
from typing import Optional

import torch
from torch import Tensor

from zentracer.frameworks.pytorch.errors.explanation import Explanation
from zentracer.frameworks.pytorch.errors.failure import Failure
from zentracer.frameworks.pytorch.errors.lookup import shape_of
from zentracer.frameworks.pytorch.errors.making import made, shape_text
from zentracer.frameworks.pytorch.errors.operands import (
    Operand,
    module_name,
    operand,
    operands_of,
    whole_number,
)
from zentracer.observe.quiet import quiet

LABEL = "Index out of range"
_MESSAGE = re.compile(
    r"index out of range in self|is out of bounds for dimension|Target -?\d+ is out of bounds|"
    r"Class values must be|index -?\d+ is out of (bounds|range)|index_select\(\): .*out of|"
    r"out of range: tried to access|takes value -?\d+ which is not in the valid range|"
    r"Assertion .*(t >= 0|srcIndex|index out of bounds)"
)
_SHOWN = 6
_LARGEST = 1 << 24
"""Elements that are searched for the offending ones."""


def explain(failure: Failure) -> Optional[Explanation]:
    """Explain an index that is too large or negative."""
    if not _MESSAGE.search(failure.message):
        return None
    said = Explanation(LABEL, "", op=_op(failure))
    index, size, table = _index_and_size(failure)
    if index is None or size is None:
        _from_message(failure, said)
        return said
    said.blamed = index
    lowest = -size if table in ("index", "data") else 0
    bad = _offending(index.value, lowest, size, _ignored(failure, table))
    _sentence(failure, said, index, size, table, bad)
    if table == "embedding":
        _embedding(failure, said, index, size)
    elif table == "target":
        _target(said, index, size, bad)
    else:
        said.suggest(
            f"Keep {index.called} below {size}",
            f"Look at how {index.called} is computed; {_range(lowest, size)} is allowed.",
        )
    return said


def _op(failure: Failure) -> str:
    if failure.called is not None:
        return type(failure.called).__name__
    for word in ("embedding", "cross_entropy", "nll_loss", "gather", "one_hot", "index_select"):
        if any(word in spot.code.co_name for spot in failure.inner):
            return word
    return "index"


def _index_and_size(
    failure: Failure,
) -> tuple[Optional[Operand], Optional[int], str]:
    """Return the operand with the indices, the size of what they index, and its kind."""
    given = operands_of(failure)
    target = operand(failure, "target")
    source = operand(failure, "input", "self")
    if "Target" in failure.message or "t >= 0" in failure.message:
        if target is None and len(given) >= 2:
            source, target = given[0], given[1]
        if target is None or source is None:
            return None, None, ""
        shape = shape_of(source.value)
        return target, (*shape[1:2], *shape, 0)[0], "target"
    if "Class values" in failure.message:
        index = operand(failure, "index", "tensor", "input")
        classes = whole_number(failure, "num_classes")
        return index or (given[0] if given else None), classes, "target"
    weight = operand(failure, "weight")
    if (
        weight is not None
        and source is not None
        and ("in self" in failure.message or "takes value" in failure.message)
    ):
        return source, shape_of(weight.value)[0], "embedding"
    integers = [
        one
        for one in given
        if not one.value.is_floating_point() and one.value.dtype is not torch.bool
    ]
    index = operand(failure, "index") or (integers[-1] if integers else None)
    size = re.search(r"dimension \d+ with size (\d+)", failure.message)
    if index is None or size is None:
        others = [one for one in given if one is not index]
        if index is None or not others:
            return None, None, ""
        return index, shape_of(others[0].value)[0], "data"
    return index, int(size[1]), "index" if _op(failure) == "index" else "gather"


def _ignored(failure: Failure, table: str) -> Optional[int]:
    return whole_number(failure, "ignore_index") if table == "target" else None


def _offending(
    x: Tensor, lowest: int, size: int, ignored: Optional[int]
) -> list[tuple[tuple[int, ...], int]]:
    """Return the first offending elements with their positions; none if they cannot be read."""
    if not x.is_cpu or x.is_meta or x.numel() > _LARGEST or x.is_floating_point():
        return []
    with quiet(), torch.no_grad():
        plain = x.detach()
        bad = (plain < lowest) | (plain >= size)
        if ignored is not None:
            bad &= plain != ignored
        where = bad.nonzero()[:_SHOWN]
        if plain.dim() == 0:
            return [((), int(plain))] if bool(bad) else []
        return [(tuple(row), int(plain[tuple(row)])) for row in where.tolist()]


def _sentence(
    failure: Failure, said: Explanation, index: Operand, size: int, table: str,
    bad: list[tuple[tuple[int, ...], int]],
) -> None:  # fmt: skip
    values = sorted({value for _, value in bad})
    shown = ", ".join(map(str, values)) or _number(failure.message)
    lowest = -size if table in ("index", "data") else 0
    if table == "embedding":
        module = failure.called
        name = "the table"
        if module is not None:
            name = f"the embedding `{module_name(failure, module)}`"
        said.text = (
            f"Index {shown} with table size {size}: {index.called} asks {name} for "
            f"rows it does not have ({_range(0, size)} is allowed)."
        )
    elif table == "target":
        source = operand(failure, "input", "self")
        of = f" from {source.called} {shape_text(shape_of(source.value))}" if source else ""
        said.text = f"Label value {shown} in {index.called}: {_range(0, size)} is allowed{of}."
        if not any(position for position, _ in bad):
            return
    else:
        said.text = (
            f"Index {shown} in {index.called}: {_range(lowest, size)} is allowed, since the "
            f"indexed dimension has size {size}."
        )
    places = [_position(position) for position, _ in bad if position]
    if places:
        rows = "rows" if all(len(position) == 1 for position, _ in bad) else "positions"
        said.fact(f"{index.called} is out of range at {rows} {', '.join(places)}.")


def _embedding(failure: Failure, said: Explanation, index: Operand, size: int) -> None:
    shape = shape_of(index.value)
    if shape:
        said.fact(
            f"{index.called} is {shape_text(shape)}: sequence length {shape[-1]} in this batch."
        )
    said.suggest(
        f"Cut the sequence to {size}, or make the table larger",
        f"The table has {size} rows. A table of positions must have as many rows as the longest "
        "sequence, one of tokens as many as the vocabulary, with its special tokens.",
    )
    line = made(failure, index.value)
    if line is not None:
        said.fact(f"{line.name} was made here", line.location)


def _target(
    said: Explanation, index: Operand, size: int, bad: list[tuple[tuple[int, ...], int]]
) -> None:
    values = [value for _, value in bad]
    if values and index.value.is_cpu:
        with quiet(), torch.no_grad():
            lowest, highest = int(index.value.min()), int(index.value.max())
        said.fact(f"{index.called} runs from {lowest} to {highest}.")
        if (lowest, highest) == (1, size):
            said.suggest(
                f"Subtract 1 from {index.called}",
                f"Labels count from 1 here; classes are counted from 0 to {size - 1}.",
            )
            return
    if any(value < 0 for value in values):
        said.suggest(
            "Mark what is to be left out with ignore_index",
            f"{min(values)} is no class: give the loss ignore_index={min(values)}, or drop them.",
        )
        return
    said.suggest(
        "Give the last layer an output for each class",
        f"It has {size} outputs, so labels run from 0 to {size - 1}; check the number of classes "
        "and the mapping of labels to numbers.",
    )


def _from_message(failure: Failure, said: Explanation) -> None:
    said.text = f"An index is out of range: {' '.join(failure.message.split())[:200]}"
    said.suggest(
        "Look at the largest and smallest index",
        "Compare them with the size of what is indexed, on the line above.",
    )


def _number(message: str) -> str:
    found = re.search(r"(?:Target|index|value) (-?\d+)", message)
    return found[1] if found else "?"


def _range(lowest: int, size: int) -> str:
    return f"{lowest}..{size - 1}"


def _position(position: tuple[int, ...]) -> str:
    return str(position[0]) if len(position) == 1 else f"[{', '.join(map(str, position))}]"
