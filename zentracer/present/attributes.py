"""The attributes of a plain object, read without running any of its code.

RUNS IN the user's training process. Standard library only.

Attributes are looked up in the instance's and the classes' dictionaries. Properties and other
descriptors written in Python are not called: they may be slow, have side effects, or wait for a
thread that is stopped too. They become rows that are computed when the user asks for it.
"""

from __future__ import annotations

import enum
import functools
import types
from typing import Any, Dict, List, Tuple

from zentracer.observe.stats import error_text
from zentracer.present.rows import Child, Lazy, Text

_MISSING = object()
_HARMLESS = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.FunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.DynamicClassAttribute,
    classmethod,
    getattr(enum, "property", types.DynamicClassAttribute),
    functools.partialmethod,
    functools.singledispatchmethod,
    staticmethod,
)
"""Descriptors that do not run the user's code; binding them is cheap."""


def attributes(obj: Any) -> List[Tuple[str, Any]]:
    """Every attribute that ``dir`` names, with its value or a row that stands for it."""
    own = instance_dict(obj)
    found = []
    for name in _names(obj, own):
        value = _attribute(obj, own, name)
        if value is not _MISSING:
            found.append((name, value))
    return found


def own_attributes(obj: Any) -> List[Child]:
    """What the instance itself holds, as children."""
    return [(name, value, f".{name}") for name, value in instance_dict(obj).items()]


def properties(obj: Any) -> List[Child]:
    """The properties that the classes written in Python define, not evaluated."""
    own = instance_dict(obj)
    rows: Dict[str, Child] = {}
    for base in type(obj).__mro__:
        for name in base.__dict__:
            if name not in rows and name not in own:
                value = _attribute(obj, own, name)
                if isinstance(value, Lazy):
                    rows[name] = (name, value, f".{name}")
    return list(rows.values())


def instance_dict(obj: Any) -> Dict[str, Any]:
    """A copy of the instance's dictionary, empty if it has none."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except Exception:  # no dictionary, or a property of that name
        return {}
    return {name: found[name] for name in list(found) if isinstance(name, str)}


def _names(obj: Any, own: Dict[str, Any]) -> List[str]:
    try:
        names = [name for name in dir(obj) if isinstance(name, str)]
    except Exception:  # the object's own __dir__ or __getattribute__
        names = []
    if names:
        return names
    inherited = {name for base in type(obj).__mro__ for name in base.__dict__}
    return sorted(inherited | set(own))


def _attribute(obj: Any, own: Dict[str, Any], name: str) -> Any:
    if issubclass(type(obj), type):  # isinstance would ask the object for its __class__
        return _bind(_in_classes(obj.__mro__, name), None, obj, name)
    in_class = _in_classes(type(obj).__mro__, name)
    if in_class is _MISSING:
        if name in own:
            return own[name]
        return Lazy("made by __getattr__", name, lambda: getattr(obj, name))
    if name in own and not hasattr(type(in_class), "__set__"):
        return own[name]
    return _bind(in_class, obj, type(obj), name)


def _in_classes(bases: Tuple[type, ...], name: str) -> Any:
    for base in bases:
        if name in base.__dict__:
            return base.__dict__[name]
    return _MISSING


def _bind(found: Any, obj: Any, owner: type, name: str) -> Any:
    """What ``obj.name`` is when the class holds ``found``, unless that runs the user's code."""
    kind = type(found)
    if found is _MISSING or not hasattr(kind, "__get__"):
        return found
    if issubclass(kind, _HARMLESS) or not _is_python(kind):
        try:
            return kind.__get__(found, obj, owner)
        except AttributeError:
            return _MISSING  # an empty slot
        except Exception as error:  # a getter written in C
            return Text(f"raised {error_text(error)}")
    if obj is None:
        return found
    why = "property" if issubclass(kind, (property, functools.cached_property)) else kind.__name__
    return Lazy(why, name, lambda: getattr(obj, name))


def _is_python(kind: type) -> bool:
    """Whether binding a descriptor of that type may run Python code."""
    return issubclass(kind, property) or isinstance(kind.__get__, types.FunctionType)
