"""The codec: round trips, frames cut anywhere, and hostile input."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))

from wire_examples import EXAMPLES, HIT, types

from zentracer.wire import codec
from zentracer.wire.codec import ERROR, EVENT, REQUEST, FrameReader, WireError, decode

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip_over_the_link(name: str) -> None:
    body = EXAMPLES[name]
    (frame,) = FrameReader().feed(codec.encode_frame(EVENT, 0, name, body))
    assert (frame.kind, frame.id, frame.name) == (EVENT, 0, name)
    assert repr(decode(types()[name], frame.body)) == repr(body)


def test_json_has_null_for_what_is_not_finite() -> None:
    tensor = json.loads(codec.json_text(HIT))["details"]["tensor"]
    assert (tensor["max"], tensor["mean"], tensor["min"]) == (None, None, -6.9)
    assert math.isinf(codec.to_plain(HIT)["details"]["tensor"]["max"])


def test_unknown_fields_are_ignored() -> None:
    plain = {**codec.to_plain(EXAMPLES["notice"]), "from_the_future": 1}
    assert decode(types()["notice"], plain) == EXAMPLES["notice"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"filters": "x"}, "filters must be a list, not str."),
        ({"filters": [{"filter": "f"}]}, "filters[0].id is missing."),
        ({"filters": [{"id": True, "filter": "f"}]}, "filters[0].id must be a whole number"),
        ({"filters": [{"id": 1, "filter": 2}]}, "filters[0].filter must be a text, not int."),
        ({"filters": [None]}, "filters[0] must be an object, not NoneType."),
        ({"precise": 1}, "precise must be true or false, not int."),
    ],
)
def test_errors_say_where_and_what(change: dict, message: str) -> None:
    with pytest.raises(WireError) as error:
        decode(types()["set_exception_filters.arguments"], {"filters": [], **change}, "request")
    assert message in str(error.value)
    assert str(error.value).startswith("request.")


def test_a_value_that_no_message_carries() -> None:
    with pytest.raises(WireError, match="complex"):
        codec.encode_frame(EVENT, 0, "x", {"value": 1j})


def test_an_integer_that_msgpack_cannot_hold() -> None:
    with pytest.raises(WireError, match="cannot be encoded"):
        codec.encode_frame(EVENT, 0, "x", 2**70)


@given(st.lists(PLAIN, max_size=4), st.integers(1, 7))
def test_frames_may_be_cut_anywhere(bodies: list, size: int) -> None:
    stream = b"".join(codec.encode_frame(REQUEST, i, "name", b) for i, b in enumerate(bodies))
    reader = FrameReader()
    frames = [
        frame
        for start in range(0, len(stream), size)
        for frame in reader.feed(stream[start : start + size])
    ]
    assert [frame.id for frame in frames] == list(range(len(bodies)))
    assert repr([frame.body for frame in frames]) == repr(bodies)


@given(st.binary(max_size=200))
def test_bytes_from_anyone_raise_only_wire_errors(data: bytes) -> None:
    for stream in (data, len(data).to_bytes(4, "big") + data):
        try:
            frames = FrameReader().feed(stream)
        except WireError:
            continue
        for frame in frames:
            assert EVENT <= frame.kind <= ERROR


@given(PLAIN)
def test_payloads_from_anyone_raise_only_wire_errors(value: object) -> None:
    payload = msgpack.packb(value)
    try:
        FrameReader().feed(len(payload).to_bytes(4, "big") + payload)
    except WireError as error:
        assert str(error)


@given(st.sampled_from(sorted(types())), PLAIN)
def test_bodies_from_anyone_raise_only_wire_errors(name: str, value: object) -> None:
    try:
        decode(types()[name], value)
    except WireError as error:
        assert str(error).endswith(".")


@given(st.data())
def test_one_wrong_field_raises_only_wire_errors(data: st.DataObject) -> None:
    filled = [name for name, example in EXAMPLES.items() if codec.to_plain(example)]
    name = data.draw(st.sampled_from(sorted(filled)))
    plain = codec.to_plain(EXAMPLES[name])
    key = data.draw(st.sampled_from(sorted(plain)))
    plain[key] = data.draw(PLAIN)
    try:
        decoded = decode(types()[name], plain)
    except WireError:
        return
    assert type(decoded) is types()[name]


def test_a_frame_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(WireError, match="limit"):
        FrameReader().feed((codec.MAX_FRAME + 1).to_bytes(4, "big"))


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    payload = b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(WireError):
        FrameReader().feed(len(payload).to_bytes(4, "big") + payload)
