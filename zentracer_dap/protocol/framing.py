"""DAP framing: ``Content-Length: N``, an empty line, N bytes of JSON."""

from __future__ import annotations

MAX_HEADER = 8 * 1024
"""Longest header block in bytes; the protocol's own needs about 25."""

MAX_CONTENT = 1024 * 1024 * 1024
"""Longest message in bytes; a longer one is a broken peer, not a message."""

_SEPARATOR = b"\r\n\r\n"


class FramingError(Exception):
    """The byte stream does not follow the protocol; it cannot be read any further."""


class FrameParser:
    """Cuts a byte stream, fed in pieces of any size, into the contents of its messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        """Content length of the message that is being received, None while in its header."""
        self._searched = 0
        """Bytes of the buffer known to hold no separator, so that a header is scanned once."""

    @property
    def is_inside_message(self) -> bool:
        """Whether the stream so far ends in the middle of a message."""
        return self._length is not None or bool(self._buffer)

    def feed(self, data: bytes | memoryview) -> list[bytes]:
        """Take in ``data`` and return the contents of the messages that are complete.

        Raises:
            FramingError: the header is malformed or too long, or the length is not acceptable.
        """
        self._buffer += data
        contents: list[bytes] = []
        while (content := self._next()) is not None:
            contents.append(content)
        return contents

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._take_header()
            if self._length is None:
                return None
        if len(self._buffer) < self._length:
            return None
        content = bytes(memoryview(self._buffer)[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return content

    def _take_header(self) -> int | None:
        end = self._buffer.find(_SEPARATOR, self._searched)
        if max(end, len(self._buffer) if end < 0 else 0) > MAX_HEADER:
            raise FramingError(f"no end of the header within {MAX_HEADER} bytes")
        if end < 0:
            self._searched = max(0, len(self._buffer) - len(_SEPARATOR) + 1)
            _reject_garbage(bytes(self._buffer))
            return None
        header = bytes(self._buffer[:end])
        del self._buffer[: end + len(_SEPARATOR)]
        self._searched = 0
        return _content_length(header)


def encode_frame(content: bytes) -> bytes:
    """Return one message as it goes over the wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)


def _content_length(header: bytes) -> int:
    length = None
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon or not name.strip():
            raise FramingError(f"not a header line: {_shown(line)}")
        if name.strip().lower() == b"content-length":
            length = _number(value.strip())
    if length is None:
        raise FramingError(f"no Content-Length in the header {_shown(header)}")
    return length


def _number(value: bytes) -> int:
    # isdigit on bytes accepts ASCII digits only; int() alone would take "+5" and "1_000" too.
    if not value.isdigit() or len(value) > 12:
        raise FramingError(f"Content-Length is not a number of bytes: {_shown(value)}")
    if int(value) > MAX_CONTENT:
        raise FramingError(f"Content-Length {int(value)} is over the limit of {MAX_CONTENT} bytes")
    return int(value)


def _reject_garbage(start: bytes) -> None:
    """Fail at the first complete line that is no header, rather than wait for a blank line."""
    line, end, _ = start.partition(b"\n")
    if end and b":" not in line:
        raise FramingError(f"not a header line: {_shown(line)}")


def _shown(data: bytes) -> str:
    text = data[:60].decode("ascii", "backslashreplace")
    return repr(text + ("…" if len(data) > 60 else ""))
