"""The star without sockets: who is let in, who hears what, what ends a connection, and what it leaves behind."""

from __future__ import annotations

import pytest
from star_clients import CITY, Client, gone, owner_at, provider_at

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets
from fedgroup.transport.packets import Will
from fedgroup.transport.star import LONGEST_SILENCE_S, MOST_BACKLOG, MOST_GREETING, Star
from fedgroup.transport.topics import PROVIDER


@pytest.fixture
def star() -> Star:
    return Star(CITY)


def test_a_greeting_is_answered_and_tells_how_long_a_client_may_be_silent(star: Star) -> None:
    # a client that says something each minute, as most do, is given the time and a half that MQTT promises it
    for keepalive_s, silence_s in ((10, 15.0), (60, 90.0), (0, LONGEST_SILENCE_S), (9_999, LONGEST_SILENCE_S)):
        ann = Client(star, "ann").greets(keepalive_s=keepalive_s)
        assert (ann.taken(), ann.line.ended, ann.guest.silence_s) == ([packets.LET_IN], None, silence_s)


UNWELCOME = {
    "another's name": {"called": "bob"},
    "no name": {"called": ""},
    "the provider's name": {"called": PROVIDER},
    "another's will": {"will": gone("bob")},
    "a kept will elsewhere": {"will": Will(CITY.say("ann"), b"x")},
    "a will in the provider's name": {"will": Will(CITY.ask("ann"), b"x", retained=False)},
}


@pytest.mark.parametrize("greeting", UNWELCOME.values(), ids=list(UNWELCOME))
def test_a_greeting_that_is_not_in_ones_own_name_is_refused(star: Star, greeting: dict) -> None:
    ann, bob, provider = Client(star, "ann").greets(**greeting), owner_at(star, "bob"), provider_at(star)
    assert (ann.taken(), ann.line.ended, ann.guest.silence_s) == ([packets.NOT_AUTHORISED], "closed", None)
    assert not ann.hears(packets.publish(CITY.say("ann"), b"all the same"))
    ann.guest.lost()
    assert (provider.messages(), bob.line.ended) == ([], None)


def test_a_client_without_business_here_is_refused(star: Star) -> None:
    for called in ("ann", ""):
        assert Client(star, "ann", known=False).greets(called=called).taken() == [packets.NOT_AUTHORISED]


def test_a_session_that_is_to_be_kept_is_refused(star: Star) -> None:
    ann = Client(star, "ann")
    clean = packets.connect("ann", keepalive_s=10)
    ann.hears(clean.replace(b"MQTT\x04\x02", b"MQTT\x04\x00"))
    assert ann.taken() == [packets.NOT_AUTHORISED]


def test_messages_reach_the_one_they_are_for(star: Star) -> None:
    provider, ann, bob = provider_at(star), owner_at(star, "ann"), owner_at(star, "bob")
    provider.hears(packets.publish(CITY.ask("ann"), b"question"))
    ann.hears(packets.publish(CITY.say("ann"), b"answer"), packets.publish(CITY.letter("bob", "ann"), b"sealed"))
    assert ann.messages() == [(CITY.ask("ann"), b"question")]
    assert bob.messages() == [(CITY.letter("bob", "ann"), b"sealed")]
    assert provider.messages() == [(CITY.say("ann"), b"answer")]


def test_bytes_may_come_one_by_one(star: Star) -> None:
    provider, ann = provider_at(star), Client(star, "ann")
    stream = packets.connect("ann", keepalive_s=10) + packets.publish(CITY.say("ann"), bytes(300)) + packets.PINGREQ
    whole = [number for number, byte in enumerate(stream) if ann.hears(bytes((byte,)))]
    assert (len(whole), whole[-1]) == (3, len(stream) - 1)
    assert ann.taken() == [packets.LET_IN, packets.PONG]
    assert provider.messages() == [(CITY.say("ann"), bytes(300))]


