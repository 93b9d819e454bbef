"""MQTT packets: as the standard spells them, and cut out of any stream without trusting it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets
from fedgroup.transport.packets import Will


def test_packets_are_those_of_the_standard() -> None:
    assert packets.connect("ann", keepalive_s=10) == bytes.fromhex(
        "100f 00044d515454 04 02 000a 0003616e6e".replace(" ", "")
    )
    with_will = packets.connect("ann", keepalive_s=10, will=Will("t", b"gone"))
    assert with_will == bytes.fromhex("1018 00044d515454 04 26 000a 0003616e6e 000174 0004676f6e65".replace(" ", ""))
    assert packets.subscribe(["a/b"]) == bytes.fromhex("82080001 0003612f62 00".replace(" ", ""))
    assert packets.publish("a/b", b"x", retain=True) == bytes.fromhex("31060003612f6278")
    assert packets.publish("a", bytes(200))[:3] == bytes.fromhex("30cb01")


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=300)), max_size=6), st.data())
def test_messages_survive_any_cuts(messages: list[tuple[str, bytes]], data: st.DataObject) -> None:
    stream = b"".join(packets.publish(topic, payload) for topic, payload in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    buffer, found = bytearray(), []
    for start, end in zip((0, *cuts), (*cuts, len(stream)), strict=True):
        buffer += stream[start:end]
        found += [packets.published(first, body) for first, body in packets.cut(buffer)]
    assert (found, bytes(buffer)) == (messages, b"")


@given(st.binary(max_size=400))
def test_any_bytes_are_cut_or_refused(data: bytes) -> None:
    try:
        for first, body in packets.cut(bytearray(data)):
            packets.published(first & 0xF9, body)
    except ProtocolViolation:
        pass


@pytest.mark.parametrize("stream", [b"\x30\xff\xff\xff\x7f", b"\x30\xff\xff\xff\xff\x01"], ids=["long", "endless"])
def test_a_packet_that_is_too_long_is_refused_before_it_is_read(stream: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        list(packets.cut(bytearray(stream)))


@pytest.mark.parametrize(("first", "body"), [(0x32, b"\0\1ax"), (0x30, b"\0\5ab"), (0x30, b""), (0x30, b"\0\1\xff")])
def test_other_published_packets_are_refused(first: int, body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        packets.published(first, body)


@given(
    st.text(max_size=20),
    st.integers(0, 65_535),
    st.none() | st.builds(Will, st.text(max_size=20), st.binary(max_size=99), st.booleans()),
)
def test_a_greeting_is_read_as_it_was_written(client: str, keepalive_s: int, will: Will | None) -> None:
    ((first, body),) = packets.cut(bytearray(packets.connect(client, keepalive_s=keepalive_s, will=will)))
    assert first == packets.GREETING
    assert packets.greeting(body) == packets.Greeting(client, keepalive_s, clean=True, will=will)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5), st.integers(1, 65_535))
def test_filters_are_read_as_they_were_written(filters: list[str], number: int) -> None:
    ((first, body),) = packets.cut(bytearray(packets.subscribe(filters, packet_id=number)))
    assert (first, packets.subscribed(body)) == (packets.SUBSCRIBE, (number.to_bytes(2, "big"), filters))


@given(st.binary(max_size=60))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    for read in (packets.greeting, packets.subscribed, packets.unsubscribed):
        with suppress(ProtocolViolation):
            read(packets._SPEAKS + body if read is packets.greeting else body)


def test_replies_are_those_of_the_standard() -> None:
    assert packets.granted(b"\x00\x07", (0, packets.REFUSED_FILTER)) == bytes.fromhex("9004 0007 00 80")
    assert packets.released(b"\x00\x07") == bytes.fromhex("b002 0007")


def test_a_limit_of_ones_own_holds_before_a_packet_is_whole() -> None:
    start = bytearray(packets.publish("a", bytes(200))[:3])
    assert packets.cut_one(start, most=203) is None
    with pytest.raises(ProtocolViolation):
        packets.cut_one(start, most=202)
