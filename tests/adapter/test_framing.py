"""The byte stream: any split gives the same messages, any garbage one clear error."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zentracer_dap.protocol import messages
from zentracer_dap.protocol.framing import (
    MAX_CONTENT,
    MAX_HEADER,
    FrameParser,
    FramingError,
    encode_frame,
)

contents = st.lists(st.binary(max_size=200), max_size=6)
cuts = st.lists(st.integers(min_value=0, max_value=2000), max_size=20)


def pieces(stream: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut for cut in at if cut < len(stream)), len(stream)]
    return [stream[a:b] for a, b in zip(edges, edges[1:])]


def feed_all(parts: list[bytes]) -> list[bytes]:
    parser = FrameParser()
    return [content for part in parts for content in parser.feed(part)]


@given(contents, cuts)
def test_any_split_of_a_stream_gives_its_messages(wanted, at):
    stream = b"".join(encode_frame(content) for content in wanted)
    assert feed_all(pieces(stream, at)) == wanted


@given(contents)
def test_byte_by_byte(wanted):
    stream = b"".join(encode_frame(content) for content in wanted)
    assert feed_all([bytes([byte]) for byte in stream]) == wanted


@given(st.binary(max_size=400), cuts)
def test_garbage_is_an_error_or_unfinished_but_never_anything_else(stream, at):
    parser = FrameParser()
    try:
        for part in pieces(stream, at):
            parser.feed(part)
    except FramingError as error:
        assert str(error)


@given(st.binary(max_size=100), st.integers(min_value=0, max_value=130))
def test_a_stream_that_ends_early_is_inside_a_message(content, cut):
    stream = encode_frame(content)
    parser = FrameParser()
    complete = parser.feed(stream[: min(cut, len(stream))])
    assert parser.is_inside_message == (0 < cut < len(stream))
    assert complete == ([content] if cut >= len(stream) else [])


def test_other_headers_and_any_case_are_accepted():
    stream = b"content-type: application/json; charset=utf-8\r\nCONTENT-length:  2\r\n\r\n{}"
    assert feed_all([stream]) == [b"{}"]


@pytest.mark.parametrize(
    ("stream", "word"),
    [
        (b"hello world\r\n", "not a header line"),
        (b"GET / HTTP/1.1\r\n\r\n", "not a header line"),
        (b"Content-Type: x\r\n\r\n", "no Content-Length"),
        (b"Content-Length: many\r\n\r\n", "not a number"),
        (b"Content-Length: -5\r\n\r\n", "not a number"),
        (b"Content-Length: +5\r\n\r\n", "not a number"),
        (b"Content-Length: 1_0\r\n\r\n", "not a number"),
        (b"Content-Length:\r\n\r\n", "not a number"),
        (b"Content-Length: %d\r\n\r\n" % (MAX_CONTENT + 1), "over the limit"),
        (b"a" * (MAX_HEADER + 1), "no end of the header"),
        (b"A: b\r\n" * MAX_HEADER, "no end of the header"),
    ],
)
def test_broken_headers_name_the_problem(stream, word):
    with pytest.raises(FramingError, match=word):
        feed_all([stream])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, max_size=5), st.integers(min_value=1))
def test_unknown_fields_survive(fields, seq):
    message = {**fields, "type": "event", "event": "x", "seq": seq}
    assert messages.parse(messages.encode(message)) == message


def test_a_lone_surrogate_survives():
    message = {"type": "event", "event": "output", "body": {"output": "\udc80"}}
    assert messages.parse(messages.encode(message)) == message


@given(st.binary(max_size=100))
def test_what_is_no_message_is_said_to_be_none(content):
    try:
        message = messages.parse(content)
    except messages.NotJson as error:
        assert str(error)
    else:
        assert message["type"] in ("request", "response", "event")


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"1",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"{}",
        json.dumps({"type": "hug"}).encode(),
        json.dumps({"type": "request", "seq": 1}).encode(),
        json.dumps({"type": "request", "command": "next"}).encode(),
        json.dumps({"type": "response", "request_seq": "1"}).encode(),
        json.dumps({"type": "event", "event": 3}).encode(),
    ],
)
def test_malformed_messages(content):
    with pytest.raises(messages.NotJson):
        messages.parse(content)