def test_a_topic_of_others_is_not_written_to_and_the_next_message_is_delivered(star: Star) -> None:
    provider, ann, bob = provider_at(star), owner_at(star, "ann"), owner_at(star, "bob")
    foreign = (
        CITY.say("bob"),
        CITY.ask("bob"),
        CITY.letter("bob", "cid"),
        CITY.say("+"),
        CITY.say("a/b"),
        "#",
        "",
        "x",
    )
    for topic in foreign:
        ann.hears(packets.publish(topic, b"forged"))
    ann.hears(packets.publish(CITY.presence("bob"), b"forged", retain=True))
    ann.hears(packets.publish(CITY.say("ann"), b"genuine"))
    assert (bob.messages(), provider.messages()) == ([], [(CITY.say("ann"), b"genuine")])
    assert provider_at(star).messages() == []


def test_filters_of_others_are_refused_one_by_one(star: Star) -> None:
    ann = Client(star, "ann").greets()
    ann.taken()
    ann.listens(CITY.ask("bob"), CITY.ask("ann"), "#", CITY.presence("+"), CITY.letter("ann", "bob"))
    assert ann.taken() == [bytes.fromhex("9007 0001 80 00 80 80 80")]
    provider = provider_at(star)
    provider.hears(packets.publish(CITY.ask("bob"), b"not for ann"), packets.publish(CITY.ask("ann"), b"for ann"))
    assert ann.messages() == [(CITY.ask("ann"), b"for ann")]


def test_a_filter_that_was_given_up_is_heard_no_more(star: Star) -> None:
    provider, ann = provider_at(star), owner_at(star, "ann")
    ann.hears(packets.packet(packets.UNSUBSCRIBE, b"\x00\x07" + packets.said(CITY.ask("ann"), b"")))
    assert ann.taken() == [b"\xb0\x02\x00\x07"]
    provider.hears(packets.publish(CITY.ask("ann"), b"question"))
    assert ann.messages() == []


def test_presence_is_kept_for_who_comes_later_until_it_is_emptied(star: Star) -> None:
    ann = owner_at(star, "ann")
    ann.hears(packets.publish(CITY.presence("ann"), b"here", retain=True))
    late = Client(star, PROVIDER).greets().listens(CITY.say("+"), CITY.presence("+"), CITY.presence("+"))
    kept = packets.publish(CITY.presence("ann"), b"here", retain=True)
    assert late.taken() == [packets.LET_IN, packets.granted(b"\x00\x01", (0, 0, 0)), kept]
    ann.hears(packets.publish(CITY.presence("ann"), b"", retain=True))
    assert Client(star, PROVIDER).greets().listens(CITY.presence("+")).messages() == []


def test_nothing_but_ones_own_presence_is_kept(star: Star) -> None:
    for name, topic in (("ann", CITY.say("ann")), ("ann", CITY.letter("bob", "ann")), (PROVIDER, CITY.ask("ann"))):
        client = Client(star, name).greets()
        with pytest.raises(ProtocolViolation):
            client.hears(packets.publish(topic, b"x", retain=True))


def test_a_client_that_is_lost_leaves_its_will_and_one_that_says_goodbye_does_not(star: Star) -> None:
    provider, ann, bob = provider_at(star), owner_at(star, "ann"), owner_at(star, "bob")
    bob.hears(packets.DISCONNECT, packets.publish(CITY.say("bob"), b"after the goodbye"))
    bob.guest.lost()
    ann.guest.lost()
    ann.guest.lost()
    assert (bob.line.ended, provider.messages()) == ("closed", [(CITY.presence("ann"), b"gone")])
    provider.hears(packets.publish(CITY.ask("ann"), b"nobody there"))
    assert ann.messages() == []


def test_a_newer_connection_takes_the_place_of_the_older_one_whose_will_comes_first(star: Star) -> None:
    provider, older = provider_at(star), owner_at(star, "ann")
    newer = owner_at(star, "ann")
    newer.hears(packets.publish(CITY.presence("ann"), b"here", retain=True))
    assert (older.line.ended, newer.line.ended) == ("cut off", None)
    older.guest.lost()
    assert [payload for _, payload in provider.messages()] == [b"gone", b"here"]
    provider.hears(packets.publish(CITY.ask("ann"), b"question"))
    assert (newer.messages(), older.messages()) == ([(CITY.ask("ann"), b"question")], [])


