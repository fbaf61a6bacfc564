"""The import rules of ARCHITECTURE.md."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest
from conftest import find_interpreter

ROOT = Path(__file__).parents[2]
FRAMEWORKS = {"torch", "numpy", "tensorflow", "jax"}
DEBUGGER = ("debugpy", "pydevd", "_pydevd_bundle", "_pydev_bundle")
STANDARD = set(sys.stdlib_module_names)
DEVELOPMENT = {ROOT / "zentracer/wire/schema.py": {"msgspec"}}
"""Files that only a developer runs, and what they may import besides."""


def files(package: str) -> list[Path]:
    return sorted(path for path in (ROOT / package).rglob("*.py") if "inject" not in path.parts)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Absolute names that a file imports, and whether already when it is loaded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    late = {n for f in ast.walk(tree) if isinstance(f, functions) for n in ast.walk(f)}
    never = {
        node
        for outer in ast.walk(tree)
        if _is_type_checking(outer)
        for statement in outer.body
        for node in ast.walk(statement)
    }
    for node in set(ast.walk(tree)) - never:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node not in late
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield str(node.module), node not in late


def _is_type_checking(node: ast.AST) -> TypeGuard[ast.If]:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


@pytest.mark.parametrize("path", files("zentracer"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_runtime_imports_only_what_is_everywhere(path: Path) -> None:
    framework_folder = ROOT / "zentracer/frameworks"
    for name, at_load in imports(path):
        top = name.partition(".")[0]
        if top in STANDARD or top in {"zentracer", "msgpack"}:
            continue
        if top in FRAMEWORKS:
            # Loaded once the user has imported that framework; anywhere else only inside functions.
            assert not at_load or framework_folder in path.parents, f"{path} imports {name}"
            continue
        if top in DEBUGGER:
            assert not at_load, f"{path} imports {name} when it is loaded"
            continue
        assert top in DEVELOPMENT.get(path, set()), f"{path} imports {name}"


@pytest.mark.parametrize("path", files("zentracer_dap"), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_adapter_knows_of_the_runtime_only_the_wire(path: Path) -> None:
    for name, _ in imports(path):
        top = name.partition(".")[0]
        assert top not in FRAMEWORKS | {"zentracer_lsp"}, f"{path} imports {name}"
        if top == "zentracer":
            assert name.startswith("zentracer.wire"), f"{path} imports {name}"


def loaded_by(statement: str) -> set[str]:
    """Top-level modules that a statement adds to a fresh interpreter."""
    code = (
        "import sys; before = set(sys.modules); "
        f"{statement}; print(*sorted(m for m in sys.modules if m not in before))"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_import_zentracer_loads_nothing_else() -> None:
    assert loaded_by("import zentracer") <= {"zentracer", "__future__"}


def test_the_runtime_starts_without_framework_and_debugger() -> None:
    tops = {name.partition(".")[0] for name in loaded_by("import zentracer.bootstrap")}
    assert not tops & (FRAMEWORKS | set(DEBUGGER) | {"zentracer_dap"})


@pytest.mark.parametrize("folder", ["pydevd_plugins", "pydevd_plugins/extensions"])
def test_the_namespace_packages_hold_only_the_preamble(folder: str) -> None:
    text = (ROOT / "zentracer/inject" / folder / "__init__.py").read_text(encoding="utf-8")
    assert [ast.unparse(node) for node in ast.parse(text).body] == [
        "import pkgutil",
        "__path__ = pkgutil.extend_path(__path__, __name__)",
    ]


def test_the_runtime_parses_on_python_3_9() -> None:
    for path in files("zentracer") + sorted((ROOT / "zentracer/inject").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, str(path), feature_version=(3, 9))
        assert not any(type(node).__name__ == "Match" for node in ast.walk(tree)), path


def test_the_runtime_starts_on_python_3_9(tmp_path: Path) -> None:
    python = find_interpreter("3.9")
    if python is None:
        pytest.skip("no Python 3.9 here")
    spec = importlib.util.find_spec("msgpack")
    assert spec is not None and spec.origin is not None
    (tmp_path / "msgpack").symlink_to(Path(spec.origin).parent)
    (tmp_path / "zentracer").symlink_to(ROOT / "zentracer")
    code = """if True:
        import typing, zentracer.bootstrap
        from zentracer.wire import EVENTS
        from zentracer.wire.codec import decode
        assert decode(EVENTS["notice"], {"message": "m"}).message == "m"
        """
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([python, "-c", code], env=environment, check=True)
