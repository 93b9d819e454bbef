"""What the embedded broker decides, without sockets: everybody is joined to one centre, and hears what is for it only.

Requires:  clients were told apart by their certificates before they say a word.
Guarantee: a client is let in under its own name, publishes to topics granted to it, and hears topics granted to it
           that it asked for. What it has no reason to say ends its own connection. What waits for it is bounded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

from fedgroup.errors import ProtocolViolation
from fedgroup.transport import packets
from fedgroup.transport.access import Access
from fedgroup.transport.packets import Greeting, Will
from fedgroup.transport.topics import Topics

log = logging.getLogger("fedgroup.broker")

MOST_BACKLOG = 64 << 20
"""Bytes that may wait for a client that reads too slowly; then it is cut off."""

MOST_GREETING = 4_096
"""Bytes of a client's first packet: its name, and a will that says that it is gone."""

LONGEST_SILENCE_S = 90.0
"""How long a client may say nothing, whatever it asked for: one and a half times what usual clients ask for."""

_NOTHING = Access((), ())
_FIRST = frozenset((packets.GREETING,))
_MESSAGES = frozenset((packets.MESSAGE, packets.RETAINED))
_LATER = _MESSAGES | {packets.SUBSCRIBE, packets.UNSUBSCRIBE, packets.PING, packets.GOODBYE}


class Line(Protocol):
    """The connection to a client. After its end, what is sent is lost."""

    @property
    def backlog(self) -> int:
        """Bytes that were sent and that the client has not taken."""

    def send(self, packet: bytes) -> None:
        """Send soon, together with whatever else is sent until then."""

    def close(self) -> None:
        """Send what waits, and end."""

    def cut_off(self) -> None:
        """End at once; the guest is told later that it is lost."""


class Star:
    """The centre: who is here, who listens to what, and what is kept for those who come later.

    A filter is granted to one party only, and a party is here once: every message has one listener at most. What is
    kept is the presence of each owner, and nothing else.
    """

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self._guests: dict[str, Guest] = {}
        self._listeners: dict[str, Guest] = {}
        self._retained: dict[str, bytes] = {}

    def take_in(self, name: str, guest: Guest) -> None:
        """Let a guest take the place of its own older connection, whose will is told first."""
        if name in self._guests:
            self._guests[name].replaced()
        self._guests[name] = guest

    def let_go(self, name: str, guest: Guest) -> None:
        """Forget a guest, unless another one has its place."""
        if self._guests.get(name) is guest:
            del self._guests[name]

    def listen(self, topic_filter: str, guest: Guest) -> None:
        """Hand a guest the messages of a filter from now on."""
        self._listeners[topic_filter] = guest

    def ignore(self, topic_filter: str, guest: Guest) -> None:
        """Hand a guest the messages of a filter no more."""
        if self._listeners.get(topic_filter) is guest:
            del self._listeners[topic_filter]

    def publish(self, topic: str, payload: bytes) -> None:
        """Hand a message to who listens to its topic, if anybody does."""
        listener = self._listeners.get(self.topics.filter_of(topic) or "")
        if listener is not None:
            listener.tell(packets.publish(topic, payload))

    def retain(self, topic: str, payload: bytes) -> None:
        """Keep a message in place of the one before; an empty one only takes that away."""
        self._retained.pop(topic, None)
        if payload:
            self._retained[topic] = payload

    def retained(self, topic_filter: str) -> Iterator[tuple[str, bytes]]:
        """Yield topic and payload of the messages that are kept for a filter."""
        return (each for each in self._retained.items() if self.topics.filter_of(each[0]) == topic_filter)


