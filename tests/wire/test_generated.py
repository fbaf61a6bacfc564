"""Generated files are up to date, and every language can read the fixtures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from wire_examples import EXAMPLES, FIXTURES, render, types

from zentracer.wire import schema
from zentracer.wire.codec import decode, to_json

SCHEMA = Path(__file__).parent / "schema.json"


def test_the_schema_is_up_to_date() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema.render(), (
        "run: python -m zentracer.wire.schema tests/wire/schema.json"
    )


def test_every_message_has_an_example() -> None:
    assert set(EXAMPLES) == set(types())
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(types())


@pytest.mark.parametrize("name", sorted(types()))
def test_a_fixture_is_read_and_written_unchanged(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text(encoding="utf-8")
    assert text == render(name), "run: python tests/wire/wire_examples.py"
    assert to_json(decode(types()[name], json.loads(text))) == json.loads(text)


@pytest.mark.parametrize("name", sorted(types()))
def test_a_fixture_satisfies_the_schema(name: str) -> None:
    whole = schema.build()
    if "." in name:
        request, part = name.split(".")
        reference = whole["requests"][request][part]
    else:
        reference = whole["events"][name]
    fixture = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(fixture, {**reference, "$defs": whole["$defs"]})
