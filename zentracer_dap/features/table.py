"""All overrides: what the adapter does differently from debugpy."""

from __future__ import annotations

from zentracer_dap.features import (
    cancel,
    capabilities,
    children,
    data_breakpoints,
    eager,
    ending,
    explanations,
    findings,
    function_breakpoints,
    hits,
    holding,
    modules,
    notices,
    patches,
    restart,
    scopes,
    start,
    tensor_breakpoints,
    tensor_view,
    view_breakpoints,
    view_data_breakpoints,
)
from zentracer_dap.protocol.handlers import Overrides

_FEATURES = (
    capabilities,
    start,
    tensor_breakpoints,
    view_breakpoints,
    tensor_view,
    notices,
    modules,
    hits,
    explanations,
    findings,
    children,
    holding,
    eager,
    restart,
    ending,
    cancel,
    data_breakpoints,
    view_data_breakpoints,
    function_breakpoints,
    scopes,
    patches,
)


def all_overrides() -> Overrides:
    """Return the table with every feature registered."""
    overrides = Overrides()
    for feature in _FEATURES:
        feature.register(overrides)
    return overrides
