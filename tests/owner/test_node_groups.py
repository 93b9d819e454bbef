"""A live owner in groups: rosters it verifies, masked sums, letters to a leader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from node_world import EVERYONE, MAP, FakeSilo, Owner, ask, grouped

from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Ask, Check, Describe, Go, Leave, Offer, Reveal, Seal
from fedgroup.messages.said import (
    Accepted,
    Letter,
    Masked,
    Noisy,
    Ready,
    Refused,
    Revealed,
    Sealed,
)  # fmt: skip
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner import rounds
from fedgroup.owner.node import PROVIDER
from fedgroup.owner.policy import Policy
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Circle
from owner_keys import Card, believed


@pytest.mark.parametrize("kind", EVERYONE)
@pytest.mark.parametrize("heard", [[0, 1, 2, 3, 4], [0, 2, 3, 4]])
def test_masked_answers_add_up_to_the_sum_with_enough_noise(
    heard: list[int], kind: str, owner_of: Callable[..., Owner]
) -> None:
    owners = [owner_of(f"o{i}", cap=1e6, silo=FakeSilo(count=10 * i, total=100 * i)) for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    measure = None if kind == "count" else Measure("fare", 10, resolution=1)
    query = RangeQuery(kind, Circle(5, 5, 3), Epsilon.of(2000), measure)
    asked = Ask(b"m" * 16, WireQuery.of(query), "p", 1000)
    for owner in owners:
        owner.node.policy = Policy(highest_epsilon=Epsilon.of(5000))
        assert isinstance(owner.only(asked), Ready)
        assert owner.ledger.spent() == Epsilon(0)
    replies = [owners[p].only(Go(b"m" * 16, heard)) for p in heard]
    assert all(isinstance(reply, Masked) for reply in replies)
    words = [np.frombuffer(reply.words, dtype="<u8") for reply in replies]
    sums = np.sum(words, axis=0, dtype=np.uint64).view(np.int64).tolist()
    exact = {"count": sum(10 * p for p in heard), "sum": sum(100 * p for p in heard)}
    assert sums == [exact[part] for part in query.parts]
    assert all(owners[p].ledger.spent() == Epsilon.of(2000) for p in heard)
    assert "epsilon if alone" in owners[0].ledger.entries()[-1].question


def test_one_masked_word_looks_like_noise(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", cap=1e6) for i in range(3)]
    grouped(owners, "masked")
    words = []
    for i in range(64):
        this = i.to_bytes(16, "big")
        for owner in owners:
            owner.say(ask(0.5, round_id=this, plan="p"))
        words.append(int.from_bytes(owners[0].only(Go(this, [0, 1, 2])).words, "little"))
    bits = np.array([[word >> b & 1 for b in range(64)] for word in words])
    assert 0.45 < bits.mean() < 0.55
    assert (np.abs(bits.mean(axis=0) - 0.5) < 0.36).all()  # false alarm: less than 1 in 10**7


def test_a_masked_round_is_refused_without_enough_members(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    owners[0].only(ask(plan="p"))
    assert owners[0].only(Go(b"r" * 16, [0, 1, 2])).reason == "protocol"
    assert owners[0].only(Go(b"r" * 16, [1, 2, 3, 4])).reason == "protocol"
    assert owners[0].ledger.spent() == Epsilon(0)
    assert isinstance(owners[0].only(Go(b"r" * 16, [0, 1, 2, 3])), Masked)


def test_a_fixed_roster_cannot_be_changed_afterwards(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(5)]
    grouped(owners, "masked", dropouts=1)
    owners[0].only(ask(plan="p"))
    first = owners[0].node.receive(PROVIDER, Go(b"r" * 16, [0, 1, 2, 3]))
    assert owners[0].node.receive(PROVIDER, Go(b"r" * 16, [0, 1, 2, 4])) == first


def trusted_round(owners: list[Owner], this: bytes) -> None:
    for owner in owners:
        for to, message in owner.say(ask(2000, round_id=this, plan="p")):
            if to == PROVIDER:
                assert isinstance(message, Ready)
            else:
                assert isinstance(message, Letter)
                leader = next(one for one in owners if one.node.name == to)
                assert leader.say(message, sender=owner.node.name) == []


def test_a_leader_adds_up_letters_that_only_it_can_read(owner_of: Callable[..., Owner]) -> None:
    policy = {"highest_epsilon": Epsilon.of(5000), "cap": 1e6}
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=10 * i + 1), **policy) for i in range(3)]
    grouped(owners, "trusted")
    trusted_round(owners, b"t" * 16)
    reply = owners[0].only(Go(b"t" * 16, [0, 1, 2]))
    assert isinstance(reply, Noisy)
    assert (reply.sums, reply.heard) == ([33], [0, 1, 2])
    assert all(owner.ledger.spent() == Epsilon.of(2000) for owner in owners)


def test_letters_come_in_any_order_and_a_missing_one_is_not_waited_for_twice(owner_of: Callable[..., Owner]) -> None:
    policy = {"highest_epsilon": Epsilon.of(5000), "cap": 1e6}
    owners = [owner_of(f"o{i}", silo=FakeSilo(count=10 * i + 1), **policy) for i in range(3)]
    grouped(owners, "trusted")
    letters = {o.node.name: o.say(ask(2000, plan="p"))[0][1] for o in owners[1:]}
    owners[0].say(letters["o2"], sender="o2")  # before the question
    owners[0].say(ask(2000, plan="p"))
    assert owners[0].say(Go(b"r" * 16, [0, 1, 2])) == []
    assert owners[0].say(letters["o2"], sender="o1") == []  # one owner's letter under another's name
    reply = owners[0].only(Go(b"r" * 16, [0, 1, 2]))
    assert (reply.sums, reply.heard) == ([22], [0, 2])
    assert owners[0].say(letters["o1"], sender="o1") == []


def test_a_letter_of_one_round_does_not_open_in_another(owner_of: Callable[..., Owner]) -> None:
    owners = [
        owner_of(f"o{i}", silo=FakeSilo(count=10 * i + 1), highest_epsilon=Epsilon.of(5000), cap=1e6) for i in range(2)
    ]
    grouped(owners, "trusted")
    (_, letter), _ = owners[1].say(ask(2000, round_id=b"a" * 16, plan="p"))
    assert isinstance(letter, Letter)
    owners[0].say(ask(2000, round_id=b"b" * 16, plan="p"))
    owners[0].say(Letter(b"b" * 16, letter.sealed), sender="o1")  # the provider gives it another round's name
    owners[0].say(Go(b"b" * 16, [0, 1]))
    reply = owners[0].only(Go(b"b" * 16, [0, 1]))
    assert (reply.sums, reply.heard) == ([1], [0])


def test_rosters_are_verified_before_anything_is_agreed(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    me = owners[0]
    wrong = [
        Offer("p", "masked", [ders[1], ders[0], ders[2]], 0),
        Offer("p", "masked", [ders[0], ders[1], ders[1]], 0),
        Offer("p", "masked", [ders[0], ders[1], b"o9|" + owners[1].identity.exchange_key], 0),
        Offer("p", "masked", [ders[0], ders[1], b"forged"], 0),
        Offer("p", "masked", [b"o0|" + bytes(32), ders[1], ders[2]], 0),
    ]
    assert [me.only(offer).reason for offer in wrong] == ["protocol"] * 5
    assert me.only(Offer("q", "masked", ders[:2], 0)).reason == "members"
    assert owner_of("o9", modes=("masked",)).only(Offer("p", "trusted", ders, 0)).reason == "mode"


def test_numbers_that_do_not_fit_their_commitments_seal_nothing(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    accepted = [o.only(Offer("p", "masked", ders, i)) for i, o in enumerate(owners)]
    assert owners[0].only(Reveal.of("p", accepted[:2])).reason == "protocol"
    assert owners[0].only(Reveal.of("p", accepted[::-1])).reason == "protocol"
    numbers = [o.only(Reveal.of("p", accepted)) for o in owners]
    assert all(isinstance(each, Revealed) for each in numbers)
    other = replace(accepted[2], commitment=bytes(32))
    assert owners[0].only(Reveal.of("p", [*accepted[:2], other])).reason == "protocol"
    wrong = replace(numbers[2], number=bytes(32))
    assert owners[0].only(Seal.of("p", [*numbers[:2], wrong])).reason == "protocol"
    assert owners[0].only(ask(plan="p")).reason == "plan"
    assert isinstance(owners[0].only(Seal.of("p", numbers)), Sealed)
    assert isinstance(owners[0].only(ask(plan="p")), Ready)
    assert owners[0].say(Leave("p")) == []
    assert owners[0].only(ask(round_id=b"z" * 16, plan="p")).reason == "plan"


def test_trusted_groups_need_consent_to_their_members(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}", trusted_with=("o1",)) for i in range(3)]
    ders = [owner.identity.der for owner in owners]
    assert owners[0].only(Offer("p", "trusted", ders, 0)).reason == "mode"
    assert isinstance(owners[0].only(Offer("q", "trusted", ders[:2], 0)), Accepted)


def test_a_group_with_a_revoked_member_answers_no_more(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(4)]
    grouped(owners, "masked")
    me, revoked = owners[0], owners[2].identity.der
    assert isinstance(me.only(ask(plan="p")), Ready)

    def current(der: bytes) -> Card:
        if der == revoked:
            raise ProtocolViolation("revoked")
        return believed(der)

    me.node._groups._verify = current
    assert me.only(ask(round_id=b"2" * 16, plan="p")).reason == "roster"
    assert me.only(Go(b"r" * 16, [0, 1, 2, 3])).reason == "roster"
    assert me.ledger.spent() == Epsilon(0)


def test_a_group_formed_again_under_its_name_shares_no_masks_with_the_first(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    first = owners[0].node._groups.of("p").digest
    for owner in owners:
        owner.say(Leave("p"))
    grouped(owners, "masked")
    assert owners[0].node._groups.of("p").digest != first


def test_an_offer_cannot_change_under_its_name(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(4)]
    ders = [owner.identity.der for owner in owners]
    first = owners[0].only(Offer("p", "masked", ders, 0, 1, 0))
    assert owners[0].only(Offer("p", "masked", ders, 0, 1, 0)) == first
    assert owners[0].only(Offer("p", "masked", ders, 0, 2, 0)).reason == "protocol"
    assert owners[0].only(Offer("p", "masked", ders[:3], 0, 1, 0)).reason == "protocol"


def test_nothing_is_counted_before_the_roster_is_fixed(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    owners[0].only(ask(plan="p"))
    assert owners[0].silo.asked == 0
    owners[0].only(Go(b"r" * 16, [0, 1, 2]))
    assert owners[0].silo.asked == 1


def test_a_paused_owner_refuses_everything(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(f"o{i}") for i in range(3)]
    grouped(owners, "masked")
    owners[0].only(ask(plan="p"))
    owners[0].node.policy = Policy(paused=True)
    for message in (ask(), Go(b"r" * 16, [0, 1, 2]), Check(b"c" * 16, b"r" * 16), Describe(b"d" * 16, 2, 2, 100)):
        assert owners[0].only(message).reason == "paused"


def test_letters_longer_than_a_leader_takes_are_refused_before_anybody_pays(
    owner_of: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MOST_LETTER_BYTES", 2 * 8 * 100)
    owners = [owner_of(f"o{i}") for i in range(2)]
    grouped(owners, "trusted")
    for side, ready in ((10, True), (11, False)):
        query = RangeQuery("count", MAP.grid(side, side), Epsilon.of(0.1))
        asked = Ask(bytes([side]) * 16, WireQuery.of(query), "p", 1000)
        said = owners[0].only(asked)
        assert isinstance(said, Ready) == ready
        if not ready:
            refused = [reply for _, reply in owners[1].say(asked) if isinstance(reply, Refused)]
            assert [reply.reason for reply in (said, *refused)] == ["bins", "bins"]
    assert owners[1].ledger.spent() == Epsilon(0)


def test_an_open_round_is_not_given_up_for_another(
    owner_of: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MOST_LETTER_BYTES", 2 * 8 * 100)
    owners = [owner_of(f"o{i}") for i in range(2)]
    grouped(owners, "trusted")
    first, second = (
        Ask(name * 16, WireQuery.of(RangeQuery("count", MAP.grid(10, 10), Epsilon.of(0.1))), "p", 1000)
        for name in (b"a", b"b")
    )
    assert isinstance(owners[0].only(first), Ready)
    assert owners[0].only(second).reason == "bins"
    assert isinstance(owners[0].only(first), Ready)
