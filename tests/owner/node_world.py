"""A live owner's node with real keys and a real ledger, whose messages stay what they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import SiloUnavailable
from fedgroup.messages.asked import Ask, Offer, Reveal, Seal
from fedgroup.messages.live import FromOwner, ToOwner
from fedgroup.messages.said import (
    Accepted,
    Sealed,
)  # fmt: skip
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from owner_keys import Keys

MAP = PublicMap(Box(0, 0, 10, 10))
EVERYONE = ("count", "sum", "avg")


@dataclass
class FakeSilo:
    """Answers the same whatever is asked."""

    count: int = 7
    total: int = 70
    attributes: tuple[str, ...] = ("fare",)
    texts: tuple[str, ...] = ()
    has_time: bool = False
    version: str = "1"
    away: bool = False
    broken: bool = False
    asked: int = 0

    def vector(self, grid: Grid) -> np.ndarray:
        return np.arange(grid.cells, dtype=np.int32)

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self.asked += 1
        if self.broken:
            raise SiloUnavailable("the database is away")
        each = {"count": self.count, "people": self.count, "sum": self.total}
        return {part: np.full(query.bins, each[part], dtype=np.int64) for part in query.parts}

    def snapshot(self) -> str:
        if self.away:
            raise SiloUnavailable("the database is away")
        return self.version


@dataclass
class Sent:
    """Messages stay what they are: encoding is the transport's matter."""

    known: list[Any] = field(default_factory=list)

    def encode(self, message: Any) -> bytes:
        self.known.append(message)
        return len(self.known).to_bytes(4, "big")

    def decode(self, data: bytes) -> Any:
        return self.known[int.from_bytes(data, "big") - 1]


WIRE = Sent()


@dataclass
class Owner:
    node: OwnerNode
    identity: Keys
    silo: FakeSilo
    ledger: OwnerLedger

    def say(self, message: ToOwner, sender: str = PROVIDER) -> list[tuple[str, FromOwner]]:
        return [(to, WIRE.decode(data)) for to, data in self.node.receive(sender, message)]

    def only(self, message: ToOwner) -> Any:
        ((to, reply),) = self.say(message)
        assert to == PROVIDER
        return reply


def ask(epsilon: float = 0.5, *, round_id: bytes = b"r" * 16, plan: str | None = None, **more: Any) -> Ask:
    query = RangeQuery("count", more.pop("range", Circle(5, 5, 3)), Epsilon.of(epsilon), **more)
    return Ask(round_id, WireQuery.of(query), plan, 1000, "ann")


def grouped(owners: list[Owner], mode: str, *, plan: str = "p", dropouts: int = 0) -> None:
    ders = [owner.identity.der for owner in owners]
    accepted = [owner.only(Offer(plan, mode, ders, i, 1, dropouts)) for i, owner in enumerate(owners)]
    assert all(isinstance(each, Accepted) for each in accepted)
    revealed = [owner.only(Reveal.of(plan, accepted)) for owner in owners]
    assert all(isinstance(owner.only(Seal.of(plan, revealed)), Sealed) for owner in owners)
