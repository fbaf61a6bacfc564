"""A channel loses nothing that is sent before its stream is open."""

from __future__ import annotations

import asyncio

from zentracer_dap.protocol.channel import Channel
from zentracer_dap.protocol.framing import FrameParser


class Writer:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes, /) -> None:
        self.data += data

    def close(self) -> None:
        pass


def test_what_is_sent_early_comes_first():
    async def talk() -> bytes:
        channel, writer = Channel("editor"), Writer()
        channel.event("output", {"output": "early"})
        channel.adopt_writer(writer)
        channel.event("output", {"output": "late"})
        return writer.data

    contents = FrameParser().feed(asyncio.run(talk()))
    assert [b"early" in content for content in contents] == [True, False]
    assert b'"seq": 1' in contents[0] or b'"seq":1' in contents[0]
    assert len(contents) == 2
