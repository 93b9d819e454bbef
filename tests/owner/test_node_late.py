"""An owner charges nothing for an answer that nobody waits for, and looks at certificates when it has to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from node_world import FakeSilo, Owner, ask, grouped

from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation
from fedgroup.messages.asked import Go
from fedgroup.messages.said import Letter, Masked, Noisy, Ready, Refused
from fedgroup.owner.node import PROVIDER
from fedgroup.owner.public_time import PublicTime
from fedgroup.questions.query import RangeQuery
from owner_keys import believed

ROUND = b"r" * 16
WITHIN_S = 1.0
"""What `ask` gives an owner."""


class Clock:
    """Tells the time that it is set to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class SlowSilo(FakeSilo):
    """Takes its time to count."""

    clock: Clock
    takes_s = 0.0

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self.clock.now += self.takes_s
        return super().totals(query)


def slow(owner_of: Callable[..., Owner], name: str, takes_s: float) -> tuple[Owner, Clock]:
    clock, silo = Clock(), SlowSilo()
    silo.clock, silo.takes_s = clock, takes_s
    return owner_of(name, silo=silo, parts={"clock": PublicTime(clock)}), clock


def refused_late(reply: Any) -> bool:
    return isinstance(reply, Refused) and reply.reason == "late"


def test_what_was_counted_is_charged_however_long_it_took(owner_of: Callable[..., Owner]) -> None:
    """A refusal for nothing would tell the time that counting takes, as often as anybody asks."""
    owner, _ = slow(owner_of, "a", WITHIN_S + 0.1)
    assert isinstance(owner.only(ask(0.5)), Noisy)
    assert owner.ledger.spent() == Epsilon(500_000_000)


@pytest.mark.parametrize(("waited_s", "late"), [(WITHIN_S - 0.1, False), (WITHIN_S + 0.1, True)])
def test_a_question_that_waited_too_long_is_not_even_counted(
    owner_of: Callable[..., Owner], waited_s: float, late: bool
) -> None:
    owner, _ = slow(owner_of, "a", 0.0)
    owner.node.receive(PROVIDER, ask(0.5), waited_s=waited_s)
    assert owner.silo.asked == (0 if late else 1)
    assert owner.ledger.spent() == Epsilon(0 if late else 500_000_000)


def test_a_reply_that_was_paid_for_is_repeated_at_any_time(owner_of: Callable[..., Owner]) -> None:
    owner, _ = slow(owner_of, "a", 0.0)
    first = owner.node.receive(PROVIDER, ask())
    assert owner.node.receive(PROVIDER, ask(), waited_s=60.0) == first


def test_a_member_of_a_masked_group_that_is_late_is_not_charged(owner_of: Callable[..., Owner]) -> None:
    late, clock = slow(owner_of, "a", 0.0)
    owners = [late, owner_of("b"), owner_of("c")]
    grouped(owners, "masked")
    assert all(isinstance(owner.only(ask(plan="p")), Ready) for owner in owners)
    clock.now += WITHIN_S + 0.1
    replies = [owner.only(Go(ROUND, [0, 1, 2])) for owner in owners]
    assert refused_late(replies[0])
    assert late.silo.asked == 0
    assert all(isinstance(reply, Masked) for reply in replies[1:])
    assert [float(owner.ledger.spent()) for owner in owners] == [0, 0.5, 0.5]


def test_a_member_of_a_trusted_group_that_is_late_discloses_nothing(owner_of: Callable[..., Owner]) -> None:
    late, _ = slow(owner_of, "b", 0.0)
    grouped([owner_of("a"), late], "trusted")
    late.node.receive(PROVIDER, ask(plan="p"), waited_s=WITHIN_S + 0.1)
    assert late.silo.asked == 0
    assert late.ledger.spent() == Epsilon(0)


def test_a_leader_neither_pays_nor_answers_for_a_letter_that_comes_too_late(owner_of: Callable[..., Owner]) -> None:
    leader, clock = slow(owner_of, "a", 0.0)
    member = owner_of("b")
    grouped([leader, member], "trusted")
    assert isinstance(leader.only(ask(plan="p")), Ready)
    letter = next(said for _, said in member.say(ask(plan="p")) if isinstance(said, Letter))
    assert leader.say(Go(ROUND, [0, 1])) == []  # it waits for the letter
    clock.now += WITHIN_S + 0.1
    assert leader.say(letter, sender="b") == []
    assert leader.ledger.spent() == Epsilon(0)


def test_a_groups_certificates_are_verified_again_whenever_trust_changed(owner_of: Callable[..., Owner]) -> None:
    trust, looked, revoked = ["first list"], [], []

    def verify(der: bytes) -> Any:
        looked.append(der)
        if der in revoked:
            raise ProtocolViolation("revoked")
        return believed(der)

    watched = owner_of("a", parts={"verify": verify, "trust": lambda: trust[0]})
    owners = [watched, owner_of("b"), owner_of("c")]
    grouped(owners, "masked")

    def asked(number: int) -> Any:
        looked.clear()
        return watched.only(ask(round_id=number.to_bytes(16, "big"), plan="p"))

    assert isinstance(asked(1), Ready)
    assert len(looked) == 3
    assert isinstance(asked(2), Ready)
    assert looked == []
    revoked.append(owners[1].identity.der)
    trust[0] = "second list"
    reply = asked(3)
    assert isinstance(reply, Refused)
    assert reply.reason == "roster"
    assert asked(4).reason == "roster"  # what did not hold is not remembered as good


def test_without_word_of_trust_every_question_looks_at_certificates(owner_of: Callable[..., Owner]) -> None:
    looked: list[bytes] = []

    def verify(der: bytes) -> Any:
        looked.append(der)
        return believed(der)

    watched = owner_of("a", parts={"verify": verify})
    grouped([watched, owner_of("b"), owner_of("c")], "masked")
    for number in range(2):
        looked.clear()
        watched.only(ask(round_id=number.to_bytes(16, "big"), plan="p"))
        assert len(looked) == 3
