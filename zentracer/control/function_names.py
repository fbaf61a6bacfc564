"""Qualified names of Python functions, and the functions that have one.

RUNS IN the training process. Standard library only; runs no code of the program's: what is read
stands in the dictionaries of modules and classes.
"""

from __future__ import annotations

import functools
import os
import types
from types import CodeType, FunctionType, ModuleType
from typing import Any, Dict, Iterator, List, Mapping, Set, Tuple

Named = Tuple[CodeType, str]
"""A function's code, and its qualified name within its module: ``outer.inner``, ``Class.method``.
"""
_HAS_QUALNAME = hasattr(CodeType, "co_qualname")
_MAX_DEPTH = 8


def fits(wanted: str, name: str) -> bool:
    """Tell whether ``name`` is ``wanted``, or ends with it after a dot."""
    return name == wanted or name.endswith("." + wanted)


def module_names(variables: Mapping[str, Any]) -> Tuple[str, ...]:
    """Return what the module with these global variables is called; a script has two names."""
    name = variables.get("__name__")
    if not isinstance(name, str):
        return ()
    if name != "__main__":
        return (name,)
    own = getattr(variables.get("__spec__"), "name", None)
    if own is None:
        file = variables.get("__file__")
        own = os.path.splitext(os.path.basename(file))[0] if isinstance(file, str) else None
    return (name, own) if isinstance(own, str) else (name,)


def qualified_name(code: CodeType, variables: Mapping[str, Any]) -> str:
    """Return the name of a function within its module.

    Args:
        code: its code.
        variables: the global variables it runs with; searched before Python 3.11.
    """
    if _HAS_QUALNAME:
        return _plain(code.co_qualname)  # type: ignore[attr-defined]
    found = (name for known, name in functions_in(variables) if known is code)
    return next(found, code.co_name)


def functions_in(variables: Mapping[str, Any]) -> Iterator[Named]:
    """Yield the functions of a module, methods and nested functions among them.

    Args:
        variables: the dictionary of the module.
    """
    yield from _functions_held(dict(variables), "", variables.get("__name__"), set(), 0)


def method_of(cls: type, name: str) -> List[CodeType]:
    """Return the code that ``cls.name`` runs, be it inherited; empty if there is none."""
    for base in of_class(cls, "__mro__"):
        held = of_class(base, "__dict__")
        if name in held:
            return codes_of(held[name])
    return []


def class_name(cls: type) -> str:
    """Return the name of a class with that of its module."""
    return f"{of_class(cls, '__module__')}.{_plain(of_class(cls, '__qualname__'))}"


def of_class(cls: type, name: str) -> Any:
    """Return what ``type`` itself says of a class; a metaclass of the user's is not asked.

    None if the class lacks it.
    """
    try:
        return type.__dict__[name].__get__(cls)
    except AttributeError:  # ``del cls.__module__``
        return None


def codes_of(held: Any) -> List[CodeType]:
    """Return the code of what a class or module holds: that of a decorator and of what it wraps."""
    found: List[CodeType] = []
    waiting: List[Any] = [held]
    while waiting and len(found) < _MAX_DEPTH:
        value = waiting.pop()
        if _is(value, FunctionType):
            if value.__code__ in found:
                continue
            found.append(value.__code__)
            waiting += [value.__dict__.get("__wrapped__"), *_cells(value)]
        elif _is(value, (staticmethod, classmethod, types.MethodType)):
            waiting.append(value.__func__)
        elif _is(value, property):
            waiting += [value.fget, value.fset, value.fdel]
        elif _is(value, functools.partialmethod):
            waiting.append(value.func)
        elif value is not None and not _is(value, type):
            waiting.append(_attributes(value).get("__wrapped__"))
    return found


def resolved(wanted: str, modules: Mapping[str, ModuleType]) -> List[CodeType]:
    """Return the code of the functions of ``modules`` that a qualified name names."""
    owner, _, last = wanted.rpartition(".")
    found: Dict[int, CodeType] = {}
    for module in list(modules.values()):
        variables = getattr(module, "__dict__", None)
        if not isinstance(variables, dict):
            continue
        names = module_names(variables)
        for code, name in functions_in(variables):
            if code.co_name == last and any(fits(wanted, f"{m}.{name}") for m in names):
                found[id(code)] = code
        for cls in _classes_of(variables) if owner else ():
            if any(fits(owner, f"{m}.{_plain(of_class(cls, '__qualname__'))}") for m in names):
                found.update((id(code), code) for code in method_of(cls, last))
    return list(found.values())


def at_path(path: str, modules: Mapping[str, ModuleType]) -> List[CodeType]:
    """Return the code that a full path leads to, as a program would write it after an import."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        module = modules.get(".".join(parts[:count]))
        if module is not None:
            return _below(module, parts[count:])
    return []


def _below(module: ModuleType, parts: List[str]) -> List[CodeType]:
    held: Any = _attributes(module).get(parts[0])
    for part in parts[1:-1]:
        held = of_class(held, "__dict__").get(part) if _is(held, type) else None
    if len(parts) == 1:
        return codes_of(held)
    return method_of(held, parts[-1]) if _is(held, type) else []


def _classes_of(variables: Mapping[str, Any]) -> List[type]:
    name = variables.get("__name__")
    found: Dict[int, type] = {}
    waiting = [v for v in list(variables.values()) if _is(v, type)]
    while waiting:
        cls = waiting.pop()
        if of_class(cls, "__module__") == name and id(cls) not in found:
            found[id(cls)] = cls
            waiting += [v for v in list(of_class(cls, "__dict__").values()) if _is(v, type)]
    return list(found.values())


def _functions_held(
    held: Mapping[str, Any], prefix: str, module: Any, seen: Set[int], depth: int
) -> Iterator[Named]:
    for name, value in list(held.items()):
        if _is(value, type):
            own_module = of_class(value, "__module__")
            if own_module == module and id(value) not in seen and depth < _MAX_DEPTH:
                seen.add(id(value))
                inner = _plain(of_class(value, "__qualname__"))
                inside = dict(of_class(value, "__dict__"))
                yield from _functions_held(inside, inner, module, seen, depth + 1)
            continue
        for code in codes_of(value):
            if id(code) not in seen:
                own = name if code.co_name.startswith("<") else code.co_name
                yield from _with_nested(code, f"{prefix}.{own}" if prefix else own, seen)


def _with_nested(code: CodeType, name: str, seen: Set[int]) -> Iterator[Named]:
    """Yield a function and those that it defines when it runs."""
    seen.add(id(code))
    name = _plain(code.co_qualname) if _HAS_QUALNAME else name  # type: ignore[attr-defined]
    if not code.co_name.startswith("<"):
        yield code, name
    for const in code.co_consts:
        if isinstance(const, CodeType) and id(const) not in seen:
            yield from _with_nested(const, f"{name}.{const.co_name}", seen)


def _cells(function: FunctionType) -> List[Any]:
    """Return what a decorator's wrapper may have wrapped."""
    found: List[Any] = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        if _is(value, (FunctionType, staticmethod, classmethod)):
            found.append(value)
    return found


def _attributes(value: Any) -> Dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _is(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a kind; ``isinstance`` would ask the value for its class."""
    return issubclass(type(value), kind)


def _plain(name: str) -> str:
    return name.replace(".<locals>", "")
