"""Locks that a forked child can trust.

RUNS IN the training process. A data loader forks at any moment: what another thread holds then is
held for ever in the child, where that thread does not exist.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, MutableMapping, Tuple

_owners: MutableMapping[Any, Tuple[str, Callable[[], Any]]] = weakref.WeakKeyDictionary()


def renewed(owner: Any, attribute: str, make: Callable[[], Any]) -> Any:
    """Return a new lock, to be kept in ``owner.attribute``; a forked child puts another there.

    Args:
        owner: an object with one such lock, or a module; it is not kept alive.
        attribute: where the owner keeps it and looks it up each time.
        make: ``threading.Lock`` or ``threading.RLock``.
    """
    _owners[owner] = (attribute, make)
    return make()


def _forked() -> None:
    for owner, (attribute, make) in list(_owners.items()):
        setattr(owner, attribute, make())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
