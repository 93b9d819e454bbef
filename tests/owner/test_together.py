"""Questions that are answered together: each as if it had come alone, charged before anything is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from node_world import WIRE, FakeSilo, Owner, ask, grouped

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.messages.asked import Ask, Check
from fedgroup.messages.said import Checked, Left, Noisy, Ready, Refused
from fedgroup.owner.node import PROVIDER
from fedgroup.owner.public_time import PublicTime
from fedgroup.owner.together import answered_together
from fedgroup.questions.query import RangeQuery
from fedgroup.storage.owner_ledger import OwnerLedger

HALF = Epsilon.of(0.5)


def asks(count: int, epsilon: float = 0.5) -> list[Ask]:
    return [ask(epsilon, round_id=number.to_bytes(16, "big")) for number in range(1, count + 1)]


def together(owner: Owner, *messages: Any, sender: str = PROVIDER) -> list[list[Any]]:
    """What an owner says to messages that came together."""
    letters = owner.node.prepare_many([(sender, message) for message in messages])
    return [[WIRE.decode(data) for _, data in each] for each in letters]


def reasons(said: list[list[Any]]) -> list[str]:
    return [reply.reason if isinstance(reply, Refused) else "answered" for (reply,) in said]


class LookingSilo(FakeSilo):
    """Notes what its owner had spent whenever it is looked at."""

    ledger: OwnerLedger

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self.spent = [*getattr(self, "spent", []), self.ledger.spent().nano]
        return super().totals(query)


def test_all_are_charged_before_any_is_counted(owner_of: Callable[..., Owner]) -> None:
    silo = LookingSilo()
    owner = owner_of(silo=silo)
    silo.ledger = owner.ledger
    said = together(owner, *asks(3))
    assert [type(reply) for (reply,) in said] == [Noisy] * 3
    assert [reply.round for (reply,) in said] == [each.round for each in asks(3)]
    assert silo.spent == [3 * HALF.nano] * 3
    assert len(owner.ledger.entries()) == 1 + 3  # the cap has a line, too


def test_what_was_said_together_is_kept_as_what_was_said_alone(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    first = owner.node.prepare_many([(PROVIDER, each) for each in asks(3)])
    assert [owner.node.prepare(PROVIDER, each) for each in asks(3)] == first
    assert owner.node.prepare_many([(PROVIDER, each) for each in reversed(asks(3))]) == first[::-1]
    assert (owner.ledger.spent(), owner.silo.asked) == (Epsilon.of(1.5), 3)


def test_the_budget_covers_as_many_as_it_does_and_no_other_is_counted(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(cap=1.2)
    assert reasons(together(owner, *asks(4))) == ["answered", "answered", "budget", "budget"]
    assert (owner.ledger.spent(), owner.silo.asked) == (Epsilon.of(1), 2)
    cheap = ask(0.2, round_id=b"c" * 16)
    assert reasons(together(owner, *asks(3)[2:], cheap)) == ["budget", "answered"]


def test_one_round_asked_twice_at_once_is_answered_once(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    assert reasons(together(owner, ask(), ask())) == ["answered", "round"]
    assert (owner.ledger.spent(), owner.silo.asked) == (HALF, 1)


def test_what_is_refused_holds_up_no_other(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(highest_epsilon=Epsilon.of(0.6))
    dear, other = ask(0.7, round_id=b"d" * 16), ask(0.5, round_id=b"o" * 16)
    assert reasons(together(owner, dear, other)) == ["epsilon", "answered"]
    assert owner.ledger.spent() == HALF


def test_what_fails_while_it_is_counted_stays_charged(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    owner.silo.broken = True
    assert reasons(together(owner, *asks(2))) == ["failed", "failed"]
    owner.silo.broken = False
    assert reasons(together(owner, *asks(2))) == ["round", "round"]
    assert owner.ledger.spent() == Epsilon.of(1)


def test_a_database_that_is_away_costs_nothing(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(silo=FakeSilo(away=True))
    assert reasons(together(owner, *asks(2))) == ["silo", "silo"]
    assert owner.ledger.spent() == Epsilon(0)


@pytest.mark.parametrize("error", [ValueError("not a number"), LedgerUnavailable("the disk is full")])
def test_a_look_at_the_log_that_fails_refuses_that_question_alone(
    error: Exception, owner_of: Callable[..., Owner], monkeypatch: Any
) -> None:
    owner = owner_of()
    honest = owner.node.heads.admits

    def admits(asked: Ask) -> bool:
        if asked.round == asks(1)[0].round:
            raise error
        return honest(asked)

    monkeypatch.setattr(owner.node, "heads", SimpleNamespace(admits=admits, told=lambda _round: ()))
    why = "ledger" if isinstance(error, LedgerUnavailable) else "protocol"
    assert reasons(together(owner, *asks(3))) == [why, "answered", "answered"]
    assert owner.ledger.spent() == Epsilon.of(1)


@pytest.mark.parametrize("step", ["begin_rounds", "keep_replies"])
def test_a_ledger_that_fails_refuses_all(step: str, owner_of: Callable[..., Owner], monkeypatch: Any) -> None:
    owner = owner_of()

    def fail(*_: Any) -> None:
        raise LedgerUnavailable("the disk is full")

    monkeypatch.setattr(owner.ledger, step, fail)
    assert reasons(together(owner, *asks(2))) == ["ledger", "ledger"]
    assert owner.silo.asked == (2 if step == "keep_replies" else 0)


def test_a_ledger_that_cannot_be_looked_at_refuses_what_it_may_have_answered(
    owner_of: Callable[..., Owner], monkeypatch: Any
) -> None:
    owner = owner_of()
    together(owner, *asks(2))

    def fail(*_: Any) -> None:
        raise LedgerUnavailable("the disk is full")

    monkeypatch.setattr(owner.ledger, "kept_replies", fail)
    assert reasons(together(owner, *asks(2))) == ["ledger", "ledger"]
    assert (owner.ledger.spent(), owner.silo.asked) == (Epsilon.of(1), 2)


@pytest.mark.parametrize("reason", ["late", "epsilon", "budget", "silo"])
@pytest.mark.parametrize("alone", [False, True])
def test_what_was_said_is_said_again_whatever_speaks_against_a_new_answer(
    reason: str, alone: bool, owner_of: Callable[..., Owner]
) -> None:
    clock = [100.0]
    owner = owner_of(cap=1.0, parts={"clock": PublicTime(lambda: clock[0])})
    said = owner.node.prepare_many([(PROVIDER, each) for each in asks(2)])
    new = ask(0.5, round_id=b"n" * 16)
    if reason == "epsilon":
        owner.node.policy = replace(owner.node.policy, highest_epsilon=Epsilon.of(0.1))
    owner.silo.away = reason == "silo"
    if reason in ("epsilon", "silo", "late"):
        owner.ledger.set_cap(Epsilon.of(9))
    late = 1.1 if reason == "late" else 0.0
    repeated = [(PROVIDER, each) for each in (*asks(2), new)]
    if alone:
        found = [owner.node.prepare(*each, waited_s=late) for each in repeated]
    else:
        found = owner.node.prepare_many(repeated, waited_s=late)
    assert found[:2] == said
    assert WIRE.decode(found[2][0][1]).reason == reason
    assert (owner.ledger.spent(), owner.silo.asked) == (Epsilon.of(1), 2)


def test_late_questions_are_refused_and_cost_nothing(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(parts={"clock": PublicTime(lambda: 100.0)})
    letters = owner.node.prepare_many([(PROVIDER, each) for each in asks(2)], waited_s=1.1)
    assert [WIRE.decode(data).reason for ((_, data),) in letters] == ["late", "late"]
    assert owner.ledger.spent() == Epsilon(0)


def test_other_messages_are_answered_one_after_the_other(owner_of: Callable[..., Owner]) -> None:
    owners = [owner_of(name) for name in "abc"]
    grouped(owners, "masked")
    (noisy,), (ready,), (checked,) = together(
        owners[0], ask(), ask(round_id=b"m" * 16, plan="p"), Check(b"c" * 16, b"r" * 16)
    )
    assert (type(noisy), type(ready), checked) == (Noisy, Ready, Checked(b"c" * 16, same=True))
    assert together(owners[0], *asks(2), sender="o7") == [[], []]


def test_who_tells_what_is_left_tells_it_after_each(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(tell_left=True)
    said = together(owner, *asks(2))
    assert [[type(reply) for reply in each] for each in said] == [[Noisy, Left]] * 2
    assert [each[1].nano for each in said] == [9_500_000_000, 9_000_000_000]


@pytest.mark.parametrize("paused", [False, True])
def test_who_agreed_on_something_else_or_pauses_answers_nothing(paused: bool, owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(paused=paused, parts={} if paused else {"agreed": b"a" * 32})
    assert reasons(together(owner, *asks(2))) == ["paused" if paused else "federation"] * 2
    assert owner.ledger.spent() == Epsilon(0)


class Panic(BaseException):
    """What a compiled module raises when it fails, which is no `Exception`."""


def test_one_answer_that_panics_holds_up_no_other(owner_of: Callable[..., Owner]) -> None:
    ann, bob = owner_of("ann"), owner_of("bob")

    def panics(_query: RangeQuery) -> dict[str, np.ndarray]:
        raise Panic

    ann.silo.totals = panics
    several = [(owner.node.answering([(PROVIDER, ask())]).several[0], owner.ledger) for owner in (ann, bob)]
    failed, letters = answered_together(several)
    assert isinstance(failed, RuntimeError)
    assert not isinstance(letters, Exception)
    assert isinstance(WIRE.decode(letters[0][0][1]), Noisy)
    assert [owner.ledger.spent() for owner in (ann, bob)] == [HALF, HALF]  # it had begun to count
