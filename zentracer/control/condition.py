"""The condition language of tensor breakpoints: a Python expression that can only look.

RUNS IN the training process.

A condition is checked when it is set, so that a mistake is said there and never reaches training.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import fnmatch
import re
from types import CodeType
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NoReturn, Set, Union

from zentracer import zt
from zentracer.control.truth import holds

STATISTICS = ("min", "max", "mean", "std", "absmax", "norm", "nan", "inf", "zeros")
CONTEXT = ("module", "op", "phase", "step", "epoch", "rank", "x", "name")
METADATA = ("shape", "dtype", "device", "size")
CHANGES = ("ratio", "changed")
"""Of an update to its parameter; at a data breakpoint, of any change to what was there."""
NAMES: FrozenSet[str] = frozenset((*CONTEXT, *METADATA, *STATISTICS, *CHANGES, "match", "zt"))
"""Every name of the language; ``match("encoder.*")`` tests the module's name, and ``zt`` is the
helper of line breakpoints."""
FUNCTIONS = ("abs", "all", "any", "bool", "float", "int", "len", "round", "str", "sum")
"""Python's own functions that a condition may call; ``min`` and ``max`` are statistics."""
OF_VALUES = frozenset((*STATISTICS, *METADATA, *CHANGES, "x"))
"""Names that have no value where there is no tensor, or none with such a figure."""
PHASES = ("forward", "backward", "loss", "update")

Values = Union[Mapping[str, Any], Callable[[str], Any]]


_ASSIGNMENT = re.compile(r"(?<![=!<>:])=(?!=)")


class ConditionError(Exception):
    """A condition that cannot be used; the text is a sentence for the user."""


class ConditionFailed(Exception):
    """A condition that raised while it was evaluated; the text is a sentence for the user."""


class NoValue(Exception):
    """Raised for a name that has no value where a condition is asked: it does not hold there."""


class Condition:
    """A compiled condition."""

    def __init__(
        self, text: str, code: CodeType, names: FrozenSet[str], nested: FrozenSet[str],
        compared_with_none: FrozenSet[str],
    ) -> None:  # fmt: skip
        self.text = text
        """As the user wrote it."""
        self.names = names
        """Names of the language it uses: statistics that are not among them need no computing."""
        self.compared_with_none = compared_with_none
        """Those that it asks whether they have a value, as in ``x is None``."""
        self._code = code
        self._nested = nested

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def evaluate(self, values: Values) -> bool:
        """Return whether the condition holds; a tensor holds with any true element.

        Args:
            values: the value of each name in ``names``, as a mapping or as a function; it is
                asked only for names that the evaluation reaches.

        Raises:
            ConditionFailed: the expression raised.
        """
        scope = _Scope(values, self.text)
        space = _GLOBALS
        try:
            if self._nested:  # comprehensions look names up in the globals only
                space = {**_GLOBALS, **{name: scope[name] for name in self._nested}}
            return holds(eval(self._code, space, scope))  # checked when it was compiled
        except NoValue:
            return False
        except Exception as error:
            raise ConditionFailed(self._failure(error, scope)) from error

    def _failure(self, error: Exception, scope: _Scope) -> str:
        unknown = sorted(name for name, value in scope.seen.items() if value is None)
        hint = f" ({', '.join(unknown)} is not known here)" if unknown else ""
        if "ambiguous" in str(error):
            hint = " (write (…).any() or (…).all() where a tensor is part of and, or, not)"
        kind = type(error).__name__
        return f"The condition '{self.text}' could not be evaluated: {kind}: {error}{hint}."


def compile_condition(text: str) -> Condition:
    """Check and compile a condition.

    Raises:
        ConditionError: it is no expression, uses an unknown name, or could change something.
    """
    source = text.strip()
    tree = _parse(source)
    checker = _Checker()
    try:
        checker.visit(tree)
        code = compile(tree, "<condition>", "eval", dont_inherit=True)
    except RecursionError:
        raise ConditionError("The condition is nested too deeply.") from None
    except (SyntaxError, ValueError) as error:
        raise ConditionError(f"The condition is not valid: {error}.") from None
    names = frozenset(checker.names | ({"module"} if "match" in checker.names else set()))
    names -= {zt.NAME}  # it needs nothing to be computed beforehand
    return Condition(
        source, code, names, frozenset(checker.nested), frozenset(checker.compared_with_none)
    )


