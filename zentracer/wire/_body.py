"""How a message body is declared: a frozen, slotted, keyword-only dataclass."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, TypeVar

T = TypeVar("T")

if sys.version_info >= (3, 10):
    _OPTIONS: dict[str, Any] = {"frozen": True, "slots": True, "kw_only": True}
else:  # the runtime also lives in Python 3.9 processes, where dataclasses lack both options
    _OPTIONS = {"frozen": True}

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
elif sys.version_info >= (3, 11):
    from typing import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """Stand in for the typing marker on interpreters that lack it."""
        return lambda decorated: decorated


@dataclass_transform(frozen_default=True, kw_only_default=True)
def body(cls: type[T]) -> type[T]:
    """Make ``cls`` a message body."""
    return dataclass(**_OPTIONS)(cls)