def test_who_reads_too_slowly_is_cut_off_and_nobody_else(star: Star) -> None:
    provider, ann, bob = provider_at(star), owner_at(star, "ann"), owner_at(star, "bob")
    ann.line.unread = MOST_BACKLOG
    provider.hears(packets.publish(CITY.ask("ann"), b"just fits"))
    assert (ann.line.ended, len(ann.messages())) == (None, 1)
    ann.line.unread += 1
    provider.hears(packets.publish(CITY.ask("ann"), b"too much"), packets.publish(CITY.ask("bob"), b"question"))
    assert (ann.line.ended, ann.messages(), len(bob.messages())) == ("cut off", [], 1)
    ann.guest.lost()
    assert provider.messages() == [(CITY.presence("ann"), b"gone")]


GREETING = packets.connect("ann", keepalive_s=10)
NO_GREETINGS = {
    "a message": packets.publish(CITY.say("ann"), b"x"),
    "a ping": packets.PINGREQ,
    "another protocol": GREETING.replace(b"MQTT", b"MQTs"),
    "another version": GREETING.replace(b"MQTT\x04", b"MQTT\x05"),
    "a user name": GREETING.replace(b"MQTT\x04\x02", b"MQTT\x04\x82"),
    "a will that is missing": GREETING.replace(b"MQTT\x04\x02", b"MQTT\x04\x06"),
    "a will at QoS 1": packets.connect("ann", keepalive_s=1, will=gone("ann")).replace(b"\x04\x26", b"\x04\x2e"),
    "flags of a will without one": GREETING.replace(b"MQTT\x04\x02", b"MQTT\x04\x22"),
    "more than its fields": packets.packet(packets.GREETING, GREETING[2:] + b"x"),
    "less than its fields": packets.packet(packets.GREETING, GREETING[2:-1]),
    "a name that is no text": GREETING.replace(b"ann", b"an\xff"),
    "flags of the first byte": b"\x11" + GREETING[1:],
    "a length beyond any greeting": b"\x10" + bytes((0x81 | MOST_GREETING & 0x7F, MOST_GREETING >> 7)),
    "HTTP": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("said", NO_GREETINGS.values(), ids=list(NO_GREETINGS))
def test_whoever_does_not_greet_is_not_listened_to(star: Star, said: bytes) -> None:
    ann = Client(star, "ann")
    with pytest.raises(ProtocolViolation):
        ann.hears(said)
    assert (ann.taken(), ann.guest.silence_s) == ([], None)


FORBIDDEN = {
    "a second greeting": GREETING,
    "a message at QoS 1": b"\x32\x09\x00\x04topi\x00\x01x",
    "a message sent again": b"\x38\x06\x00\x03abcx",
    "a message without a topic": b"\x30\x01\x00",
    "a topic that is no text": b"\x30\x03\x00\x01\xff",
    "a packet that is too long": b"\x30\xff\xff\xff\x7f",
    "an endless length": b"\x30\xff\xff\xff\xff\x7f",
    "a packet for clients": b"\x20\x02\x00\x00",
    "a ping with something inside": b"\xc0\x01x",
    "a goodbye with something inside": b"\xe0\x01x",
    "a subscription without filters": b"\x82\x02\x00\x01",
    "a subscription without a QoS": b"\x82\x05\x00\x01\x00\x01a",
    "a subscription with other flags": b"\x80\x06\x00\x01\x00\x01a\x00",
    "an end of a subscription without filters": b"\xa2\x02\x00\x01",
    "a receipt": b"\x40\x02\x00\x01",
}


@pytest.mark.parametrize("said", FORBIDDEN.values(), ids=list(FORBIDDEN))
def test_what_a_client_has_no_reason_to_send_is_refused(star: Star, said: bytes) -> None:
    provider, ann = provider_at(star), owner_at(star, "ann")
    with pytest.raises(ProtocolViolation):
        ann.hears(said)
    ann.guest.lost()
    assert provider.messages() == [(CITY.presence("ann"), b"gone")]
