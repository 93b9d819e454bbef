"""Whatever some clients send, in whatever pieces: they break nothing, and nobody hears what is not for it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from star_clients import CITY, Client, gone, owner_at, provider_at

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets
from fedgroup.transport.packets import Will
from fedgroup.transport.star import Star
from fedgroup.transport.topics import PROVIDER

NAMES = ("ann", "bob", "cid")
ALL = (*NAMES, PROVIDER)
names = st.sampled_from((*ALL, "+", "#", "", "a/b"))
topics = st.one_of(
    st.builds(CITY.ask, names),
    st.builds(CITY.say, names),
    st.builds(CITY.presence, names),
    st.builds(CITY.letter, names, names),
    st.text(max_size=8),
)
payloads = st.binary(max_size=200)
wills = st.one_of(st.none(), st.builds(Will, topics, payloads, st.booleans()))
sent = st.one_of(
    st.builds(packets.publish, topics, payloads, retain=st.booleans()),
    st.builds(packets.subscribe, st.lists(topics, min_size=1, max_size=3)),
    st.builds(lambda client, will: packets.connect(client, keepalive_s=10, will=will), names, wills),
    st.builds(packets.packet, st.integers(0, 255), st.binary(max_size=20)),
    st.sampled_from([packets.PINGREQ, packets.DISCONNECT]),
    st.binary(max_size=6),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(ALL), st.lists(sent, max_size=4), st.integers(1, 40)), max_size=12))
def test_everybody_hears_what_is_for_it_and_by_whom_it_may_be_said(
    said: list[tuple[str, list[bytes], int]],
) -> None:
    star = Star(CITY)
    clients = [Client(star, name) for name in ALL]
    by_name = {client.name: client.greets() for client in clients}
    for name, packets_sent, piece in said:
        client, stream = by_name[name], b"".join(packets_sent)
        try:
            for start in range(0, len(stream), piece):
                client.hears(stream[start : start + piece])
        except ProtocolViolation:
            client.guest.lost()
            by_name[name] = Client(star, name).greets()
            clients.append(by_name[name])
    for client in clients:
        for topic, _ in client.messages():
            assert topic in may_hear(client.name)
    assert works(star)


def may_hear(name: str) -> set[str]:
    """Return what somebody may hear, of what a party of `NAMES` or the provider may say."""
    if name == PROVIDER:
        return {topic for owner in NAMES for topic in (CITY.say(owner), CITY.presence(owner))}
    return {CITY.ask(name), *(CITY.letter(name, sender) for sender in NAMES)}


def works(star: Star) -> bool:
    """Tell whether owners who come now are asked and heard, and are gone when they are lost."""
    provider, ann = provider_at(star), owner_at(star, "ann")
    provider.hears(packets.publish(CITY.ask("ann"), b"question"))
    ann.hears(packets.publish(CITY.say("ann"), b"answer"))
    ann.guest.lost()
    heard = provider.messages()[-2:]
    will = (gone("ann").topic, gone("ann").payload)
    return (ann.messages(), heard) == ([(CITY.ask("ann"), b"question")], [(CITY.say("ann"), b"answer"), will])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_understood_or_refused(data: bytes, greeted: bool) -> None:
    star = Star(CITY)
    ann = owner_at(star, "ann") if greeted else Client(star, "ann")
    try:
        ann.hears(data)
    except ProtocolViolation:
        ann.guest.lost()
    assert works(star)
