"""Owners of one process that work together: charged in one transaction before anybody counts, each in its own order."""

from __future__ import annotations

import asyncio
import functools
import sqlite3
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_world import MAP, WIRE, FakeSilo, ask

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live import working
from fedgroup.live.working import Exchange, Received, Working
from fedgroup.messages.asked import Ask, Check
from fedgroup.messages.said import Checked, Noisy, Refused
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.together import Answers, Earlier, answered_together
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.storage.hosted_batch import Batch
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.inbox import Pulse
from fixed_noise import fixed_noise
from owner_keys import Keys, believed

HALF = Epsilon.of(0.5)


class LookingSilo(FakeSilo):
    """Notes how many charges are in the file, for anybody who looks, whenever records are counted."""

    path: Path
    found: list[int]

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        with closing(sqlite3.connect(self.path)) as other:
            self.found.append(other.execute("SELECT count(*) FROM rounds").fetchone()[0])
        return super().totals(query)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[HostedFile]:
    with closing(HostedFile(tmp_path / "ledgers.db")) as opened:
        yield opened


@pytest.fixture
def nodes(file: HostedFile) -> list[OwnerNode]:
    return [node_of(name, file) for name in ("ann", "bob", "cid")]


def node_of(name: str, file: HostedFile, *, cap: float = 10) -> OwnerNode:
    ledger, silo = HostedLedger(file, name, new=True), LookingSilo()
    silo.path, silo.found = file.path, []
    ledger.set_cap(Epsilon.of(cap))
    return OwnerNode(
        Keys(name), silo, public_map=MAP, protection=Protection(), ledger=ledger, noise=fixed_noise(name),
        policy=Policy(), encode=WIRE.encode, verify=believed,
    )  # fmt: skip


def asks(*numbers: int) -> list[Ask]:
    return [replace(ask(0.5, round_id=number.to_bytes(16, "big")), within_ms=600_000) for number in numbers]


