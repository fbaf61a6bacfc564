"""The hook tells when a framework has come, and nobody notices it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zentracer.import_hook import when_imported


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Make a module that can be imported; returns its name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    made: list[str] = []

    def make(source: str) -> str:
        name = f"framework_{tmp_path.name.replace('-', '_')}_{len(made)}"
        (tmp_path / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield make
    sys.meta_path[:] = before
    for name in made:
        sys.modules.pop(name, None)


def test_it_is_told_when_the_module_is_complete(framework: Callable[[str], str]) -> None:
    name = framework("import sys\nfirst = 1\nlast = 2\n")
    seen = []
    when_imported({name: lambda: seen.append(vars(sys.modules[name]).get("last"))})
    assert seen == []
    importlib.import_module(name)
    assert seen == [2]


def test_a_module_that_is_there_already(framework: Callable[[str], str]) -> None:
    name = framework("")
    importlib.import_module(name)
    seen = []
    before = list(sys.meta_path)
    when_imported({name: lambda: seen.append(name)})
    assert seen == [name] and sys.meta_path == before


def test_two_await_the_same_module(framework: Callable[[str], str]) -> None:
    name = framework("")
    seen: list[str] = []
    before = list(sys.meta_path)
    when_imported({name: lambda: seen.append("first")})
    when_imported({name: lambda: seen.append("second")})
    importlib.import_module(name)
    assert sorted(seen) == ["first", "second"] and sys.meta_path == before


def test_it_leaves_no_trace(framework: Callable[[str], str]) -> None:
    name = framework("loader_inside = dict(vars(__spec__.loader))\n")
    before = list(sys.meta_path)
    when_imported({name: lambda: None})
    module = importlib.import_module(name)
    assert sys.meta_path == before
    assert type(module.__spec__.loader).__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(module.__spec__.loader)
    assert "exec_module" not in module.loader_inside


def test_asking_for_the_spec_is_not_an_import(framework: Callable[[str], str]) -> None:
    name = framework("")
    seen = []
    when_imported({name: lambda: seen.append(name)})
    assert importlib.util.find_spec(name) is not None
    assert importlib.util.find_spec("surely_not_installed") is None
    assert seen == []
    importlib.import_module(name)
    assert seen == [name]


def test_an_import_that_fails_may_be_tried_again(
    framework: Callable[[str], str], tmp_path: Path
) -> None:
    name = framework("raise ValueError('first')\n")
    seen = []
    when_imported({name: lambda: seen.append(name)})
    with pytest.raises(ValueError, match="first"):
        importlib.import_module(name)
    assert seen == []
    (tmp_path / f"{name}.py").write_text("fine = True  # and of another length\n")
    importlib.invalidate_caches()
    importlib.import_module(name)
    assert seen == [name]


def test_threads_that_import_at_the_same_time(framework: Callable[[str], str]) -> None:
    name = framework("import time\ntime.sleep(0)\n")
    seen = []
    when_imported({name: lambda: seen.append(name)})
    threads = [threading.Thread(target=importlib.import_module, args=(name,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [name]


def test_attaching_in_the_middle_of_an_import(framework: Callable[[str], str]) -> None:
    name = framework("import attach_gate\nattach_gate.wait()\nlast = 2\n")
    reached, go_on, told = threading.Event(), threading.Event(), threading.Event()
    seen: list[int | None] = []

    class Gate:
        @staticmethod
        def wait() -> None:
            reached.set()
            go_on.wait()

    def arrived() -> None:
        seen.append(vars(sys.modules[name]).get("last"))
        told.set()

    sys.modules["attach_gate"] = Gate  # type: ignore[assignment]
    try:
        importing = threading.Thread(target=importlib.import_module, args=(name,))
        importing.start()
        reached.wait()
        when_imported({name: arrived})
        assert seen == []
        go_on.set()
        importing.join()
        told.wait()
    finally:
        del sys.modules["attach_gate"]
    assert seen == [2]
