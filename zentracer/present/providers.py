"""Our presentations as pydevd providers.

RUNS IN the user's training process, once pydevd is loaded there.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Optional

from zentracer.observe.quiet import torch_if_loaded
from zentracer.present.children import children
from zentracer.present.kinds import kind_of
from zentracer.present.rows import Child, Row
from zentracer.present.summary import summary


def register() -> None:
    """Put our provider in front of pydevd's own, whose numpy resolver would win otherwise."""
    handler = sys.modules["_pydevd_bundle.pydevd_xml"]._TYPE_RESOLVE_HANDLER
    if any(isinstance(known, Provider) for known in getattr(handler, "_resolve_providers", ())):
        return
    provider = Provider()
    if handler._initialized:
        _put_first(handler, provider)
        return
    # Asking for the providers now would end pydevd's search for plugins too early.
    initialize = handler._initialize

    def initialize_with_ours() -> None:
        initialize()
        _put_first(handler, provider)

    handler._initialize = initialize_with_ours


def _put_first(handler: Any, provider: Provider) -> None:
    handler._resolve_providers = [provider, *handler._resolve_providers]
    handler._str_providers = [provider, *handler._str_providers]
    handler._type_to_resolver_cache.clear()
    handler._type_to_str_provider_cache.clear()


class Provider:
    """Resolves and shows every kind of value that is ours (pydevd's two provider interfaces)."""

    def can_provide(self, type_object: Any, type_name: str) -> bool:
        """Whether values of that type are ours; pydevd keeps the answer for ever."""
        return isinstance(type_object, type) and kind_of(type_object) != ""

    def get_str(self, value: Any) -> str:
        """The value column of a row."""
        return summary(value)

    def get_str_in_context(self, value: Any, context: str) -> str:
        """The text in a watch, hover or console; the full value only for the clipboard."""
        if context == "clipboard" and not isinstance(value, Row):
            return _full_text(value)
        return summary(value)

    def get_contents_debug_adapter_protocol(
        self, value: Any, fmt: Optional[Dict[str, Any]] = None
    ) -> List[Child]:
        """Name, value and expression suffix of each child."""
        return children(value)

    def get_dictionary(self, value: Any) -> Dict[str, Any]:
        """Children by name."""
        return {name: child for name, child, _suffix in children(value)}

    def resolve(self, value: Any, attribute: str) -> Any:
        """The child of that name."""
        return self.get_dictionary(value).get(attribute)


def _full_text(value: Any) -> str:
    """The value as its framework prints it, within the user's print options."""
    torch = torch_if_loaded()
    try:
        if torch is None:
            return repr(value)
        with torch.no_grad():
            return repr(value)
    except Exception:  # what cannot print itself still has a summary
        return summary(value)
