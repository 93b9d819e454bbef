"""Messages as bytes: msgpack of `{v: version, t: class, b: fields}`, in exactly one form each.

What is decoded is encoded again and compared: unknown fields, repeated keys, missing defaults, numbers of another
type and any other spelling of the same message are refused by that alone. Errors tell the rule, never what was sent.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, TypeVar

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.limits import VERSION
from fedgroup.messages.live import WIRE
from fedgroup.transport.links import MOST_MESSAGE

try:
    import msgspec
except ImportError:
    raise InvalidInput("messages on a wire need msgspec: pip install 'fedgroup[live]'") from None

Message = TypeVar("Message")

_SHORT = 8_192


class _Envelope(msgspec.Struct):
    v: int
    t: str
    b: msgspec.Raw


_open_envelope = msgspec.msgpack.Decoder(_Envelope).decode


def encode(message: Any) -> bytes:
    """Return a message as it travels; one that the other side would refuse is refused here."""
    kind = type(message)
    if WIRE.get(kind.__name__) is not kind:
        raise ProtocolViolation("only messages of the protocol travel")
    try:
        data = _spelled(_read(kind, msgspec.msgpack.encode(message)))
    except (OverflowError, TypeError, UnicodeEncodeError):
        raise ProtocolViolation("a message is made of the values of its class") from None
    _require_size(data)
    return data


def decode(data: bytes, allowed: tuple[type[Message], ...]) -> Message:
    """Return the message that `data` is, if it is one of the classes `allowed` here, or raise `ProtocolViolation`."""
    _require_size(data)
    try:
        envelope = _open_envelope(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        raise ProtocolViolation("a message is a version, a class and its fields") from None
    if envelope.v != VERSION:
        raise ProtocolViolation(f"a message has version {VERSION}")
    kind = WIRE.get(envelope.t)
    if kind is None or kind not in allowed:
        raise ProtocolViolation("a message is of a class that may be sent here")
    message: Message = _read(kind, envelope.b)
    if _spelled(message) != data:
        raise ProtocolViolation("a message is spelled in its one form")
    return message


def decode_once(data: bytes, allowed: tuple[type[Message], ...]) -> Message:
    """Return what `decode` does; the same short message to many owners of one process is decoded once for all."""
    message: Message = _decode_once(data, allowed) if len(data) <= _SHORT else decode(data, allowed)
    return message


_decode_once = lru_cache(maxsize=256)(decode)


def _require_size(data: bytes) -> None:
    if len(data) > MOST_MESSAGE:
        raise ProtocolViolation(f"a message has at most {MOST_MESSAGE} bytes")


def _read(kind: type, fields: Any) -> Any:
    """Return the value of a class from its encoded fields, checked at birth."""
    try:
        return _decoder(kind).decode(fields)
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError):
        raise ProtocolViolation("a message has the fields of its class") from None


@cache
def _decoder(kind: type) -> Any:
    return msgspec.msgpack.Decoder(kind)


def _spelled(message: Any) -> bytes:
    return msgspec.msgpack.encode({"v": VERSION, "t": type(message).__name__, "b": message})
