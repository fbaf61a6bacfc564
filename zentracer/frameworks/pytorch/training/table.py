"""Evidence as lines whose columns stand below each other.

RUNS IN the training process, when there is something to tell.
"""

from __future__ import annotations

from typing import Iterable


def table(rows: Iterable[list[str]]) -> tuple[str, ...]:
    """Return rows of cells as lines; numbers within a column end below each other."""
    columns = [_aligned(list(column)) for column in zip(*rows)]
    return tuple("  ".join(cells).rstrip() for cells in zip(*columns))


def _aligned(cells: list[str]) -> list[str]:
    """Return the cells of one column, of one width; those of as many words align word by word."""
    split = [cell.split(" ") for cell in cells]
    count = len(split[0])
    regular = [words for words in split if len(words) == count]
    widths = [max(map(len, words)) for words in zip(*regular)]
    lines = [
        " ".join(map(_justified, words, widths)) if len(words) == count else " ".join(words)
        for words in split
    ]
    width = max(map(len, lines))
    return [line.ljust(width) for line in lines]


def _justified(word: str, width: int) -> str:
    return word.rjust(width) if _is_number(word) else word.ljust(width)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
