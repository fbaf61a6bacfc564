"""Pairing of hits with stops, when threads and exceptions mix."""

from __future__ import annotations

from zentracer.wire.messages import BreakpointHit, HitDetails, Location, Stats
from zentracer_dap.features.hits import Hits


def hit(text):
    place = Location(path="train.py", line=1)
    details = HitDetails(
        filter="zentracer.nonfinite",
        module=None,
        op="log",
        phase="forward",
        step=None,
        rank=None,
        source=place,
        origin=place,
        tensor=Stats(shape=(), dtype="float32", device="cpu", size=1, bytes=4),
    )
    return BreakpointHit(
        breakpoint_ids=(1,),
        label="NaN or Inf",
        where="here",
        text=text,
        description=text,
        details=details,
    )


def test_two_threads_are_told_apart_by_the_text():
    hits = Hits()
    first, second = hit("first"), hit("second")
    hits.add(first)
    hits.add(second)
    assert hits.pair(2, ("second",)) is second
    assert hits.pair(1, ("first",)) is first
    assert (hits.of(1), hits.of(2)) == (first, second)


def test_a_text_that_debugpy_has_changed_pairs_with_the_hit_just_reported():
    hits = Hits()
    only = hit("a long text")
    hits.add(only)
    assert hits.pair(1, ("a long…",)) is only


def test_a_later_exception_of_the_user_is_not_taken_for_an_old_hit():
    hits = Hits()
    old = hit("old")
    hits.add(old)
    hits.add(hit("new"))
    assert hits.pair(1, ("new",)) is not None
    assert hits.pair(1, ("division by zero",)) is None
    assert hits.pair_text(2, ("old",)) is old


def test_resuming_forgets_where_threads_stood_but_not_what_is_under_way():
    hits = Hits()
    hits.add(hit("stood"))
    hits.pair(1, ("stood",))
    coming = hit("coming")
    hits.add(coming)
    hits.forget()
    assert hits.of(1) is None
    assert hits.pair(2, ("coming",)) is coming
    hits.forget(3)
    assert hits.of(2) is coming
    hits.forget(2)
    assert hits.of(2) is None
