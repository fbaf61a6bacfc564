"""Plain data to message bodies, by the types that the bodies declare.

RUNS IN the training process and in the adapter. Standard library only.

Fields that a body does not know are ignored, so that an older side can talk to a newer one; a
missing field or a wrong type is a ``WireError`` that says where.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, Tuple, Type, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as _get_type_hints

T = TypeVar("T")
Decoder = Callable[[Any, str], Any]
"""Takes the value and its path in the message; returns the decoded value."""


class WireError(Exception):
    """A message that does not follow the protocol; the text is a sentence."""


def decode(cls: Type[T], value: Any, where: str = "") -> T:
    """Make a message body of type ``cls`` from plain data.

    Args:
        cls: a message body.
        value: what msgpack or JSON gave.
        where: name of the message, for the error's text.

    Raises:
        WireError: a field is missing or has the wrong type.
    """
    try:
        return _decoder_of(cls)(value, where or cls.__name__)
    except RecursionError:
        raise WireError(f"{where or cls.__name__} is nested too deeply.") from None


_decoders: Dict[Any, Decoder] = {}


def _decoder_of(annotation: Any) -> Decoder:
    decoder = _decoders.get(annotation)
    if decoder is None:
        decoder = _decoders[annotation] = _build(annotation)
    return decoder


def _build(annotation: Any) -> Decoder:
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if dataclasses.is_dataclass(annotation):
        return _body_decoder(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Union and len(arguments) == 2 and arguments[1] is type(None):
        return _optional_decoder(_decoder_of(arguments[0]))
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _sequence_decoder(_decoder_of(arguments[0]), tuple)
    if origin is list:
        return _sequence_decoder(_decoder_of(arguments[0]), list)
    if origin is dict and arguments[0] is str:
        return _mapping_decoder(_decoder_of(arguments[1]))
    raise TypeError(f"message bodies cannot have fields of type {annotation}")


def _body_decoder(cls: Any) -> Decoder:
    hints = _get_type_hints(cls)
    fields: Tuple[Tuple[str, Decoder, bool], ...] = tuple(
        (field.name, _decoder_of(hints[field.name]), _is_required(field))
        for field in dataclasses.fields(cls)
    )

    def decode_body(value: Any, path: str) -> Any:
        if type(value) is not dict:
            raise _wrong(path, "an object", value)
        given: Dict[str, Any] = {}
        for name, decoder, required in fields:
            if name in value:
                given[name] = decoder(value[name], f"{path}.{name}")
            elif required:
                raise WireError(f"{path}.{name} is missing.")
        return cls(**given)

    return decode_body


def _is_required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _optional_decoder(inner: Decoder) -> Decoder:
    return lambda value, path: None if value is None else inner(value, path)


def _sequence_decoder(inner: Decoder, make: Callable[[Any], Any]) -> Decoder:
    def decode_sequence(value: Any, path: str) -> Any:
        if type(value) not in (list, tuple):
            raise _wrong(path, "a list", value)
        return make([inner(item, f"{path}[{index}]") for index, item in enumerate(value)])

    return decode_sequence


def _mapping_decoder(inner: Decoder) -> Decoder:
    def decode_mapping(value: Any, path: str) -> Any:
        if type(value) is not dict:
            raise _wrong(path, "an object", value)
        items = cast(Dict[Any, Any], value)
        if not all(type(key) is str for key in items):
            raise WireError(f"{path} must have texts as keys.")
        return {key: inner(item, f"{path}[{key!r}]") for key, item in items.items()}

    return decode_mapping


def _exactly(cls: type, what: str) -> Decoder:
    def decode_exactly(value: Any, path: str) -> Any:
        if type(value) is not cls:  # a bool is no number here
            raise _wrong(path, what, value)
        return value

    return decode_exactly


def _decode_float(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise _wrong(path, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise _wrong(path, "a number that a float can hold", value) from None


def _decode_any(value: Any, path: str) -> Any:
    return value


_SIMPLE: Dict[Any, Decoder] = {
    Any: _decode_any,
    bool: _exactly(bool, "true or false"),
    bytes: _exactly(bytes, "bytes"),
    float: _decode_float,
    int: _exactly(int, "a whole number"),
    str: _exactly(str, "a text"),
}


def _wrong(path: str, wanted: str, value: Any) -> WireError:
    return WireError(f"{path} must be {wanted}, not {type(value).__name__}.")
