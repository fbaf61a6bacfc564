"""One tensor or array to the body that a panel draws.

RUNS IN the user's training process, on the stopped thread. Everything here is bounded in time,
draws no random numbers, records no graph and runs no code of a tensor's class.
"""

from __future__ import annotations

from typing import Any, Callable, Dict

from zentracer.observe import slicing
from zentracer.observe.facts import Facts, is_numeric
from zentracer.observe.kinds import NUMPY, TORCH
from zentracer.observe.quiet import quiet
from zentracer.observe.slicing import Selection, SliceError
from zentracer.observe.stats import Look, error_text, facts_of, to_body
from zentracer.present.kinds import kind_of
from zentracer.present.summary import summary
from zentracer.tensor_view import history, notes, parts
from zentracer.tensor_view.evaluate import Refused, quoted
from zentracer.tensor_view.parts import Shown
from zentracer.wire.editor import TensorQuery, TensorView

_VIEWS: Dict[str, Callable[[Any, Shown, TensorQuery], Dict[str, Any]]] = {
    "stats": parts.stats,
    "histogram": parts.histogram,
    "image": parts.image,
    "page": parts.page,
    "history": history.of_watch,
}


def view_of(value: Any, query: TensorQuery) -> TensorView:
    """Make the view that ``query`` asks for.

    Raises:
        Refused: ``value`` is no tensor, or the slice does not fit it.
    """
    if query.view not in _VIEWS:
        raise Refused(f"'view' must be one of {', '.join(_VIEWS)}, not {query.view!r}.")
    if kind_of(type(value)) not in (TORCH, NUMPY):
        name = type(value).__name__
        article = "an" if name[:1].lower() in "aeiou" else "a"
        what = f"{quoted(query.expression)} is {article} {name}"
        raise Refused(f"{what}, not a tensor or an array.")
    with quiet():
        return _view(value, query)


def _view(value: Any, query: TensorQuery) -> TensorView:
    facts = facts_of(value)
    data = parts.data_of(value, facts)
    selection = _select(facts, data, query)
    shown = Shown(facts, data, selection, [])
    seen = _seen(value, shown, query)
    return TensorView(
        view=query.view,
        expression=query.expression or "",
        type_name=type(value).__name__,
        summary=summary(value),
        stats=seen.pop("stats", None) or to_body(value, Look(facts, None)),
        slice=selection.text,
        axes=selection.axes,
        rows=selection.rows,
        columns=selection.columns,
        note=" ".join(shown.remarks) or None,
        **seen,
    )


def _seen(value: Any, shown: Shown, query: TensorQuery) -> Dict[str, Any]:
    """What was read, as fields of the answer; else there is a remark that says why not."""
    try:
        why = notes.why_not_shown(value, shown)
        if why is None:
            return _VIEWS[query.view](value, shown, query)
    except Exception as error:  # a tensor type may raise anything, and so may a device
        why = f"The elements could not be read: {error_text(error)}."
    shown.remarks.append(why)
    return {}


def _select(facts: Facts, data: Any, query: TensorQuery) -> Selection:
    shape = facts.shape if data is None else tuple(data.shape)
    if shape is None or not is_numeric(shape):
        return slicing.whole(())
    text = query.slice if query.slice and query.slice.strip() else None
    try:
        if query.view == "histogram" and text is None:
            return slicing.whole(shape)
        if query.view in ("histogram", "stats") and text is not None:
            return slicing.any_part(shape, text)
        channels = query.channels if query.view == "image" else None
        return slicing.matrix(shape, text, query.axes, channels)
    except SliceError as error:
        raise Refused(str(error)) from None
