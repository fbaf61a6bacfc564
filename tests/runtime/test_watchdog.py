"""Alarms of our own thread."""

from __future__ import annotations

import threading

import pytest
from dap_client import HANG_GUARD

from zentracer.control.pydevd import watchdog as module
from zentracer.control.pydevd.watchdog import Watchdog


def test_an_alarm_that_fails_is_said_once_and_the_others_ring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(module, "_told", set())
    monkeypatch.setattr(module, "_notify", said.append)
    rung = threading.Event()

    def fails() -> None:
        raise SystemExit("not so")

    watchdog = Watchdog()
    for callback in (fails, fails, rung.set):
        watchdog.call(0.0, callback)
    assert rung.wait(HANG_GUARD)
    (sentence,) = said
    assert "fails" in sentence and "SystemExit: not so" in sentence
