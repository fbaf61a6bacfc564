"""The adapter's end of the link: who is let in, and what a broken runtime does."""

from __future__ import annotations

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zentracer.wire import PROTOCOL_VERSION, codec
from zentracer.wire.messages import (
    BreakpointStatus,
    BreakpointStatuses,
    Hello,
    Notice,
    SetExceptionFilters,
)
from zentracer_dap.peers.runtime import RuntimeFailed, RuntimeListener


def hello(token, version=PROTOCOL_VERSION):
    return Hello(protocol_version=version, token=token, pid=77, version="0.1.0", python="3.11")


class Peer:
    """The other end, byte by byte."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.frames = codec.FrameReader()

    def send(self, kind, number, name, body):
        self.writer.write(codec.encode_frame(kind, number, name, body))

    async def receive(self):
        while not (frames := self.frames.feed(data := await self.reader.read(4096))):
            assert data, "closed"
        return frames[0]

    async def is_closed(self):
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True


def with_listener(scenario):
    async def run():
        listener = RuntimeListener()
        listener.said, listener.events = [], []
        listener.on_problem = listener.said.append
        listener.on_event = lambda runtime, body: listener.events.append(body)
        await listener.open()
        host, _, port = listener.address.rpartition(":")
        assert host == "127.0.0.1"
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            await scenario(listener, Peer(reader, writer))
        finally:
            writer.close()
            listener.close()

    asyncio.run(run())


def test_a_runtime_of_ours_is_welcome():
    async def scenario(listener, peer):
        peer.send(codec.EVENT, 0, "hello", hello(listener.token))
        await listener.arrived.wait()
        (runtime,) = listener.runtimes
        assert runtime.pid == 77
        asked = asyncio.ensure_future(
            runtime.request("set_exception_filters", SetExceptionFilters(filters=()), 30)
        )
        frame = await peer.receive()
        assert (frame.kind, frame.name) == (codec.REQUEST, "set_exception_filters")
        statuses = BreakpointStatuses(breakpoints=(BreakpointStatus(id=1, verified=True),))
        peer.send(codec.EVENT, 0, "notice", Notice(message="careful"))
        peer.send(codec.ANSWER, frame.id, frame.name, statuses)
        assert await asked == statuses
        assert listener.events == [Notice(message="careful")]

    with_listener(scenario)


def test_an_error_and_a_lost_runtime_fail_the_request():
    async def scenario(listener, peer):
        peer.send(codec.EVENT, 0, "hello", hello(listener.token))
        await listener.arrived.wait()
        (runtime,) = listener.runtimes
        name, filters = "set_exception_filters", SetExceptionFilters(filters=())
        asked = asyncio.ensure_future(runtime.request(name, filters, 30))
        frame = await peer.receive()
        peer.send(codec.ERROR, frame.id, name, {"message": "not today"})
        with pytest.raises(RuntimeFailed, match="not today"):
            await asked
        with pytest.raises(RuntimeFailed, match="no answer within"):
            await runtime.request(name, filters, 0)
        asked = asyncio.ensure_future(runtime.request(name, filters, 30))
        await peer.receive()
        peer.writer.close()
        with pytest.raises(RuntimeFailed, match="ended"):
            await asked
        assert not listener.runtimes and not listener.arrived.is_set()

    with_listener(scenario)


@pytest.mark.parametrize("token", ["", "wrong", "ü"])
def test_a_stranger_is_sent_away_in_silence(token):
    async def scenario(listener, peer):
        peer.send(codec.EVENT, 0, "hello", hello(token))
        assert await peer.is_closed()
        assert not listener.runtimes and not listener.said

    with_listener(scenario)


@pytest.mark.parametrize(("version", "older"), [(0, "training process"), (999, "adapter")])
def test_another_protocol_version_says_which_side_to_upgrade(version, older):
    async def scenario(listener, peer):
        peer.send(codec.EVENT, 0, "hello", hello(listener.token, version))
        assert await peer.is_closed()
        (said,) = listener.said
        assert f"environment of the {older}" in said

    with_listener(scenario)


def test_the_first_message_must_be_hello():
    async def scenario(listener, peer):
        peer.send(codec.EVENT, 0, "notice", Notice(message="let me in"))
        assert await peer.is_closed()
        assert not listener.events

    with_listener(scenario)


@given(st.binary(min_size=1, max_size=60))
def test_garbage_never_gets_in(garbage):
    async def scenario(listener, peer):
        peer.writer.write(struct.pack(">I", len(garbage)) + garbage)
        assert await peer.is_closed()
        assert not listener.runtimes

    with_listener(scenario)
