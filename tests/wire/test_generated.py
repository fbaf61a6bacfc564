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
    fixtures = {path.relative_to(FIXTURES) for path in FIXTURES.rglob("*.json")}
    assert {path.with_suffix("").as_posix() for path in fixtures} == set(types())


@pytest.mark.parametrize("name", sorted(types()))
def test_a_fixture_is_read_and_written_unchanged(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text(encoding="utf-8")
    assert text == render(name), "run: python tests/wire/wire_examples.py"
    assert to_json(decode(types()[name], json.loads(text))) == json.loads(text)


@pytest.mark.parametrize("name", sorted(types()))
def test_a_fixture_satisfies_the_schema(name: str) -> None:
    whole = schema.build()
    table, _, short = f"link/{name}".rpartition("/")
    tables = whole["editor" if table.endswith("editor") else "link"]
    if "." in short:
        request, part = short.split(".")
        reference = tables["requests"][request][part]
    else:
        reference = tables["events"][short]
    fixture = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.validate(fixture, {**reference, "$defs": whole["$defs"]})
