"""Message bodies to plain data and back, and the frames of the runtime link.

RUNS IN the training process and in the adapter. Standard library and msgpack only; the runtime
decodes with the small structural decoder below, because cattrs does not belong into somebody's
training process.

A frame is a 4-byte big-endian length and a msgpack array ``[kind, id, name, body]``. msgpack
carries NaN, Inf and raw bytes; JSON has none of them, so ``to_json`` sends non-finite floats as
null.
"""

from __future__ import annotations

import dataclasses
import json
import math
import struct
from typing import Any, Callable, Dict, List, NamedTuple, Tuple, cast

import msgpack as _msgpack  # pyright: ignore[reportMissingTypeStubs]

from zentracer.wire.decode import WireError, decode

__all__ = [
    "ANSWER",
    "ERROR",
    "EVENT",
    "MAX_FRAME",
    "REQUEST",
    "Frame",
    "FrameReader",
    "WireError",
    "decode",
    "encode_frame",
    "json_text",
    "to_json",
    "to_plain",
]

EVENT, REQUEST, ANSWER, ERROR = 0, 1, 2, 3
"""Kinds of frames. An ERROR answers a request with ``{"message": <sentence>}``."""

MAX_FRAME = 64 * 1024 * 1024
"""Longest payload in bytes; a longer length is a broken or hostile peer."""

_HEADER = struct.Struct(">I")
_pack: Callable[[Any], bytes] = getattr(_msgpack, "packb")  # noqa: B009 - msgpack is untyped
_unpack: Callable[[bytes], Any] = getattr(_msgpack, "unpackb")  # noqa: B009
_ATOMS = frozenset((type(None), bool, int, float, str, bytes))
_fields_of: Dict[Any, Tuple[str, ...]] = {}


class Frame(NamedTuple):
    """One message of the link."""

    kind: int
    id: int
    """Pairs an answer with its request; 0 for events."""
    name: str
    body: Any
    """Plain data; ``decode`` makes a message body of it."""


def to_plain(value: Any) -> Any:
    """Turn a message body into dicts, lists and atoms.

    Never ``dataclasses.asdict``: it deep-copies and was measured 9x slower on statistics.

    Raises:
        WireError: a value that no message can carry.
    """
    return _plain(value, _keep)


def to_json(value: Any) -> Any:
    """Like ``to_plain``, with None for every float that JSON cannot write.

    Raises:
        WireError: a value that JSON cannot carry.
    """
    return _plain(value, _finite_or_none)


def json_text(value: Any) -> str:
    """Return a message body as one line of JSON."""
    return json.dumps(to_json(value), allow_nan=False, ensure_ascii=False)


def encode_frame(kind: int, id: int, name: str, body: Any) -> bytes:
    """Return the bytes of one frame; ``body`` is a message body or plain data.

    Raises:
        WireError: the message cannot be encoded or is longer than ``MAX_FRAME``.
    """
    try:
        payload = _pack([kind, id, name, to_plain(body)])
    except (ValueError, TypeError, OverflowError) as error:
        raise WireError(f"The message {name} cannot be encoded: {error}.") from error
    if len(payload) > MAX_FRAME:
        raise WireError(
            f"The message {name} has {len(payload)} bytes; the limit is {MAX_FRAME} bytes."
        )
    return _HEADER.pack(len(payload)) + payload


class FrameReader:
    """Cuts a byte stream into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> List[Frame]:
        """Take in ``data`` and return the frames that are complete.

        Raises:
            WireError: the stream does not follow the protocol; it cannot be read any further.
        """
        self._buffer += data
        frames: List[Frame] = []
        while (payload := self._next_payload()) is not None:
            frames.append(_parse(payload))
        return frames

    def _next_payload(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(buffer)
        if length > MAX_FRAME:
            raise WireError(f"A frame announces {length} bytes; the limit is {MAX_FRAME} bytes.")
        end = _HEADER.size + length
        if len(buffer) < end:
            return None
        payload = bytes(buffer[_HEADER.size : end])
        del buffer[:end]
        return payload


def _parse(payload: bytes) -> Frame:
    try:
        content = _unpack(payload)
    except Exception as error:  # msgpack documents no closed list of what bad input raises
        raise WireError(f"A frame is not valid msgpack: {error or type(error).__name__}.") from None
    parts = cast(List[Any], content) if isinstance(content, list) else []
    if len(parts) != 4:
        raise WireError("A frame is not an array [kind, id, name, body].")
    kind, id, name, body = parts
    if type(kind) is not int or not EVENT <= kind <= ERROR:
        raise WireError(f"A frame has the unknown kind {kind!r:.40}.")
    if type(id) is not int or type(name) is not str:
        raise WireError("A frame has no whole number as id or no text as name.")
    return Frame(kind, id, name, body)


def _plain(value: Any, on_float: Callable[[float], Any]) -> Any:
    cls: Any = value.__class__
    if cls is float:
        return on_float(value)
    if cls in _ATOMS:
        return value
    if cls is tuple or cls is list:
        return [_plain(item, on_float) for item in value]
    if cls is dict:
        return {key: _plain(item, on_float) for key, item in value.items()}
    names = _fields_of.get(cls) or _field_names(cls)
    return {name: _plain(getattr(value, name), on_float) for name in names}


def _field_names(cls: Any) -> Tuple[str, ...]:
    if not dataclasses.is_dataclass(cls):
        raise WireError(f"A message cannot carry a value of type {cls.__name__}.")
    names = tuple(field.name for field in dataclasses.fields(cls))
    _fields_of[cls] = names
    return names


def _keep(value: float) -> float:
    return value


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
