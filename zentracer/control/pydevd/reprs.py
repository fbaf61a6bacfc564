"""pydevd's texts of objects: bounded, without tensors' elements, and without their errors.

RUNS IN the training process.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, List, Optional, Tuple

from zentracer.observe.stats import error_text
from zentracer.present.arrays import brief
from zentracer.present.attributes import attributes
from zentracer.present.kinds import ROW, is_array, kind_of
from zentracer.present.short_repr import short_tensor_reprs
from zentracer.present.summary import summary

_PLAIN = (bool, bytes, complex, float, int, str, type(None))


def install() -> None:
    """Replace how pydevd prints values, dictionary keys and attributes."""
    _patch_safe_repr(sys.modules["_pydevd_bundle.pydevd_safe_repr"].SafeRepr)
    resolvers = sys.modules["_pydevd_bundle.pydevd_resolver"]
    _patch_keys(resolvers.DictResolver)
    _patch_attributes(resolvers.DefaultResolver)


class _Said:
    """Stands for an object whose repr is already known; pydevd then only shortens it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _patch_safe_repr(safe_repr: Any) -> None:
    call, part, other = safe_repr.__call__, safe_repr._repr, safe_repr._repr_other
    is_long = safe_repr._is_long_iter

    def __call__(self: Any, obj: Any) -> str:
        if type(obj) in _PLAIN:
            return call(self, obj)
        with short_tensor_reprs():
            return call(self, obj)

    def _repr(self: Any, obj: Any, level: int) -> Iterable[str]:
        kind = kind_of(type(obj))
        if not kind:
            return part(self, obj, level)
        return (brief(obj) if is_array(obj) else obj.text if kind == ROW else summary(obj),)

    def _repr_other(self: Any, obj: Any, level: int) -> Iterable[str]:
        if type(obj) in _PLAIN or self.raw_value:
            return other(self, obj, level)
        return other(self, _Said(_repr_or_sentence(obj)), level)

    def _is_long_iter(self: Any, obj: Any, level: int = 0) -> bool:
        # pydevd asks the object itself, whose __getattr__ may raise; it then prints nothing of it.
        return hasattr(type(obj), "__iter__") and is_long(self, obj, level)

    safe_repr.__call__ = __call__
    safe_repr._is_long_iter = _is_long_iter
    safe_repr._repr = _repr
    safe_repr._repr_other = _repr_other


def _repr_or_sentence(obj: Any) -> str:
    try:
        return repr(obj)
    except Exception as error:  # the object's own __repr__
        return f"<{type(obj).__name__} object; its __repr__ raised {error_text(error)}>"


def _patch_keys(dict_resolver: Any) -> None:
    original = dict_resolver.key_to_str

    def key_to_str(self: Any, key: Any, fmt: Any = None) -> str:
        if type(key) in _PLAIN:
            return original(self, key, fmt)
        if is_array(key):  # two keys may have the same shape: the number tells them apart
            return f"{brief(key)} (id: {id(key)})"
        with short_tensor_reprs():
            return _repr_or_sentence(key)

    dict_resolver.key_to_str = key_to_str


def _patch_attributes(default_resolver: Any) -> None:
    original = default_resolver._get_py_dictionary

    def _get_py_dictionary(
        self: Any,
        var: Any,
        names: Optional[List[str]] = None,
        used___dict__: bool = False,
    ) -> Tuple[Dict[str, Any], bool]:
        if names:  # pydevd's own plugins name what they want
            return original(self, var, names, used___dict__)
        return dict(attributes(var)), False

    default_resolver._get_py_dictionary = _get_py_dictionary