def in_a_loop(story: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(story)
    def test(**given: Any) -> None:
        asyncio.run(story(**given))

    return test


@dataclass
class Owner:
    """An owner at work, and what it is to say."""

    node: OwnerNode
    replies: list[Any] = field(default_factory=list)
    closed: bool = False

    def made(self, exchanges: Sequence[Exchange]) -> None:
        self.replies += [WIRE.decode(reply) for one in exchanges for _, reply in one.replies]


async def has_replies(owner: Owner) -> None:
    async with asyncio.timeout(60):
        while not owner.replies:
            await asyncio.sleep(0)


async def said(at_work: Working, *received: tuple[OwnerNode, list[Any]]) -> list[list[Any]]:
    """Return what owners say to messages that came at one moment, of each in the order in which it was made."""
    owners = {id(node): Owner(node) for node, _ in received}
    for node, messages in received:
        at_work.begin(owners[id(node)], Received([(PROVIDER, each) for each in messages], Pulse.now()))
    async with asyncio.timeout(60):
        while sum(len(owner.replies) for owner in owners.values()) < sum(len(messages) for _, messages in received):
            await asyncio.sleep(0)
    return [owner.replies for owner in owners.values()]


def found_by(nodes: list[OwnerNode]) -> list[list[int]]:
    return [node._silo.found for node in nodes]  # type: ignore[attr-defined]


@in_a_loop
async def test_all_owners_are_charged_in_the_file_before_any_counts(file: HostedFile, nodes: list[OwnerNode]) -> None:
    commits: list[str] = []
    with file._reading() as connection:
        connection.set_trace_callback(commits.append)
    replies = await said(Working(), *((node, asks(1)) for node in nodes))
    assert [type(reply) for (reply,) in replies] == [Noisy] * 3
    assert found_by(nodes) == [[3]] * 3
    assert commits.count("COMMIT") == 2  # charges, and replies
    assert [node.ledger.kept_reply(asks(1)[0].round) is not None for node in nodes] == [True] * 3


@in_a_loop
async def test_what_one_owner_received_later_waits_for_what_it_received_before(nodes: list[OwnerNode]) -> None:
    ann, bob, _ = nodes
    first, again = asks(1), [*asks(1), Check(b"c" * 16, asks(1)[0].round)]
    of_ann, of_bob = await said(Working(), (ann, first), (bob, first), (ann, again))
    assert of_ann[0] == of_ann[1]  # the same reply, said again
    assert [type(each) for each in of_ann] == [Noisy, Noisy, Checked]
    assert of_ann[2].same
    assert (ann.ledger.spent(), bob.ledger.spent(), len(of_bob)) == (HALF, HALF, 1)  # type: ignore[attr-defined]


@in_a_loop
async def test_questions_of_several_frames_are_charged_together(file: HostedFile, nodes: list[OwnerNode]) -> None:
    commits: list[str] = []
    with file._reading() as connection:
        connection.set_trace_callback(commits.append)
    ann = nodes[0]
    (of_ann,) = await said(Working(), (ann, asks(1)), (ann, asks(2, 3)), (ann, asks(4)))
    assert [each.round[-1] for each in of_ann] == [1, 2, 3, 4]
    assert commits.count("COMMIT") == 2  # charges, and replies
    assert ann.ledger.spent() == Epsilon.of(2)  # type: ignore[attr-defined]


@in_a_loop
async def test_a_question_that_comes_twice_gets_its_reply_twice(nodes: list[OwnerNode]) -> None:
    ann = nodes[0]
    (of_ann,) = await said(Working(), (ann, asks(1)), (ann, asks(1)), (ann, asks(2)))
    assert of_ann[0] == of_ann[1]
    assert [type(each) for each in of_ann] == [Noisy] * 3
    assert ann.ledger.spent() == Epsilon.of(1)  # type: ignore[attr-defined]


@in_a_loop
async def test_many_owners_take_several_turns_and_none_is_left_out(file: HostedFile) -> None:
    nodes = [node_of(f"owner {number}", file) for number in range(150)]
    replies = await said(Working(), *((node, asks(1, 2)) for node in nodes))
    assert [[type(each) for each in some] for some in replies] == [[Noisy] * 2] * 150
    assert {node.ledger.spent() for node in nodes} == {Epsilon.of(1)}  # type: ignore[attr-defined]


@in_a_loop
async def test_an_owner_without_budget_or_database_holds_up_no_other(file: HostedFile, nodes: list[OwnerNode]) -> None:
    poor, away = node_of("poor", file, cap=0.2), node_of("away", file)
    away._silo.away = True  # type: ignore[attr-defined]
    replies = await said(Working(), *((node, asks(1)) for node in (poor, away, *nodes)))
    assert [each.reason if isinstance(each, Refused) else "answered" for (each,) in replies] == [
        "budget", "silo", "answered", "answered", "answered"
    ]  # fmt: skip
    assert [node.ledger.spent() for node in (poor, away)] == [Epsilon(0)] * 2  # type: ignore[attr-defined]


@in_a_loop
async def test_what_waits_for_its_turn_is_not_overtaken_by_what_came_later(file: HostedFile) -> None:
    ann, *others = (node_of(f"owner {number}", file) for number in range(150))
    check = [Check(b"c" * 16, asks(1)[0].round)]
    some = [(other, asks(1)) for other in others]
    of_ann, *_ = await said(Working(), (ann, asks(1)), (ann, asks(1)), *some, (ann, check))
    assert [type(each) for each in of_ann] == [Noisy, Noisy, Checked]


@in_a_loop
async def test_no_turn_is_longer_than_so_many_messages(file: HostedFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working, "_MOST_AT_ONCE", 10)
    together: list[int] = []

    def noted(several: Sequence[Any]) -> list[Any]:
        together.append(len(several))
        return answered_together(several)

    monkeypatch.setattr(working, "answered_together", noted)
    await said(Working(), *((node_of(f"owner {number}", file), asks(1)) for number in range(25)))
    assert together == [10, 10, 5]


@in_a_loop
async def test_an_owner_that_cannot_take_its_replies_keeps_nobody_elses(nodes: list[OwnerNode]) -> None:
    class Broken(Owner):
        def made(self, exchanges: Sequence[Exchange]) -> None:
            raise ValueError("a bug")

    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(str(about["exception"])))
    at_work, broken, whole = Working(), Broken(nodes[0]), Owner(nodes[1])
    for owner in (broken, whole):
        at_work.begin(owner, Received([(PROVIDER, each) for each in asks(1)], Pulse.now()))
    await has_replies(whole)
    assert told == ["a bug"]


