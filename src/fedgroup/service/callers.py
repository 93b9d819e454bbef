"""Who is connected to the service, and who gives way when too many are: strangers first, those who wait first.

A caller is a stranger until a request of it came with a token, or a session, that is valid. It waits while no request
of it is under way.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedgroup.errors import InvalidInput

HEAD_S = 10.0
IDLE_S = 5.0
MOST = 1_000
MOST_OF_AN_ADDRESS = 100
_STATE = "fedgroup_caller"
_PREFIX = 64
"""Whoever has an address of IPv6 has all that begin with so many of its bits."""


@dataclass(frozen=True)
class CallerLimits:
    """How long a request's head and a pause between requests may take, and how many connections there may be.

    `most_strangers` are those without a token. Addresses in `proxies`, and this machine itself, have no limit of their
    own.
    """

    head_s: float = HEAD_S
    idle_s: float = IDLE_S
    most: int = MOST
    most_strangers: int = MOST // 2
    most_of_an_address: int = MOST_OF_AN_ADDRESS
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.head_s > 0 and self.idle_s > 0):
            raise InvalidInput("head_seconds and idle_seconds of [http] must be above 0")
        if min(self.most, self.most_strangers, self.most_of_an_address) < 1:
            raise InvalidInput("the numbers of connections in [http] must be at least 1")
        for proxy in self.proxies:
            _ = _address(proxy)

    def within(self, files: int) -> CallerLimits:
        """Return the same limits, or lower ones: half of the files that may be open are for others than callers."""
        most = max(1, min(self.most, files // 2))
        fewer = {"most": most, "most_strangers": min(self.most_strangers, max(1, most // 2))}
        return self if most == self.most else CallerLimits(**vars(self) | fewer)


@dataclass(eq=False)
class HttpCaller:
    """One connection: whose, since when it is as it is, and how it is ended."""

    place: str
    connection: socket.socket
    since: float
    cut_off: Callable[[], None]
    busy: bool = False
    known: bool = False

    def now(self, *, busy: bool, at: float) -> None:
        """Note whether a request is under way."""
        if busy != self.busy:
            self.busy, self.since = busy, at


class HttpCallers:
    """Everybody who is connected."""

    def __init__(self, limits: CallerLimits, *, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._free = {place_of(proxy) for proxy in limits.proxies}
        self._here: list[HttpCaller] = []

    def __len__(self) -> int:
        return len(self._still_here())

    def admit(self, connection: socket.socket, host: str) -> HttpCaller | None:
        """Return the new caller, for whom another one may have to give way; none if nobody can."""
        place, here = place_of(host), self._still_here()
        mates = [each for each in here if each.place == place]
        limited = place not in self._free and not _is_here(host)
        if limited and len(mates) >= self._limits.most_of_an_address and not self._ended(_waiting(mates)):
            return None
        strangers = [each for each in here if not each.known]
        if len(strangers) >= self._limits.most_strangers:
            self._ended(_waiting(strangers) or strangers)
        elif len(here) >= self._limits.most and not self.make_room():
            return None
        caller = HttpCaller(place, connection, self._clock(), connection.close)
        self._here.append(caller)
        return caller

    def make_room(self) -> bool:
        """End the connection that has waited longest, or else the oldest stranger's; tell whether there was one."""
        here = self._still_here()
        return self._ended(_waiting(here) or [each for each in here if not each.known])

    def _still_here(self) -> list[HttpCaller]:
        self._here = [each for each in self._here if each.connection.fileno() >= 0]
        return self._here

    def _ended(self, candidates: Sequence[HttpCaller]) -> bool:
        if not candidates:
            return False
        oldest = min(candidates, key=lambda each: each.since)
        self._here.remove(oldest)
        oldest.cut_off()
        return True


def place_of(host: str) -> str:
    """Return what all addresses of one party have in common."""
    address = _address(host)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((int(address), _PREFIX), strict=False))


def state_of(caller: HttpCaller) -> dict[str, Any]:
    """Return what the application is given with each request of a caller."""
    return {_STATE: caller}


def vouch(scope: MutableMapping[str, Any]) -> None:
    """Note that whoever sent a request is no stranger."""
    caller = scope.get("state", {}).get(_STATE)
    if isinstance(caller, HttpCaller):
        caller.known = True


def _waiting(callers: Sequence[HttpCaller]) -> list[HttpCaller]:
    return [each for each in callers if not each.busy]


def _is_here(host: str) -> bool:
    return _address(host).is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        raise InvalidInput(f"a proxy is told by its address, such as 192.0.2.7, got {host!r}") from None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return found if mapped is None else mapped