class Guest:
    """A client with a certificate, from its greeting to its end; `known` is none if it has no business here.

    `hear` raises `ProtocolViolation` at what a client has no reason to send: then, and at the end of the connection,
    the guest is `lost`. `silence_s` is how long it may be silent, once it is let in.
    """

    def __init__(self, star: Star, line: Line, *, known: tuple[str, Access] | None) -> None:
        self._star = star
        self._line = line
        self._is_known = known is not None
        self._name, self._access = known or ("", _NOTHING)
        self._buffer = bytearray()
        self._listens_to: set[str] = set()
        self._will: Will | None = None
        self._over = False
        self.silence_s: float | None = None

    def hear(self, data: bytes) -> bool:
        """Take what a client sent, in pieces as they come, and tell whether a packet is whole now."""
        self._buffer += data
        heard = False
        while self._buffer and not self._over:
            self._require_expected(self._buffer[0])
            found = packets.cut_one(self._buffer, most=self._most)
            if found is None:
                break
            self._take(*found)
            heard = True
        return heard

    def tell(self, packet: bytes) -> None:
        """Send a client something, unless it left too much unread."""
        if self._line.backlog <= MOST_BACKLOG:
            self._line.send(packet)
        else:
            log.warning("a client reads too slowly and is cut off", extra={"party": self._name})
            self._line.cut_off()

    def lost(self) -> None:
        """Be gone, without a goodbye: the will is published, once."""
        will = self._will
        self._leave()
        if will is not None:
            self._publish(will.topic, will.payload, retain=will.retained)

    def replaced(self) -> None:
        """Give way to a newer connection of the same client."""
        self.lost()
        self._line.cut_off()

    @property
    def _most(self) -> int:
        return MOST_GREETING if self.silence_s is None else packets.MOST_PACKET

    def _require_expected(self, first: int) -> None:
        """Refuse a packet by its first byte, before the rest of it is waited for."""
        if first not in (_FIRST if self.silence_s is None else _LATER):
            raise ProtocolViolation("a client greets first, and then sends what links need")

    def _take(self, first: int, body: bytes) -> None:
        if first == packets.GREETING:
            self._greet(packets.greeting(body))
        elif first in _MESSAGES:
            self._publish(*packets.published(first, body), retain=first == packets.RETAINED)
        elif first == packets.SUBSCRIBE:
            self._subscribe(*packets.subscribed(body))
        elif first == packets.UNSUBSCRIBE:
            self._unsubscribe(*packets.unsubscribed(body))
        elif body:
            raise ProtocolViolation("nothing is inside a ping or a goodbye")
        elif first == packets.PING:
            self.tell(packets.PONG)
        else:
            self._leave()
            self._line.close()

    def _greet(self, greeting: Greeting) -> None:
        if not self._may_enter(greeting):
            log.warning("a client was refused")
            self._over = True
            self._line.send(packets.NOT_AUTHORISED)
            self._line.close()
            return
        self.silence_s = min(1.5 * greeting.keepalive_s or LONGEST_SILENCE_S, LONGEST_SILENCE_S)
        self._star.take_in(self._name, self)
        self._will = greeting.will
        self.tell(packets.LET_IN)

    def _may_enter(self, greeting: Greeting) -> bool:
        """Tell whether a greeting is in the client's own name, of a clean session, with a will of its own."""
        if not (self._is_known and greeting.client == self._name and greeting.clean):
            return False
        will = greeting.will
        if will is None:
            return True
        return self._access.may_publish(will.topic) and (not will.retained or self._may_retain(will.topic))

    def _may_retain(self, topic: str) -> bool:
        return topic == self._star.topics.presence(self._name)

    def _publish(self, topic: str, payload: bytes, *, retain: bool) -> None:
        if not self._access.may_publish(topic):
            log.debug("a message to others' topics was dropped", extra={"party": self._name})
            return
        if retain and not self._may_retain(topic):
            raise ProtocolViolation("the broker keeps an owner's own presence, and nothing else")
        self._star.publish(topic, payload)
        if retain:
            self._star.retain(topic, payload)

    def _subscribe(self, packet_id: bytes, filters: list[str]) -> None:
        granted = dict.fromkeys(filter(self._access.may_subscribe, filters))
        codes = (packets.GRANTED_FILTER if each in granted else packets.REFUSED_FILTER for each in filters)
        self.tell(packets.granted(packet_id, codes))
        for each in granted:
            self._listens_to.add(each)
            self._star.listen(each, self)
            for topic, payload in self._star.retained(each):
                self.tell(packets.publish(topic, payload, retain=True))

    def _unsubscribe(self, packet_id: bytes, filters: Iterable[str]) -> None:
        for each in filters:
            self._listens_to.discard(each)
            self._star.ignore(each, self)
        self.tell(packets.released(packet_id))

    def _leave(self) -> None:
        self._over = True
        self._will = None
        for each in self._listens_to:
            self._star.ignore(each, self)
        self._listens_to.clear()
        self._star.let_go(self._name, self)
