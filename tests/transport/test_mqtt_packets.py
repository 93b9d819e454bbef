"""MQTT packets: as the standard spells them, and cut out of any stream without trusting it."""

from __future__ import annotations

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