@pytest.mark.parametrize("late", [False, True])
@in_a_loop
async def test_a_fault_of_one_owner_that_nobody_foresaw_spoils_its_answers_only(
    late: bool, nodes: list[OwnerNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(received: Sequence[Any], **_: Any) -> Answers[Any]:
        def failing() -> Iterator[Any]:
            if late:  # after others were charged
                yield Earlier(bytes(16))
            raise ValueError("a bug")

        return Answers([failing()])

    monkeypatch.setattr(nodes[1], "answering", fails)
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(str(about["exception"])))
    replies = await said(Working(), *((node, asks(1)) for node in nodes))
    assert [type(reply) for (reply,) in replies] == [Noisy, Refused, Noisy]
    assert told == ["a bug"]


@in_a_loop
async def test_an_owner_that_cannot_tell_what_it_has_left_answers_all_the_same(
    nodes: list[OwnerNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    def malformed(_: HostedLedger) -> None:
        raise InvalidInput("the file is malformed")

    monkeypatch.setattr(nodes[0], "policy", replace(nodes[0].policy, tell_left=True))
    monkeypatch.setattr(HostedLedger, "left", malformed)
    replies = await said(Working(), *((node, asks(1)) for node in nodes))
    assert [type(reply) for (reply,) in replies] == [Noisy] * 3


@in_a_loop
async def test_owners_that_are_closed_are_not_charged_for_what_waits(nodes: list[OwnerNode]) -> None:
    at_work, gone, whole = Working(), Owner(nodes[0], closed=True), Owner(nodes[1])
    for owner in (gone, whole):
        at_work.begin(owner, Received([(PROVIDER, each) for each in asks(1)], Pulse.now()))
    await has_replies(whole)
    assert (gone.replies, nodes[0].ledger.spent()) == ([], Epsilon(0))  # type: ignore[attr-defined]


@in_a_loop
async def test_a_fault_of_nobody_leaves_nobody_waiting(nodes: list[OwnerNode], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Any) -> list[Any]:
        raise RuntimeError("a bug")

    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    monkeypatch.setattr(working, "answered_together", fails)
    replies = await said(Working(), *((node, asks(1)) for node in nodes))
    assert [type(reply) for (reply,) in replies] == [Refused] * 3


@in_a_loop
async def test_frames_to_an_owner_with_a_ledger_of_its_own_share_its_transactions(tmp_path: Path) -> None:
    ledger = OwnerLedger(tmp_path / "ann.db")
    ledger.set_cap(Epsilon.of(10))
    ann = OwnerNode(
        Keys("ann"), FakeSilo(), public_map=MAP, protection=Protection(), ledger=ledger, noise=fixed_noise("ann"),
        policy=Policy(), encode=WIRE.encode, verify=believed,
    )  # fmt: skip
    commits: list[str] = []
    ledger._connection.set_trace_callback(commits.append)
    (of_ann,) = await said(Working(), (ann, asks(1)), (ann, asks(2)), (ann, asks(3)))
    assert [type(each) for each in of_ann] == [Noisy] * 3
    assert commits.count("COMMIT") == 2
    ledger.close()


@pytest.mark.parametrize("replies_too", [False, True])
@in_a_loop
async def test_a_file_that_cannot_be_written_refuses_all_of_its_owners(
    replies_too: bool, nodes: list[OwnerNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = Batch.write, [0]

    def full(batch: Batch) -> None:
        written[0] += 1
        if written[0] > replies_too:
            raise sqlite3.OperationalError("database or disk is full")
        write(batch)

    monkeypatch.setattr(Batch, "write", full)
    replies = await said(Working(), *((node, asks(1)) for node in nodes))
    assert [reply.reason for (reply,) in replies] == ["ledger"] * 3
    assert found_by(nodes) == ([[3]] if replies_too else [[]]) * 3  # nobody counts who is not charged
    monkeypatch.undo()
    spent = HALF if replies_too else Epsilon(0)
    assert {node.ledger.spent() for node in nodes} == {spent}  # type: ignore[attr-defined]
    again = await said(Working(), *((node, asks(1)) for node in nodes))
    assert {type(reply) for (reply,) in again} == {Refused if replies_too else Noisy}  # one reply for ever, or none
