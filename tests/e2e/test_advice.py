"""Advice through the real adapter: it is listed, and nothing stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cases import cases
from dap_client import Client

[CASE] = cases("pytorch_lint_double_softmax.py")


def test_advice_is_listed_and_the_program_goes_on(client: Client) -> None:
    client.initialize()
    client.launch(program=str(CASE.path), exceptions=["zentracer.nonfinite"])
    assert client.until_exit_or_stop() == 0
    [finding] = listed(client)
    assert finding["rule"] == "double_softmax"
    assert finding["severity"] == "warning"
    assert Path(finding["source"]["path"]).name == CASE.path.name
    assert finding["source"]["line"] in CASE.lines("culprit")
    [suggestion] = finding["details"]["suggestions"]
    assert suggestion["edit"]["new_text"].strip().startswith("return self.fc2(")


def test_advice_can_be_switched_off(client: Client) -> None:
    client.initialize()
    client.launch(
        program=str(CASE.path), exceptions=["zentracer.nonfinite"], zentracer={"advice": False}
    )
    assert client.until_exit_or_stop() == 0
    assert listed(client) == []


def listed(client: Client) -> list[Any]:
    """Return the last list of findings."""
    events = client.events("zentracer/findings")
    return events[-1]["findings"] if events else []
