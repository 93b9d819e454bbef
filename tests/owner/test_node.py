"""A live owner: what it answers, what it refuses, and that one round has one reply for ever."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_world import MAP, WIRE, FakeSilo, Owner, ask

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages.asked import Agreed, Ask, Check, Describe, Go, Offer, Relay
from fedgroup.messages.live import ToOwner
from fedgroup.messages.said import (
    Checked,
    Described,
    Noisy,
    Refused,
)  # fmt: skip
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Circle, Rectangle
from fedgroup.storage.owner_ledger import OwnerLedger
from owner_keys import Keys, believed


def test_an_owner_alone_answers_with_noise_and_pays_before(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    values = []
    for i in range(200):
        reply = owner.only(ask(0.04, round_id=i.to_bytes(16, "big")))
        assert isinstance(reply, Noisy)
        assert reply.heard == [0]
        values.append(reply.sums[0])
    assert owner.ledger.spent() == Epsilon.of(8)
    assert len(set(values)) > 20
    assert abs(np.mean(values) - 7) < 4 * 35.4 / np.sqrt(200)
    assert "asked by ann" in owner.ledger.entries()[-1].question


def test_ledger_lines_name_their_round_as_logs_do(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    owner.only(ask(round_id=bytes.fromhex("00c0ffee") + bytes(12)))
    assert owner.ledger.entries()[-1].question.endswith(", round 00c0ffee")


def test_a_round_has_one_reply_for_ever_and_is_charged_once(owner_of: Callable[..., Owner], tmp_path: Path) -> None:
    owner = owner_of()
    first = owner.node.receive(PROVIDER, ask())
    assert owner.node.receive(PROVIDER, ask()) == first
    assert owner.node.receive(PROVIDER, ask(0.9)) == first  # whatever is asked under its name
    assert owner.ledger.spent() == Epsilon.of(0.5)
    with closing(OwnerLedger(tmp_path / "a.db")) as again:
        assert again.kept_reply(b"r" * 16) == first[0][1]


@pytest.mark.parametrize(
    ("policy", "question", "reason"),
    [
        ({"highest_epsilon": Epsilon.of(0.4)}, ask(), "epsilon"),
        ({"kinds": ("sum",)}, ask(), "kind"),
        ({"smallest_radius": 4.0}, ask(), "radius"),
        ({"smallest_radius": 1.0}, ask(range=Rectangle(1, 1, 9, 2)), "radius"),
        ({"shortest_window": 60, "silo": FakeSilo(has_time=True)}, ask(since=0, until=59_999_999), "window"),
        ({"paused": True}, ask(), "paused"),
        ({"cap": 0.4}, ask(), "budget"),
        ({"silo": FakeSilo(away=True)}, ask(), "silo"),
        ({}, ask(plan="unknown"), "plan"),
        ({}, ask(since=5), "attribute"),
        ({}, ask(range=Circle(50, 50, 1)), "protocol"),
        ({}, Go(b"x" * 16, [0]), "round"),
        ({"highest_setup": Epsilon.of(0.1)}, Describe(b"d" * 16, 5, 5, 200_000_000), "epsilon"),
    ],
)
def test_refusals_give_a_reason_and_cost_nothing(
    policy: dict[str, Any], question: ToOwner, reason: str, owner_of: Callable[..., Owner]
) -> None:
    owner = owner_of(**policy)
    reply = owner.only(question)
    assert isinstance(reply, Refused)
    assert reply.reason == reason
    assert owner.ledger.spent() == Epsilon(0)


def test_sums_of_columns_that_do_not_exist_or_are_not_allowed_are_refused(owner_of: Callable[..., Owner]) -> None:
    query = RangeQuery("sum", Circle(5, 5, 3), Epsilon.of(0.5), Measure("fare", 50))
    asked = Ask(b"s" * 16, WireQuery.of(query), None, 1000)
    assert isinstance(owner_of("a").only(asked), Noisy)
    assert owner_of("b", attributes=("tip",)).only(asked).reason == "attribute"
    assert owner_of("c", silo=FakeSilo(attributes=())).only(asked).reason == "attribute"


def test_vectors_are_charged_and_kept(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    asked = Describe(b"d" * 16, 5, 4, 300_000_000)
    reply = owner.only(asked)
    assert isinstance(reply, Described)
    assert len(reply.counts) == 20
    assert reply.counts != list(range(20))
    assert owner.only(asked) is reply
    assert owner.ledger.spent() == Epsilon.of(0.3)


def test_the_owner_tells_whether_its_data_is_the_same(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    owner.only(ask())
    assert owner.only(Check(b"c" * 16, b"r" * 16)) == Checked(b"c" * 16, same=True)
    assert owner.only(Check(b"c" * 16, b"?" * 16)) == Checked(b"c" * 16, same=False)
    owner.silo.version = "2"
    assert owner.only(Check(b"c" * 16, b"r" * 16)) == Checked(b"c" * 16, same=False)


def test_other_owners_cannot_ask(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    assert owner.say(ask(), sender="o7") == []
    assert owner.ledger.spent() == Epsilon(0)


def test_a_live_owner_refuses_noise_that_is_not_private(ledger: OwnerLedger) -> None:
    with pytest.raises(InvalidInput):
        OwnerNode(
            Keys("a"), FakeSilo(), public_map=MAP, protection=Protection(), noise=SeededNoise(1),
            ledger=ledger, policy=Policy(), verify=believed, encode=WIRE.encode,
        )  # fmt: skip


def test_what_was_counted_stays_charged_whatever_came_of_it(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of()
    owner.silo.broken = True
    assert owner.only(ask()).reason == "failed"
    assert (owner.ledger.spent(), owner.ledger.kept_reply(b"r" * 16)) == (Epsilon.of(0.5), b"")
    owner.silo.broken = False
    assert owner.only(ask()).reason == "round"  # it is answered once or never
    assert owner.ledger.spent() == Epsilon.of(0.5)


def test_a_round_is_charged_once_and_its_first_reply_stays(ledger: OwnerLedger) -> None:
    charge = Charge(Epsilon.of(1), "query", "?")
    assert ledger.kept_reply(b"r") is None
    assert [ledger.begin_rounds([(b"r", charge, "1")]) for _ in range(2)] == [[(True, None)], [(False, None)]]
    assert ledger.kept_reply(b"r") == b""
    assert [ledger.keep_replies([(b"r", reply)]) for reply in (b"first", b"second")] == [[b"first"], [b"first"]]
    assert ledger.spent() == Epsilon.of(1)


def test_a_ledger_belongs_to_one_owner_and_is_for_its_eyes_only(tmp_path: Path) -> None:
    OwnerLedger(tmp_path / "l.db", holder="a").close()
    assert (tmp_path / "l.db").stat().st_mode & 0o077 == 0
    OwnerLedger(tmp_path / "l.db", holder="a").close()
    with pytest.raises(InvalidInput):
        OwnerLedger(tmp_path / "l.db", holder="b")


def test_who_agreed_on_something_else_is_answered_nothing(owner_of: Callable[..., Owner]) -> None:
    owner = owner_of(parts={"agreed": bytes(16)})
    der = owner.identity.der
    others: list[Any] = [ask(), Describe(b"d" * 16, 2, 2, 100), Offer("p", "masked", [der], 0), Agreed(b"")]
    others += [Relay(b"s" * 16, der, 2, 2, 0.5, True)]
    for message in (*others, *(replace(each, agreed=bytes(range(16))) for each in others)):
        assert (owner.only(message).reason, owner.node.agrees(message)) == ("federation", False)
    assert owner.ledger.spent() == Epsilon(0)
    assert owner.say(Agreed(bytes(16))) == []
    assert isinstance(owner.only(replace(ask(), agreed=bytes(16))), Noisy)
