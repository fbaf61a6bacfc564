"""The ``variables`` request: pages, lazy rows, and values that cannot block or raise.

RUNS IN the training process. Stock debugpy 1.8.22 ignores ``filter``, ``start`` and ``count``,
calls every property of a shown object, and prints tensors inside containers in full.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from zentracer.control.pydevd import containers, reprs, watching
from zentracer.observe.kinds import NUMPY, TORCH
from zentracer.observe.stats import error_text
from zentracer.present.kinds import ROW, STORAGE, kind_of
from zentracer.present.rows import PAGE, Child, Items, Lazy, Row, Suffix, Text
from zentracer.present.storages import names_sharing, summarise_storage
from zentracer.present.summary import summary

CONTAINER_ROWS = 3
"""Named rows of a list or a dict: its methods in two groups, and ``len()``."""

_client: Dict[str, Any] = {}
"""What the client said it can do, where its ``initialize`` passed by."""


def install() -> None:
    """Replace the parts of pydevd that list variables; doing it twice changes nothing."""
    frames = sys.modules["_pydevd_bundle.pydevd_suspended_frames"]
    if hasattr(frames._ObjectVariable, "zentracer_named_rows"):
        return
    reprs.install()
    _patch_rows(frames._AbstractVariable)
    _patch_children(frames._ObjectVariable)
    _patch_requests(sys.modules["_pydevd_bundle.pydevd_api"])
    _note_client(sys.modules["_pydevd_bundle.pydevd_process_net_command_json"])


def _patch_rows(variable_class: Any) -> None:
    original = variable_class.get_var_data

    def get_var_data(self: Any, fmt: Any = None, context: Any = None, **limits: Any) -> Any:
        data = row(self, fmt, context, limits)
        if context == "watch":
            data["value"] += watching.change_of(self.value)
        return data

    def row(self: Any, fmt: Any, context: Any, limits: Dict[str, Any]) -> Any:
        kind = kind_of(type(self.value))
        if kind in (TORCH, NUMPY) and context != "clipboard" and not self._is_return_value:
            return _array_fields(self)
        data = original(self, fmt=fmt, context=context, **limits)
        if kind == ROW:
            _row_fields(self.value, data)
        elif kind == STORAGE and self.frame is not None:
            names = names_sharing(self.value, self.frame.f_locals)
            if f"{names[0] if names else ''}.untyped_storage()" == self.evaluate_name:
                names = names[1:]  # below a tensor, only the others are news
            data["value"] = summarise_storage(self.value, names)
        elif not kind:
            items = containers.items_of(self.value)
            if items is not None:
                data["indexedVariables"] = items.count
                data["namedVariables"] = CONTAINER_ROWS
        return data

    variable_class.get_var_data = get_var_data


def _array_fields(variable: Any) -> Dict[str, Any]:
    """What pydevd would answer, without its detours: thousands of these rows must be cheap."""
    data = {
        "name": variable.name,
        "value": summary(variable.value),
        "type": type(variable.value).__name__,
        "variablesReference": variable.get_variable_reference(),
    }
    if variable.evaluate_name is not None:
        data["evaluateName"] = variable.evaluate_name
    return data


def _row_fields(row: Row, data: Dict[str, Any]) -> None:
    data["type"] = row.type_name
    if isinstance(row, Text):
        data["variablesReference"] = 0
    elif isinstance(row, Lazy):
        data.setdefault("presentationHint", {})["lazy"] = True
    elif isinstance(row, Items) and row.count > PAGE:
        data["indexedVariables"] = row.count
        data["namedVariables"] = 0


def _patch_children(variable_class: Any) -> None:
    children = variable_class.get_children_variables
    named = variable_class.get_child_variable_named

    def get_children_variables(self: Any, fmt: Any = None, scope: Any = None) -> List[Any]:
        if kind_of(type(self.value)):  # ours: already ordered, and not to be regrouped
            return _as_variables(self, containers.ours(self.value))
        items = containers.items_of(self.value)
        if items is None:
            return children(self, fmt=fmt, scope=scope)
        rows = items.fetch(0, PAGE) + containers.later_ranges(items)
        return _named_rows(self, fmt) + _as_variables(self, rows)

    def get_child_variable_named(
        self: Any, name: str, fmt: Any = None, scope: Any = None
    ) -> Optional[Any]:
        items = _items(self.value)
        if items is None:
            return named(self, name, fmt=fmt, scope=scope)
        row = containers.item_named(self.value, items, name)
        return _as_variables(self, [row])[0] if row is not None else None

    def _named_rows(self: Any, fmt: Any) -> List[Any]:
        grouped, groups = self._group_entries(
            containers.named_entries(self.value, fmt), handle_return_values=False
        )
        return _as_variables(self, groups + grouped)

    variable_class.get_children_variables = get_children_variables
    variable_class.get_child_variable_named = get_child_variable_named
    variable_class.zentracer_named_rows = _named_rows


def _as_variables(parent: Any, rows: List[Child]) -> List[Any]:
    variable_class = type(parent)
    variables = []
    for name, value, suffix in rows:
        expression = parent.evaluate_name or None
        if expression is not None:
            expression = _expression(expression, suffix)
        variables.append(
            variable_class(
                parent.py_db,
                name,
                value,
                parent._register_variable,
                evaluate_name=expression,
                frame=parent.frame,
            )
        )
    return variables


def _expression(parent: str, suffix: Suffix) -> Optional[str]:
    if suffix is None:
        return None
    return f"{parent}{suffix}" if isinstance(suffix, str) else suffix(parent)


def _patch_requests(api: Any) -> None:
    whole = api.internal_get_variable_json

    def internal_get_variable_json(py_db: Any, request: Any) -> None:
        arguments = request.arguments
        if arguments.filter is None and not arguments.start and not arguments.count:
            whole(py_db, request)
        else:
            _answer_page(py_db, request)

    api.internal_get_variable_json = internal_get_variable_json
    for name in ("internal_change_variable_json", "internal_set_expression_json"):
        setattr(api, name, _then_invalidate(getattr(api, name)))


def _answer_page(py_db: Any, request: Any) -> None:
    """Answer a request for some of the children; pydevd itself would send all of them."""
    comm = sys.modules["_pydevd_bundle.pydevd_comm"]
    arguments = request.arguments
    fmt = arguments.format
    fmt = fmt.to_dict() if hasattr(fmt, "to_dict") else fmt
    reference, scope = arguments.variablesReference, None
    if isinstance(reference, comm.ScopeRequest):
        reference, scope = reference.variable_reference, reference
    try:
        variable = py_db.suspended_frames_manager.get_variable(reference)
        rows = [row.get_var_data(fmt=fmt) for row in _page(variable, arguments, fmt, scope)]
    except KeyError:  # the thread has resumed
        rows = []
    except Exception as error:  # without an answer, the client would wait for ever
        text = error_text(error)
        rows = [{"name": "<error>", "value": text, "type": "<error>", "variablesReference": 0}]
    body = comm.VariablesResponseBody(rows)
    response = comm.pydevd_base_schema.build_response(request, kwargs={"body": body})
    command = comm.NetCommand(comm.CMD_RETURN, 0, response, is_json=True)
    py_db.writer.add_command(command)


def _items(value: Any) -> Optional[Items]:
    return value if type(value) is Items else containers.items_of(value)


def _page(variable: Any, arguments: Any, fmt: Any, scope: Any) -> List[Any]:
    start = arguments.start or 0
    value = variable.value
    items = _items(value)
    if items is None:
        if arguments.filter == "indexed":
            return []
        rows = variable.get_children_variables(fmt=fmt, scope=scope)
    elif arguments.filter == "named":
        ours = type(value) is Items
        rows = [] if ours else variable.zentracer_named_rows(fmt)
    else:
        stop = min(start + arguments.count, items.count) if arguments.count else items.count
        return _as_variables(variable, items.fetch(start, stop))
    return rows[start : start + arguments.count] if arguments.count else rows[start:]


def _then_invalidate(command: Any) -> Any:
    """Run a command that changes a value, and let the client ask for all values again.

    One tensor may be seen under many names, by views and shared storages.
    """

    def changing(*args: Any) -> None:
        command(*args)
        if _client.get("supportsInvalidatedEvent", True):
            event = {"type": "event", "event": "invalidated", "body": {"areas": ["variables"]}}
            sys.modules["pydevd"].send_json_message(event)

    return changing


def _note_client(processor: Any) -> None:
    processor_class = processor.PyDevJsonCommandProcessor
    original = processor_class.on_initialize_request

    def on_initialize_request(self: Any, py_db: Any, request: Any) -> Any:
        arguments = request.arguments.to_dict()
        _client["supportsInvalidatedEvent"] = bool(arguments.get("supportsInvalidatedEvent"))
        return original(self, py_db, request)

    processor_class.on_initialize_request = on_initialize_request