def existing(condition: Any, value_of: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return ``value_of`` such that ``condition`` is false where a value does not exist.

    Not for conditions whose names the user may have expected to be known: those are told of it.
    """

    def value(name: str) -> Any:
        found = value_of(name)
        if found is None and name in OF_VALUES and name not in condition.compared_with_none:
            raise NoValue(name)
        return found

    return value


def _parse(source: str) -> ast.Expression:
    if not source:
        raise ConditionError("The condition is empty.")
    try:
        return ast.parse(source, "<condition>", "eval")
    except SyntaxError as error:
        place = f" at column {error.offset}" if error.offset else ""
        hint = " Write == to compare." if _ASSIGNMENT.search(source) else ""
        raise ConditionError(
            f"The condition has a syntax error{place}: {error.msg}.{hint}"
        ) from None
    except (ValueError, RecursionError, MemoryError):
        # A null byte, or nesting beyond what Python's own parser can take.
        raise ConditionError("The condition cannot be parsed.") from None


class _Scope(Mapping[str, Any]):
    """Local names of one evaluation; values are fetched when they are reached."""

    def __init__(self, values: Values, text: str) -> None:
        self._text = text
        self._get = values.__getitem__ if isinstance(values, Mapping) else values
        self.seen: Dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.seen:
            return self.seen[name]
        if name not in NAMES:
            raise KeyError(name)  # a function, which eval then finds in the globals
        value = self._own(name) or self._get(name)
        self.seen[name] = value
        return value

    def _own(self, name: str) -> Any:
        if name == "match":
            return self._match
        return zt.at(None, self._text) if name == zt.NAME else None

    def _match(self, pattern: str) -> bool:
        return fnmatch.fnmatchcase(self["module"] or "", pattern)

    def __iter__(self) -> Any:
        return iter(self.seen)

    def __len__(self) -> int:
        return len(self.seen)


class _Checker(ast.NodeVisitor):
    """Lets through what only looks, and collects the names."""

    def __init__(self) -> None:
        self.names: Set[str] = set()
        self.nested: Set[str] = set()
        self.compared_with_none: Set[str] = set()
        self._bound: List[Set[str]] = []

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, _ALLOWED):
            what = _PLAIN_NAMES.get(type(node).__name__, type(node).__name__)
            raise ConditionError(f"A condition cannot contain {what}; it is a single expression.")
        super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        name = node.id
        if isinstance(node.ctx, ast.Store):
            if name in NAMES:
                raise ConditionError(f"'{name}' is a name of conditions and cannot be reused.")
            return
        if any(name in bound for bound in self._bound) or name in FUNCTIONS:
            return
        if name not in NAMES:
            _raise_unknown(name)
        self.names.add(name)
        if self._bound:
            self.nested.add(name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr.startswith("_"):
            raise ConditionError(f"A condition cannot use the private attribute '{node.attr}'.")
        if node.attr.endswith("_"):
            raise ConditionError(f"'{node.attr}' changes the tensor; a condition can only look.")
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name) and called.id in NAMES - {"match"}:
            raise ConditionError(f"'{called.id}' is a value here and cannot be called.")
        super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        if any(isinstance(operand, ast.Name) and operand.id == "phase" for operand in operands):
            for operand in operands:
                _check_phase(operand)
        if any(isinstance(operand, ast.Constant) and operand.value is None for operand in operands):
            self.compared_with_none |= {x.id for x in operands if isinstance(x, ast.Name)}
        self.generic_visit(node)

    def _visit_comprehension(self, node: Any) -> None:
        bound = {
            target.id
            for generator in node.generators
            for target in ast.walk(generator.target)
            if isinstance(target, ast.Name)
        }
        self._bound.append(bound)
        self.generic_visit(node)
        self._bound.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


_ALLOWED = (
    ast.Expression,
    ast.expr_context,
    ast.boolop,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.keyword,
    ast.Starred,
    ast.Subscript,
    ast.Slice,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.comprehension,
    ast.Name,
)
_PLAIN_NAMES = {
    "Lambda": "a lambda",
    "NamedExpr": "an assignment",
    "JoinedStr": "an f-string",
    "Await": "await",
    "Yield": "yield",
    "YieldFrom": "yield",
}


def _check_phase(operand: ast.expr) -> None:
    if (
        isinstance(operand, ast.Constant)
        and isinstance(operand.value, str)
        and operand.value not in PHASES
    ):
        choices = ", ".join(f"'{phase}'" for phase in PHASES)
        raise ConditionError(f"'{operand.value}' is no phase; a phase is one of {choices}.")


def _raise_unknown(name: str) -> NoReturn:
    if name in PHASES:
        raise ConditionError(f"'{name}' is a text here: write '{name}' in quotes.")
    near = difflib.get_close_matches(name, [*NAMES, *FUNCTIONS], n=1)
    advice = f" Did you mean '{near[0]}'?" if near else f" The names are {_ALL_NAMES}."
    raise ConditionError(f"'{name}' is not a name of conditions.{advice}")


_ALL_NAMES = ", ".join(
    (*CONTEXT, *METADATA, *STATISTICS, *CHANGES, "match('encoder.*')", "zt.norm(…)", *FUNCTIONS)
)
_GLOBALS: Dict[str, Any] = {
    "__builtins__": {"__import__": builtins.__import__},  # torch imports on first use, in C++
    **{name: getattr(builtins, name) for name in FUNCTIONS},
}
