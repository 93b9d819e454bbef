"""A live owner whose group goes on without members that fall silent: what it tells, to whom, and only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from node_world import EVERYONE, FakeSilo, Owner, grouped

from fedgroup.epsilon import Epsilon
from fedgroup.messages.asked import Ask, Go, Leave, Unmask
from fedgroup.messages.said import Masked, Ready, Refused, Unmasked, Vouched
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.public_time import PublicTime
from fedgroup.owner.rounds import masked_context
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.secure.recovery import Unmasking, live_recovery, neighbours_in, survivors_stated
from fedgroup.space import Box, Circle, Grid

ROUND = b"m" * 16
PRECISE = Epsilon.of(2000)
OPEN = {"highest_epsilon": Epsilon.of(5000), "cap": 1e6}


@dataclass
class Asked:
    """A masked round of owners that deal shares, up to the values that those heard sent."""

    owners: Sequence[Owner]
    ask: Ask
    roster: list[int]
    heard: list[int]
    ready: dict[int, Ready]
    dealt_then: dict[int, bytes]
    total: np.ndarray

    @property
    def unmasking(self) -> Unmasking:
        group = self.owners[0].node._groups.of("p")
        neighbours, recovery = neighbours_in(group.terms, group.seed), live_recovery(group.terms)
        assert recovery is not None
        dealt = {p: self.ready[p].dealt for p in self.roster}
        return Unmasking(
            recovery, neighbours, roster=self.roster, survivors=self.heard, dealt=dealt, dealt_then=self.dealt_then
        )

    def sums(self, telling: Sequence[int], **signed: list) -> list[int]:
        """Return what comes out once these owners told their shares."""
        unmasking = self.unmasking
        for p in telling:
            reply = self.owners[p].only(Unmask(ROUND, self.heard, unmasking.sealed_for(p), **signed))
            assert isinstance(reply, Unmasked)
            assert unmasking.take(p, reply.shares)
        assert unmasking.complete
        parts = self.owners[0].node._groups.of("p").terms.parts
        context = masked_context(self.ask, self.roster, parts=parts)
        return (self.total - unmasking.masks(context, words=len(self.total))).view(np.int64).tolist()


def asked(owners: Sequence[Owner], roster: list[int], heard: list[int], query: RangeQuery) -> Asked:
    ask = Ask(ROUND, WireQuery.of(query), "p", 1000, recovers=True)
    ready = {p: owners[p].only(ask) for p in range(len(owners))}
    assert all(isinstance(each, Ready) and each.dealt for each in ready.values())
    assert all(owners[p].only(ask) == ready[p] for p in (0, 1))  # asked again, it deals the same
    words = {p: owners[p].only(Go(ROUND, roster)) for p in heard}
    assert all(isinstance(each, Masked) and each.dealt for each in words.values())
    total = np.sum([np.frombuffer(each.words, dtype="<u8") for each in words.values()], axis=0, dtype=np.uint64)
    return Asked(owners, ask, roster, heard, ready, {p: each.dealt for p, each in words.items()}, total)


@pytest.fixture
def ten(owner_of: Callable[..., Owner]) -> list[Owner]:
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=10 * i, total=100 * i), **OPEN) for i in range(10)]
    grouped(owners, "masked", dropouts=1)
    return owners


COUNT = RangeQuery("count", Circle(5, 5, 3), PRECISE)


@pytest.mark.parametrize("kind", EVERYONE)
def test_the_sum_of_those_heard_comes_out_and_everybody_pays_once(kind: str, ten: list[Owner]) -> None:
    measure = None if kind == "count" else Measure("fare", 10, resolution=1)
    query = RangeQuery(kind, Circle(5, 5, 3), PRECISE, measure)
    heard = [p for p in range(10) if p != 4]
    this = asked(ten, list(range(10)), heard, query)
    each = {"count": 10 * sum(heard), "sum": 100 * sum(heard)}
    assert this.sums(heard[:6]) == [each[part] for part in query.parts]
    assert {ten[p].ledger.spent() for p in heard} == {PRECISE}
    assert ten[4].ledger.spent() == Epsilon(0)


def test_a_map_of_those_heard_comes_out_bin_by_bin(ten: list[Owner]) -> None:
    query = RangeQuery("count", Grid(Box(0, 0, 10, 10), 4, 4), PRECISE)
    heard = list(range(9))
    assert asked(ten, list(range(10)), heard, query).sums(heard) == [10 * sum(heard)] * 16


def test_without_shares_a_round_is_masked_as_ever_and_never_unmasked(ten: list[Owner]) -> None:
    ask = Ask(ROUND, WireQuery.of(COUNT), "p", 1000)
    assert all(owner.only(ask) == Ready(ROUND) for owner in ten)
    words = [np.frombuffer(owner.only(Go(ROUND, list(range(10)))).words, dtype="<u8") for owner in ten]
    assert np.sum(words, axis=0, dtype=np.uint64).view(np.int64).tolist() == [450]
    assert ten[0].only(Unmask(ROUND, list(range(10)), b"")) == Refused(ROUND, "round")
    assert ten[0].only(replace(ask, recovers=True)) == ten[0].only(ask)  # what was said before


def test_how_a_round_is_masked_cannot_change(ten: list[Owner]) -> None:
    ask = Ask(ROUND, WireQuery.of(COUNT), "p", 1000)
    assert ten[0].only(ask) == Ready(ROUND)
    assert ten[0].only(replace(ask, recovers=True)) == Refused(ROUND, "protocol")


def test_one_set_is_unmasked_in_a_round_and_told_of_again(ten: list[Owner]) -> None:
    this = asked(ten, list(range(10)), list(range(9)), COUNT)
    sealed = this.unmasking.sealed_for(0)
    whole = Unmask(ROUND, list(range(10)), sealed)
    first = ten[0].only(Unmask(ROUND, this.heard, sealed))
    assert isinstance(first, Unmasked)
    assert ten[0].only(Unmask(ROUND, this.heard, sealed)) == first  # a frame that comes twice
    assert ten[0].only(whole) == Refused(ROUND, "protocol")
    assert ten[0].only(Unmask(ROUND, [0, *range(2, 10)], sealed)) == Refused(ROUND, "protocol")
    assert isinstance(ten[1].only(replace(whole, sealed=this.unmasking.sealed_for(1))), Unmasked)
    assert ten[1].only(Unmask(ROUND, this.heard, sealed)) == Refused(ROUND, "protocol")


def test_a_set_that_leaves_somebody_out_is_on_disk_before_anything_is_told(ten: list[Owner]) -> None:
    this = asked(ten, list(range(10)), list(range(9)), COUNT)
    ten[0].only(Unmask(ROUND, this.heard, this.unmasking.sealed_for(0)))
    (answered,) = ten[0].node._unmaskings._answered.values()
    answered.survivors = None  # as if it had forgotten
    other = Unmask(ROUND, [0, *range(2, 10)], this.unmasking.sealed_for(0))
    assert ten[0].only(other) == Refused(ROUND, "protocol")
    ten[1].ledger._connected().execute("PRAGMA query_only = ON")
    assert ten[1].only(Unmask(ROUND, this.heard, this.unmasking.sealed_for(1))).reason in ("ledger", "protocol")


def test_who_is_started_again_tells_nothing_of_rounds_before(ten: list[Owner], owner_of: Callable[..., Owner]) -> None:
    this = asked(ten, list(range(10)), list(range(9)), COUNT)
    me, request = ten[0], Unmask(ROUND, this.heard, this.unmasking.sealed_for(0))
    me.node = owner_of("again").node
    assert me.only(request) == Refused(ROUND, "round")


def test_who_counts_for_longer_than_anybody_waits_still_answers_for_what_it_charged(ten: list[Owner]) -> None:
    now, usual = [0.0], ten[0].silo.totals

    def slow(query: RangeQuery) -> dict[str, np.ndarray]:
        now[0] = 60.0
        return usual(query)

    ten[0].node._clock, ten[0].silo.totals = PublicTime(lambda: now[0]), slow
    ten[0].only(Ask(ROUND, WireQuery.of(COUNT), "p", 1000, recovers=True))
    assert isinstance(ten[0].only(Go(ROUND, list(range(10)))), Masked)
    assert ten[0].ledger.spent() == PRECISE
    assert isinstance(ten[0].only(Unmask(ROUND, list(range(10)), bytes(180))), Unmasked)


def test_rounds_that_nobody_waits_for_are_forgotten_when_another_is_answered(ten: list[Owner]) -> None:
    now = [0.0]
    ten[0].node._clock = PublicTime(lambda: now[0])
    for number in range(3):
        round_id = bytes([number]) * 16
        ten[0].only(Ask(round_id, WireQuery.of(COUNT), "p", 1000, recovers=True))
        ten[0].only(Go(round_id, list(range(10))))
        now[0] += 0.9
    assert list(ten[0].node._unmaskings._answered) == [bytes([number]) * 16 for number in (1, 2)]


def test_who_left_a_group_tells_nothing_more_of_its_rounds(ten: list[Owner]) -> None:
    this = asked(ten, list(range(10)), list(range(9)), COUNT)
    request = Unmask(ROUND, this.heard, this.unmasking.sealed_for(0))
    grouped(ten, "masked", plan="q", dropouts=1)
    ten[0].say(Leave("q"))
    assert isinstance(ten[0].only(request), Unmasked)
    ten[0].say(Leave("p"))
    assert ten[0].only(request) == Refused(ROUND, "round")


def test_nothing_is_told_for_sets_that_are_not_of_the_round(ten: list[Owner]) -> None:
    roster = list(range(9))
    ask = Ask(ROUND, WireQuery.of(COUNT), "p", 1000, recovers=True)
    assert ten[0].only(Unmask(ROUND, roster, b"")) == Refused(ROUND, "round")  # before anything was asked
    ten[0].only(ask)
    assert ten[0].only(Unmask(ROUND, roster, b"")) == Refused(ROUND, "round")  # before the roster was fixed
    assert isinstance(ten[0].only(Go(ROUND, roster)), Masked)
    wrong = [
        list(range(10)),  # not within the roster
        list(range(8)),  # too few for the noise
        list(range(1, 9)),  # without itself
    ]
    assert [ten[0].only(Unmask(ROUND, each, bytes(160))) for each in wrong] == [Refused(ROUND, "protocol")] * 3
    assert ten[0].only(Unmask(ROUND, roster, bytes(20))) == Refused(ROUND, "protocol")
    assert ten[0].say(Unmask(ROUND, roster, bytes(160)), sender="o1") == []  # only the provider asks
    assert isinstance(ten[0].only(Unmask(ROUND, roster, bytes(160))), Unmasked)


def test_an_owner_tells_nothing_without_itself_or_for_fewer_members_than_its_policy_says(ten: list[Owner]) -> None:
    this = asked(ten, list(range(10)), list(range(9)), COUNT)
    assert ten[2].only(Unmask(ROUND, [p for p in range(10) if p != 2], bytes(180))) == Refused(ROUND, "protocol")
    ten[0].node.policy = replace(ten[0].node.policy, fewest_members=10)
    assert ten[0].only(Unmask(ROUND, this.heard, this.unmasking.sealed_for(0))) == Refused(ROUND, "members")


def test_groups_that_cannot_recover_deal_nothing(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", **OPEN) for i in range(3)]
    grouped(owners, "masked")
    ask = Ask(ROUND, WireQuery.of(COUNT), "p", 1000, recovers=True)
    assert owners[0].only(ask) == Refused(ROUND, "protocol")
    assert owners[0].only(replace(ask, round=b"n" * 16, recovers=False)) == Ready(b"n" * 16)


def test_in_a_group_without_all_pairs_members_sign_who_was_heard_first(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=i), **OPEN) for i in range(66)]
    grouped(owners, "masked", dropouts=7)
    silent = [0, 30, 65]
    heard = [p for p in range(66) if p not in silent]
    this = asked(owners, list(range(66)), heard, COUNT)
    unmasking = this.unmasking
    vouched = {p: owners[p].only(Unmask(ROUND, heard, b"")) for p in heard}
    assert all(isinstance(each, Vouched) for each in vouched.values())
    signers = heard[:34]  # more than half of the members, the one that may collude on both sides
    signed = {"signers": signers, "signatures": [vouched[p].signature for p in signers]}
    me = owners[1]
    request = Unmask(ROUND, heard, unmasking.sealed_for(1), **signed)
    forged = [vouched[2].signature, *signed["signatures"][1:]]
    assert me.only(replace(request, signers=signers[1:], signatures=signed["signatures"][1:])).reason == "protocol"
    assert me.only(replace(request, signatures=forged)).reason == "protocol"
    assert me.only(Unmask(ROUND, heard[:-1], unmasking.sealed_for(1))).reason == "protocol"  # a second set
    group = me.node._groups.of("p")
    stated = survivors_stated(group.digest, ROUND, roster=range(66), survivors=heard)
    stranger = {
        "signers": [*signers[:-1], 65],
        "signatures": [*signed["signatures"][:-1], owners[65].identity.sign(stated)],
    }
    assert me.only(replace(request, **stranger)).reason == "protocol"  # who was not heard does not sign for others
    near, group.neighbours = group.neighbours, silent
    assert me.only(request).reason == "members"  # nobody it masks with was heard
    group.neighbours = near
    assert this.sums(heard, **signed) == [sum(heard)]


def test_what_members_sign_is_of_one_group_round_roster_and_set() -> None:
    first = {"digest": b"group", "round_id": ROUND, "roster": range(5), "survivors": range(4)}
    others = [{"digest": b"other"}, {"round_id": b"n" * 16}, {"roster": range(6)}, {"survivors": range(3)}]
    assert len({survivors_stated(**first | other) for other in [{}, *others]}) == 5


def test_every_member_of_every_group_masks_by_secrets_of_its_own(ten: list[Owner]) -> None:
    grouped(ten, "masked", plan="q", dropouts=1)
    dealers = [owner.node._unmaskings._dealer(owner.node._groups.of(plan)) for owner in ten for plan in "pq"]
    assert len({dealer._drawn(ROUND).tobytes() for dealer in dealers}) == 20
    assert len({dealer._own for dealer in dealers}) == 20


def test_all_that_members_agree_to_is_in_a_rounds_context_whoever_asked_for_it_before():
    query = WireQuery.of(RangeQuery("count", Circle(0, 0, 1), PRECISE))
    ask = Ask(ROUND, query, "p", 1000, recovers=True)
    others = [
        (ask, [0, 1, 2, 3], 2, b""),
        (ask, [0, 1, 2], 3, b""),
        (ask, [0, 1, 2], 2, b"group"),
        (replace(ask, round=b"n" * 16), [0, 1, 2], 2, b""),
        (replace(ask, query=replace(query, epsilon_nano=1)), [0, 1, 2], 2, b""),
    ]
    first = masked_context(ask, [0, 1, 2], parts=2)
    found = {masked_context(it, roster, parts=parts, digest=digest) for it, roster, parts, digest in others}
    assert len(found | {first}) == 1 + len(others)
    assert masked_context(ask, [0, 1, 2], parts=2) == first
