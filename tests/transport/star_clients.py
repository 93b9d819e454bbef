"""Clients of the star without sockets: a line that remembers what was sent over it, and ways to speak."""

from __future__ import annotations

from fedgroup.transport import packets
from fedgroup.transport.access import access_of
from fedgroup.transport.packets import Will
from fedgroup.transport.star import Guest, Star
from fedgroup.transport.topics import PROVIDER, Topics

CITY = Topics("city")


class FakeLine:
    """Remembers packets, and how it ended; `unread` is what its client has not taken."""

    def __init__(self) -> None:
        self.packets: list[bytes] = []
        self.unread = 0
        self.ended: str | None = None

    @property
    def backlog(self) -> int:
        return self.unread

    def send(self, packet: bytes) -> None:
        assert packet
        if self.ended is None:
            self.packets.append(packet)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def cut_off(self) -> None:
        self.ended = "cut off"


class Client:
    """One client at a star, in its own name."""

    def __init__(self, star: Star, name: str, *, known: bool = True) -> None:
        self.name = name
        self.line = FakeLine()
        access = access_of(CITY, PROVIDER if name == PROVIDER else "owner", name)
        assert access is not None
        self.guest = Guest(star, self.line, known=(name, access) if known else None)

    def hears(self, *packets_sent: bytes) -> bool:
        return self.guest.hear(b"".join(packets_sent))

    def greets(self, *, called: str | None = None, keepalive_s: int = 10, will: Will | None = None) -> Client:
        self.hears(packets.connect(self.name if called is None else called, keepalive_s=keepalive_s, will=will))
        return self

    def listens(self, *filters: str) -> Client:
        self.hears(packets.subscribe(filters))
        return self

    def taken(self) -> list[bytes]:
        """Return what was sent since the last time."""
        found, self.line.packets = self.line.packets, []
        return found

    def messages(self) -> list[tuple[str, bytes]]:
        """Return topics and payloads of the messages among that."""
        cut = packets.cut(bytearray(b"".join(self.taken())))
        return [packets.published(first, body) for first, body in cut if first >> 4 == packets.PUBLISH]


def gone(name: str) -> Will:
    return Will(CITY.presence(name), b"gone")


def provider_at(star: Star) -> Client:
    """The provider, who listens to all that it may."""
    found = Client(star, PROVIDER).greets().listens(CITY.say("+"), CITY.presence("+"))
    found.taken()
    return found


def owner_at(star: Star, name: str) -> Client:
    """An owner, who listens to all that it may, and leaves a will."""
    found = Client(star, name).greets(will=gone(name)).listens(CITY.ask(name), CITY.letter(name, "+"))
    found.taken()
    return found
