"""Launch and attach attributes: what is offered is understood by somebody."""

from __future__ import annotations

import dataclasses
import typing
from pathlib import Path

import pytest

from zentracer.wire import launch
from zentracer_dap.launch import CHILDREN

BY_THE_EXTENSION = {"debugAdapterPython", "envFile"}
"""Read by the editor's extension, as debugpy's own extension does."""

BY_US = {"zentracer"}


def _sources() -> str:
    debugpy = pytest.importorskip("debugpy")
    folder = Path(debugpy.__file__).parent
    files = [
        *(folder / "adapter").glob("*.py"),
        *(folder / "launcher").glob("*.py"),
        *(folder / "_vendored/pydevd/_pydevd_bundle").glob("pydevd*json*.py"),
    ]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def test_debugpy_reads_every_launch_attribute_that_is_offered() -> None:
    text = _sources()
    offered = {
        field.name for body in launch.CONFIGURATIONS.values() for field in dataclasses.fields(body)
    }
    unknown = {name for name in offered if f'"{name}"' not in text}
    assert unknown == BY_THE_EXTENSION | BY_US


def test_the_adapter_takes_what_is_offered_for_children() -> None:
    assert typing.get_args(launch.Children) == CHILDREN
