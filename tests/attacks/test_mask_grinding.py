"""A provider with colluders among the members offers groups until a mask graph pleases it, and gains nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.messages.asked import Leave, Offer, Reveal, Seal
from fedgroup.messages.live import FromOwner
from fedgroup.messages.said import Accepted, Refused, Revealed, Sealed
from fedgroup.owner import node as owner_node
from fedgroup.owner.groups import Group
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.secure.mask_graph import commitment
from fedgroup.secure.recovery import neighbours_in
from fedgroup.space import Box, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from owner_keys import Keys, believed

COLLUDERS = 14


class NoSilo:
    """Nothing is counted here."""

    def vector(self, grid: Any) -> Any:
        raise AssertionError("nothing is counted")


class Victim:
    """An honest member at position 0, with everybody else's keys in the hands of the test."""

    def __init__(self, ledger: Path, members: int) -> None:
        self.keys = [Keys(f"o{i}") for i in range(members)]
        self.roster = [each.der for each in self.keys]
        self.path = ledger
        self.start()

    def start(self) -> None:
        self.ledger = OwnerLedger(self.path)
        self.ledger.set_cap(Epsilon.of(10))
        self.node = OwnerNode(
            self.keys[0], NoSilo(), public_map=PublicMap(Box(0, 0, 1, 1)), protection=Protection(), policy=Policy(),
            ledger=self.ledger, noise=SecureNoise(), verify=believed, encode=encode,
        )  # fmt: skip

    def say(self, message: Any) -> Any:
        ((_, payload),) = self.node.receive(PROVIDER, message)
        return decode(payload, FromOwner.__args__)

    def offered(self, plan: str) -> Any:
        return self.say(Offer(plan, "masked", self.roster, 0))

    def group(self, plan: str) -> Group:
        return self.node._groups.of(plan)

    def said_by(self, plan: str, position: int, number: bytes, *, signer: Keys | None = None) -> tuple[Any, Any]:
        """What the member at a position says of a group, signed by itself or by somebody else."""
        key, group, promise = signer or self.keys[position], self.group(plan), commitment(number)
        accepted = Accepted(plan, promise, key.sign(group.stated("commitment", position, promise)))
        return accepted, Revealed(plan, number, key.sign(group.stated("number", position, number)))

    def formed(self, plan: str) -> Group:
        """Form a group in which everybody else is honest about its own random number."""
        own = self.offered(plan)
        said = [self.said_by(plan, i, secrets.token_bytes(32)) for i in range(1, len(self.keys))]
        revealed = self.say(Reveal.of(plan, [own, *(accepted for accepted, _ in said)]))
        assert isinstance(self.say(Seal.of(plan, [revealed, *(told for _, told in said)])), Sealed)
        return self.group(plan)


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[list[Victim]]:
    """Members of a cohort of the default size, and of a larger group."""
    found = [Victim(tmp_path / f"{members}.db", members) for members in (50, 100)]
    yield found
    for victim in found:
        victim.ledger.close()


def opened(group: Group, colluders: Sequence[int]) -> bool:
    """Tell whether colluders know all masks of the victim's value."""
    return set(group.neighbours) <= set(colluders)


def test_in_a_cohort_of_the_default_size_all_others_must_collude(victims: list[Victim]) -> None:
    group = victims[0].formed("p")
    assert list(group.neighbours) == list(range(1, 50))
    assert group.masks_all_pairs


def test_nobody_commits_or_reveals_in_another_members_name(victims: list[Victim]) -> None:
    for victim in victims:
        own, thief = victim.offered("p"), victim.keys[-1]
        said = [victim.said_by("p", i, secrets.token_bytes(32)) for i in range(1, len(victim.keys))]
        forged = [victim.said_by("p", 1, bytes(32), signer=thief), *said[1:]]
        accepted = [own, *(each for each, _ in said)]
        assert victim.say(Reveal.of("p", [own, *(each for each, _ in forged)])).reason == "protocol"
        unsigned = [replace(each, signature=bytes(64)) for each in accepted]
        assert victim.say(Reveal.of("p", unsigned)).reason == "protocol"
        revealed = victim.say(Reveal.of("p", accepted))
        told = [revealed, forged[0][1], *(each for _, each in said[1:])]
        assert victim.say(Seal.of("p", told)).reason == "protocol"
        swapped = [revealed, replace(said[0][1], signature=said[1][1].signature), *(each for _, each in said[1:])]
        assert victim.say(Seal.of("p", swapped)).reason == "protocol"


def test_what_was_signed_for_one_group_is_worthless_in_another(victims: list[Victim]) -> None:
    victim = victims[0]
    victim.offered("p")
    said = [victim.said_by("p", i, bytes([i]) * 32)[0] for i in range(1, 50)]
    other = victim.offered("q")
    moved = [replace(each, plan="q") for each in said]
    assert victim.say(Reveal.of("q", [other, *moved])).reason == "protocol"


def test_offering_groups_until_a_graph_pleases_ends_with_the_epochs_offers(
    victims: list[Victim], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_node, "MOST_OFFERS", 12)
    victim = victims[1]
    for attempt in range(12):
        assert not opened(victim.formed(f"p{attempt % 3}"), range(1, 1 + COLLUDERS))
        victim.node.receive(PROVIDER, Leave(f"p{attempt % 3}"))
    assert victim.offered("again").reason == "offers"
    victim.ledger.close()
    victim.start()  # what was offered is on disk
    assert isinstance(victim.offered("again"), Refused)
    assert isinstance(victims[0].offered("all pairs"), Accepted)  # no graph to choose, nothing counted
    victim.ledger.begin_epoch()
    assert isinstance(victim.offered("again"), Accepted)


def test_a_graph_fails_less_often_than_2_to_the_minus_40_in_all_offers_of_an_epoch(victims: list[Victim]) -> None:
    group = victims[1].formed("p")
    bad = group.terms.bad_share
    assert 4_096 * len(group.members) * bad**group.degree <= 2.0**-40
    # 13 cycles of 100 members: pairs that two share are joined once, and 15 such pairs are rarer than one in 100,000
    assert group.degree == 26
    assert len(group.neighbours) > 26 - 15


@pytest.mark.parametrize("few", [2, 3, 4])
def test_who_fixes_a_rounds_roster_cannot_leave_out_all_that_a_few_members_mask_with(
    victims: list[Victim], few: int
) -> None:
    """Every two of the few mask with each other, so that their sum would show if all their other neighbours are out."""
    group = victims[1].formed("p")
    graph = networkx.Graph(enumerate_edges(neighbours_in(group.terms, group.seed)))
    clique = next(each for each in networkx.enumerate_all_cliques(graph) if len(each) == few and 0 in each)
    outside = {p for member in clique for p in graph[member]} - set(clique)
    with pytest.raises(Exception, match="members"):
        group.masked_with(victims[1].keys[0].owner_key, sorted(set(range(100)) - outside))


def test_who_fixes_a_rounds_roster_may_leave_out_as_many_as_may_fall_silent(victims: list[Victim]) -> None:
    group = victims[1].formed("p")
    out = range(90, 100)
    group.masked_with(victims[1].keys[0].owner_key, [p for p in range(100) if p not in out])


def enumerate_edges(neighbours: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(one, other) for one, near in enumerate(neighbours) for other in near]
