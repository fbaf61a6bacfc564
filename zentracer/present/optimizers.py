"""How optimisers read: parameter groups and a summary of the state.

RUNS IN the user's training process.
"""

from __future__ import annotations

from typing import Any, List, Mapping

from zentracer.present.arrays import brief
from zentracer.present.attributes import instance_dict, own_attributes, properties
from zentracer.present.kinds import is_array
from zentracer.present.numbers import plural
from zentracer.present.rows import Child, Group, Items, same_expression


def summarise_optimizer(optimizer: Any) -> str:
    """``Adam · 2 groups · 12 parameters · lr 0.001, 0.01 · state of 12``."""
    held = instance_dict(optimizer)
    groups = held.get("param_groups") or []
    count = sum(len(group.get("params", ())) for group in groups)
    rates = ", ".join(_rate(group.get("lr")) for group in groups[:4])
    more = ", …" if len(groups) > 4 else ""
    state = len(held.get("state") or ())
    return (
        f"{type(optimizer).__name__} · {plural(len(groups), 'group')} · "
        f"{plural(count, 'parameter')} · lr {rates}{more} · state of {state}"
    )


def optimizer_children(optimizer: Any) -> List[Child]:
    """Parameter groups, the state by parameter, the defaults, and the other attributes last."""
    held = instance_dict(optimizer)
    groups = held.get("param_groups") or []
    rows: List[Child] = [
        (f"param_groups[{at}]", group, f".param_groups[{at}]") for at, group in enumerate(groups)
    ]
    rows.append(("state", _state_row(held.get("state") or {}), ".state"))
    rows.append(("defaults", held.get("defaults"), ".defaults"))
    shown = ("param_groups", "state", "defaults")

    def rest() -> List[Child]:
        own = [row for row in own_attributes(optimizer) if row[0] not in shown]
        return own + properties(optimizer)

    rows.append(("attributes", Group("", rest), same_expression))
    return rows


def _rate(rate: Any) -> str:
    if isinstance(rate, (int, float)):
        return f"{rate:g}"
    return "?" if rate is None else "a tensor"


def _state_row(state: Mapping[Any, Any]) -> Items:
    items = list(state.items())

    def fetch(start: int, stop: int) -> List[Child]:
        return [
            (f"{at}: {brief(key) if is_array(key) else key}", value, None)
            for at, (key, value) in enumerate(items[start:stop], start)
        ]

    return Items(plural(len(items), "entry").replace("entrys", "entries"), len(items), fetch)
