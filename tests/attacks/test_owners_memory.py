"""Legal questions without end do not fill an owner's memory: rounds that are never finished are few, and forgotten."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.messages.asked import Ask, Offer, Reveal, Seal
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Letter, Ready, Sealed
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.rounds import MOST_OPEN
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
MEMBERS = 3
MOST_GROWN = 400_000
"""Bytes that may come and go between two looks: a few hundred rounds more would take twice as many."""


@pytest.fixture
def group(tmp_path: Path) -> Iterator[list[OwnerNode]]:
    """Owners in a trusted group, the first of whom leads."""
    keys = [Keys(f"o{i}") for i in range(MEMBERS)]
    ledgers = [OwnerLedger(tmp_path / f"{i}.db", flushed_later=True) for i in range(MEMBERS)]
    for ledger in ledgers:
        ledger.set_cap(Epsilon.of(10))
    nodes = [
        OwnerNode(
            key, TableSilo(Records(owner=[0], x=[5.0], y=[5.0]), MAP), public_map=MAP, protection=Protection(),
            policy=Policy(modes=("trusted",), trusted_with=("*",)), ledger=ledger, noise=SecureNoise(),
            verify=believed, encode=encode,
        )
        for key, ledger in zip(keys, ledgers, strict=True)
    ]  # fmt: skip
    accepted = [said(node, Offer("p", "trusted", [k.der for k in keys], i)) for i, node in enumerate(nodes)]
    revealed = [said(node, Reveal.of("p", accepted)) for node in nodes]
    assert all(isinstance(said(node, Seal.of("p", revealed)), Sealed) for node in nodes)
    yield nodes
    for ledger in ledgers:
        ledger.close()


def said(node: OwnerNode, message: object) -> object:
    ((_, payload),) = node.prepare(PROVIDER, message)
    return decode(payload, FromOwner.__args__)


def ask(number: int) -> Ask:
    query = RangeQuery("count", Circle(5, 5, 1 + number / 1_000), Epsilon.of(0.001))
    return Ask(number.to_bytes(16, "big"), WireQuery.of(query), "p", 600_000)


def test_rounds_that_are_never_finished_do_not_add_up(group: list[OwnerNode]) -> None:
    leader = group[0]
    tracemalloc.start()
    try:
        held = []
        for number in range(3 * MOST_OPEN):
            assert isinstance(said(leader, ask(number)), Ready)
            # letters of rounds that nobody asks about, from members and strangers
            leader.prepare("o1", Letter((10**6 + number).to_bytes(16, "big"), bytes(64)))
            if number % MOST_OPEN == MOST_OPEN - 1:
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert len(leader._open._rounds) == MOST_OPEN
    assert held[2] - held[1] < MOST_GROWN
    assert leader.ledger.spent() == Epsilon(0)  # type: ignore[attr-defined]


def test_the_provider_and_the_other_members_see_of_an_exact_letter_its_length_only(group: list[OwnerNode]) -> None:
    """A leader may learn its members' exact answers, who consented; everybody else, nothing of them."""
    letters = []
    for number in (1, 2):
        for member in group[1:]:
            sent = member.prepare(PROVIDER, ask(number))
            (payload,) = [payload for to, payload in sent if to == "o0"]
            letters.append(decode(payload, (Letter,)).sealed)
    assert len({len(letter) for letter in letters}) == 1
    assert len(set(letters)) == len(letters)
    one = Letter(ask(1).round, letters[0])
    assert group[2].prepare("o1", one) == []  # not for its eyes, and it leads nothing
    assert not group[2]._open._rounds
