"""Messages as bytes: every class survives the way, and nothing but a message in its one form is taken."""

from __future__ import annotations

import importlib
import sys
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages.asked import Ask, Describe, Relay
from fedgroup.messages.limits import VERSION
from fedgroup.messages.live import WIRE
from fedgroup.messages.said import Described, Noisy, Presence, Relayed
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.questions.kinds import KINDS
from fedgroup.transport import codec
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.links import MOST_MESSAGE

ALL = tuple(WIRE.values())
ROUND = b"0123456789abcdef"
QUESTION = Ask(ROUND, WireQuery("count", WireRange("circle", [1.0, 2.0, 3.0]), 5), "plan", 1_000, "me")

WORDS = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(min_size=1, max_size=12)
SPECIAL: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("Offer", "mode"): st.sampled_from(["trusted", "masked"]),
    ("Offer", "position"): st.just(0),
    ("Reveal", "commitments"): st.just([bytes(32), bytes(range(32))]),
    ("Seal", "numbers"): st.just([bytes(32), bytes(range(32))]),
    ("Offer", "certificates"): st.lists(st.binary(max_size=40), min_size=1, max_size=4),
    ("Go", "positions"): st.lists(st.integers(0, 99), unique=True, max_size=5).map(sorted),
    ("Ask", "plan"): TEXT,
    ("Unmask", "survivors"): st.lists(st.integers(0, 99), unique=True, min_size=1, max_size=5).map(sorted),
    ("Unmask", "signers"): st.lists(st.integers(0, 99), unique=True, min_size=2, max_size=2).map(sorted),
    ("Unmasked", "shares"): st.binary(min_size=1, max_size=64),
    ("Refused", "reason"): st.sampled_from(["budget", "silo"]),
    ("Refused", "about"): st.binary(min_size=1, max_size=16),
    ("Relayed", "share"): st.sampled_from([None, 0, 1]),
    ("Relay", "threshold"): st.floats(0, 0.99),
    ("WireQuery", "kind"): st.sampled_from(list(KINDS)),
    ("WireRange", "shape"): st.just("circle"),
    ("WireRange", "numbers"): st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    ("WireRange", "polygons"): st.just([]),
    ("WireRange", "names"): st.just([]),
    ("WireRange", "parts_of"): st.just([]),
    ("WireRange", "depths"): st.just(b""),
    ("WireQuery", "cells_from"): st.none(),
    ("WireQuery", "by"): st.none(),
    ("WireQuery", "rho_pico"): st.none(),
    ("WireQuery", "values"): st.just([]),
    ("Logged", "number"): st.integers(2, 1 << 40),
    ("Logged", "at"): st.just("2026-01-01T00:00:00.000+00:00"),
    ("Seen", "number"): st.integers(0, 1 << 40),
}
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "round": st.binary(min_size=16, max_size=16),
    "agreed": st.sampled_from([b"", bytes(range(16))]),
    "earlier": st.binary(min_size=16, max_size=16),
    "session": st.binary(min_size=16, max_size=16),
    "sessions": st.lists(st.binary(min_size=16, max_size=16), max_size=3),
    "commitment": st.binary(min_size=32, max_size=32),
    "number": st.binary(min_size=32, max_size=32),
    "base": st.binary(min_size=32, max_size=32),
    "links": st.sampled_from([bytes(32), bytes(64)]),
    "signature": st.binary(min_size=64, max_size=64),
    "signatures": st.lists(st.binary(min_size=64, max_size=64), min_size=2, max_size=2),
    "words": st.sampled_from([4, 8, 16]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    "sums": st.lists(WORDS, min_size=1, max_size=2),
    "counts": st.lists(WORDS, min_size=1, max_size=50),
    "heard": st.lists(st.integers(0, 9), min_size=1, max_size=3),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a type that the checks of messages let through."""
    if kind in (int, float, bool, str, bytes):
        plain = {
            int: st.integers(1, 60),
            float: st.floats(allow_nan=False, allow_infinity=False),
            bool: st.booleans(),
            str: TEXT,
            bytes: st.binary(max_size=64),
        }
        return plain[kind]
    if get_origin(kind) is list:
        return st.lists(values(get_args(kind)[0]), max_size=3)
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if kind is type(None):
        return st.none()
    if get_args(kind):
        return st.one_of(*(values(each) for each in get_args(kind)))
    return messages(kind)


def messages(kind: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    drawn = {}
    for field in fields(kind):
        special = SPECIAL.get((kind.__name__, field.name), BY_NAME.get(field.name))
        drawn[field.name] = special if special is not None else values(hints[field.name])
    return st.builds(kind, **drawn)


EXAMPLES = st.one_of(*(messages(kind) for kind in ALL))


@given(EXAMPLES)
def test_every_message_arrives_as_it_was_sent(message: Any) -> None:
    assert decode(encode(message), (type(message),)) == message


@pytest.mark.parametrize("kind", ALL, ids=list(WIRE))
def test_a_class_is_taken_only_where_it_may_be_sent(kind: type) -> None:
    others = tuple(other for other in ALL if other is not kind)

    @given(messages(kind))
    def refused(message: Any) -> None:
        with pytest.raises(ProtocolViolation):
            decode(encode(message), others)

    refused()


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        decode(data, ALL)


@given(EXAMPLES, st.data())
def test_a_changed_message_is_refused_or_another_valid_one(message: Any, data: st.DataObject) -> None:
    encoded = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(encoded) - 1))
        encoded[place] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(encoded), ALL)
    except ProtocolViolation:
        return
    assert encode(found) == encoded


@given(EXAMPLES, st.binary(min_size=1, max_size=8))
def test_a_message_with_something_after_it_is_refused(message: Any, more: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        decode(encode(message) + more, ALL)


def packed(body: Any, *, kind: str = "Ready", version: Any = VERSION, **more: Any) -> bytes:
    return msgspec.msgpack.encode({"v": version, "t": kind, "b": body, **more})


SECRET = "leaked"
REFUSED = {
    "another version": packed({"round": ROUND}, version=VERSION + 1),
    "a version as text": packed({"round": ROUND}, version=SECRET),
    "an unknown class": packed({"round": ROUND}, kind=SECRET),
    "a class of another module": packed({"labels": [0]}, kind="Partition"),
    "an unknown field": packed({"round": ROUND, SECRET: 1}),
    "an unknown field around": packed({"round": ROUND}, **{SECRET: 1}),
    "a missing field": packed({}),
    "text for bytes": packed({"round": SECRET}),
    "a number for bytes": packed({"round": 5}),
    "an id that is too short": packed({"round": b"short"}),
    "no map": packed([ROUND]),
    "a nested unknown field": packed({**vars(QUESTION), "query": {**vars(QUESTION.query), SECRET: 1}}, kind="Ask"),
    "another kind of question": packed(
        {**vars(QUESTION), "query": {**vars(QUESTION.query), "kind": SECRET}}, kind="Ask"
    ),
    "truth for a number": packed({"round": ROUND, "columns": True, "rows": 1, "epsilon_nano": 1}, kind="Describe"),
    "a fraction for a number": packed({"round": ROUND, "columns": 1.0, "rows": 1, "epsilon_nano": 1}, kind="Describe"),
    "fields in another order": packed({"rows": 1, "columns": 1, "round": ROUND, "epsilon_nano": 1}, kind="Describe"),
    "deep nesting": b"\x83\xa1v\x01\xa1t\xa5Ready\xa1b" + b"\x91" * 100_000 + b"\xc0",
    "deep nesting in a field": packed({"round": ROUND})[:-17] + b"\x91" * 500_000 + b"\xc0",
    "nothing": b"",
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_message_is_refused_without_being_quoted(data: bytes) -> None:
    with pytest.raises(ProtocolViolation) as refused:
        decode(data, ALL)
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_repeated_field_is_refused() -> None:
    twice = packed({"round": ROUND}).replace(b"\x81\xa5round", b"\x82\xa5round\xc4\x10" + ROUND + b"\xa5round")
    assert msgspec.msgpack.decode(twice)["b"] == {"round": ROUND}
    with pytest.raises(ProtocolViolation):
        decode(twice, ALL)


def test_a_message_that_is_too_long_is_refused_at_both_ends() -> None:
    frame = bytes(1 << 19)
    with pytest.raises(ProtocolViolation, match=str(MOST_MESSAGE)):
        encode(Relayed(ROUND, [frame, frame]))
    with pytest.raises(ProtocolViolation, match=str(MOST_MESSAGE)):
        decode(bytes(MOST_MESSAGE + 1), ALL)


def test_whole_numbers_travel_as_the_fractions_they_stand_for() -> None:
    sent = Relay(ROUND, b"certificate", 1, 1, 0, True)
    assert decode(encode(sent), (Relay,)).threshold == 0.0


@pytest.mark.parametrize("message", [object(), WireRange("circle", [1.0, 2.0, 3.0])], ids=["object", "part"])
def test_only_messages_of_the_protocol_are_encoded(message: Any) -> None:
    with pytest.raises(ProtocolViolation):
        encode(message)


def test_a_message_of_wrong_values_is_not_encoded() -> None:
    with pytest.raises(ProtocolViolation):
        encode(Presence("ann", here="yes"))
    with pytest.raises(ProtocolViolation):
        encode(Described(ROUND, [1.5]))
    with pytest.raises(ProtocolViolation):
        encode(Describe(ROUND, 1, 1, 1 << 70))
    with pytest.raises(ProtocolViolation):
        encode(Presence("\ud800", here=True))


def test_a_noisy_answer_takes_few_bytes() -> None:
    assert len(encode(Noisy(ROUND, [12_345], [0]))) < 64


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    monkeypatch.delitem(sys.modules, codec.__name__)
    with pytest.raises(InvalidInput, match=r"fedgroup\[live\]"):
        importlib.import_module(codec.__name__)
