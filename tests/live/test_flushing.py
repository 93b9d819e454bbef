"""Ledgers are on disk before anything leaves, many of them at the same time."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from live_world import PATIENCE_S

from fedgroup.errors import LedgerUnavailable
from fedgroup.live import owner
from fedgroup.live.flushing import Flushing
from fedgroup.live.owner import RunningOwner
from fedgroup.owner.together import Answers
from fedgroup.transport.inbox import Pulse
from fedgroup.transport.links import Hear


@dataclass
class Ledger:
    """Is on disk when it is told to be."""

    reached: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)
    broken: bool = False
    unflushed: bool = True
    flushes: int = 0

    def flush(self) -> None:
        self.flushes += 1
        self.reached.set()
        assert self.free.wait(PATIENCE_S)
        if self.broken:
            raise LedgerUnavailable("the disk is broken")
        self.unflushed = False


@dataclass
class Node:
    """Answers with a word, or with what it was told, which its ledger has to keep first."""

    ledger: Ledger
    name: str = "me"
    answered: int = 0
    echoes: bool = False

    def agrees(self, message: Any) -> bool:
        return True

    def prepare(self, sender: str, message: Any, *, waited_s: float) -> list[tuple[str, bytes]]:
        self.answered += 1
        return [(sender, message if self.echoes else b"answer")]

    def answering(self, received: Any, *, waited_s: float) -> Answers[Any]:
        return Answers([])

    def refusal(self, sender: str, message: Any, error: Exception) -> list[tuple[str, bytes]]:
        return [(sender, type(error).__name__.encode())]


@dataclass
class Wire:
    """What was sent, together or not: each word with whether the ledger was told to be on disk by then."""

    ledger: Ledger
    sent: list[list[tuple[bytes, bool]]] = field(default_factory=list)
    held: int = 0
    hear: Hear | None = None
    when_room: list[Callable[[], None]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self, hear: Hear) -> None:
        self.hear = hear

    def say(self, messages: Sequence[tuple[str, bytes]]) -> None:
        self.sent.append([(payload, self.ledger.free.is_set()) for _, payload in messages])
        self.ledger.unflushed = True  # for those that come next
        self.news.set()

    def when_left(self, call: Callable[[], None]) -> None:
        self.when_room.append(call)

    def hold(self) -> None:
        self.held += 1

    def go_on(self) -> None:
        self.held -= 1

    def bring(self, *payloads: bytes) -> None:
        assert self.hear is not None
        self.hear("provider", list(payloads), Pulse.now())

    async def said(self, words: int) -> list[list[tuple[bytes, bool]]]:
        """Wait until so many words were sent, and return them."""
        async with asyncio.timeout(PATIENCE_S):
            while sum(len(some) for some in self.sent) < words:
                self.news.clear()
                await self.news.wait()
        return self.sent


def in_a_loop(story: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(story)
    def test(**given: Any) -> None:
        asyncio.run(story(**given))

    return test


def answering(node: Node, wire: Wire, flushing: Flushing, *, in_thread: bool = False) -> RunningOwner:
    return RunningOwner(node, wire, decode=lambda data, _: data, flushing=flushing, in_thread=in_thread)


async def flushed(flushing: Flushing, ledger: Any) -> None:
    """Wait until a ledger is on disk, or raise its error."""
    done = asyncio.get_running_loop().create_future()

    def told(error: Exception | None) -> None:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    flushing.when_flushed(ledger, told)
    await asyncio.wait_for(done, PATIENCE_S)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("broken", [False, True])
@in_a_loop
async def test_nothing_leaves_before_the_ledger_is_on_disk(in_thread: bool, broken: bool) -> None:
    node, flushing = Node(Ledger(broken=broken)), Flushing()
    wire = Wire(node.ledger)
    answering(node, wire, flushing, in_thread=in_thread)
    wire.bring(b"question")
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    node.ledger.free.set()
    assert await wire.said(1) == [[(b"LedgerUnavailable" if broken else b"answer", True)]]
    flushing.close()


@in_a_loop
async def test_what_is_made_while_the_disk_is_busy_goes_to_disk_and_leaves_together() -> None:
    node, flushing = Node(Ledger()), Flushing()
    wire = Wire(node.ledger)
    answering(node, wire, flushing)
    wire.bring(b"question")
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    for _ in range(4):
        wire.bring(b"question")
    async with asyncio.timeout(PATIENCE_S):
        while node.answered < 5:
            await asyncio.sleep(0)  # all are answered while the first waits for the disk
    assert wire.sent == []
    node.ledger.free.set()
    assert await wire.said(5) == [[(b"answer", True)], [(b"answer", True)] * 4]
    flushing.close()


@pytest.mark.parametrize("in_thread", [False, True])
@in_a_loop
async def test_an_owner_reads_no_more_while_much_is_under_way_and_answers_all_in_order(in_thread: bool) -> None:
    node, flushing = Node(Ledger(), echoes=True), Flushing()
    wire = Wire(node.ledger)
    answering(node, wire, flushing, in_thread=in_thread)
    questions = [b"%d" % number for number in range(200)]
    for question in questions:
        wire.bring(question)
    assert wire.held == 1
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    for _ in range(300):
        await asyncio.sleep(0)
    assert node.answered <= 64
    node.ledger.free.set()
    sent = await wire.said(len(questions))
    assert [word for some in sent for word, _ in some] == questions
    assert wire.held == 0
    flushing.close()


@pytest.mark.parametrize("in_thread", [False, True])
@in_a_loop
async def test_an_owner_that_said_much_begins_nothing_more_until_it_has_left(
    in_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply that is kept is on disk already: said again and again, it would fill the memory."""
    monkeypatch.setattr(owner, "_MOST_SAID_BYTES", 1_000)
    node, flushing = Node(Ledger(), echoes=True), Flushing()
    wire = Wire(node.ledger)
    node.ledger.free.set()
    answering(node, wire, flushing, in_thread=in_thread)
    questions = [b"%099d" % number for number in range(1_000)]
    for question in questions:
        wire.bring(question)
    pauses = 0
    while node.answered < len(questions):
        async with asyncio.timeout(PATIENCE_S):
            while not wire.when_room and node.answered < len(questions):
                await asyncio.sleep(0)
        if not wire.when_room:  # the last of them are too few to wait for
            break
        for _ in range(300):  # nothing more comes
            await asyncio.sleep(0)
        pauses += 1
        assert node.answered <= pauses * (10 + 64)
        (go_on,), wire.when_room = wire.when_room, []
        go_on()
    sent = await wire.said(len(questions))
    assert [word for some in sent for word, _ in some] == questions
    assert wire.held == 0
    flushing.close()


@in_a_loop
async def test_an_owner_without_a_thread_for_its_database_refuses_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    node, flushing = Node(Ledger()), Flushing()
    node.ledger.free.set()
    wire = Wire(node.ledger)
    answering(node, wire, flushing, in_thread=True)

    def no_thread(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(asyncio.get_running_loop(), "run_in_executor", no_thread)
        for _ in range(100):
            wire.bring(b"question")
        assert {word for some in await wire.said(100) for word, _ in some} == {b"RuntimeError"}
    wire.bring(b"question")
    assert (await wire.said(101))[-1] == [(b"answer", True)]
    assert wire.held == 0
    flushing.close()


@pytest.mark.parametrize("in_thread", [False, True])
@in_a_loop
async def test_an_owner_that_is_closed_says_nothing_more(in_thread: bool) -> None:
    node, flushing = Node(Ledger()), Flushing()
    wire = Wire(node.ledger)
    running = answering(node, wire, flushing, in_thread=in_thread)
    wire.bring(b"question")
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    if in_thread:  # what waits for the thread is not asked any more
        wire.bring(b"question", b"question")
    running.close()
    wire.bring(b"question")
    node.ledger.free.set()
    await flushed(flushing, Ledger(free=node.ledger.free))
    for _ in range(100):
        await asyncio.sleep(0)
    assert (wire.sent, node.answered) == ([], 1)
    flushing.close()


@in_a_loop
async def test_slow_ledgers_hold_up_no_others_and_each_hears_of_its_own_error() -> None:
    flushing, slow = Flushing(), [Ledger() for _ in range(3)]
    waiting = [asyncio.ensure_future(flushed(flushing, ledger)) for ledger in slow[:1]]
    assert await asyncio.to_thread(slow[0].reached.wait, PATIENCE_S)
    quick, bad = Ledger(), Ledger(broken=True)
    quick.free.set()
    bad.free.set()
    results = await asyncio.wait_for(
        asyncio.gather(flushed(flushing, quick), flushed(flushing, bad), return_exceptions=True), PATIENCE_S
    )
    assert results[0] is None
    assert isinstance(results[1], LedgerUnavailable)
    assert not waiting[0].done()
    slow[0].free.set()
    await asyncio.wait_for(waiting[0], PATIENCE_S)
    flushing.close()


@in_a_loop
async def test_many_ledgers_are_flushed_and_who_fails_when_told_disturbs_nobody() -> None:
    flushing, ledgers = Flushing(), [Ledger() for _ in range(500)]
    told: list[Exception | None] = []
    failed: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: failed.append(about["exception"]))

    def fail(_: Exception | None) -> None:
        raise ValueError("a bug")

    for at, ledger in enumerate(ledgers):
        ledger.free.set()
        flushing.when_flushed(ledger, told.append if at % 7 else fail)
    async with asyncio.timeout(PATIENCE_S):
        while len(told) + len(failed) < len(ledgers):
            await asyncio.sleep(0)
    assert not any(ledger.unflushed for ledger in ledgers)
    assert (told, len(failed)) == ([None] * 428, 72)
    await flushed(flushing, ledgers[1])  # already there
    assert ledgers[1].flushes == 1
    flushing.close()


@in_a_loop
async def test_a_ledger_written_meanwhile_is_flushed_again() -> None:
    flushing, ledger = Flushing(), Ledger()
    first = asyncio.ensure_future(flushed(flushing, ledger))
    assert await asyncio.to_thread(ledger.reached.wait, PATIENCE_S)
    ledger.reached.clear()
    second = asyncio.ensure_future(flushed(flushing, ledger))
    assert await asyncio.to_thread(ledger.reached.wait, PATIENCE_S), "the second flush began after it was asked for"
    ledger.free.set()
    await asyncio.gather(first, second)
    flushing.close()


@in_a_loop
async def test_owners_hear_of_it_when_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    flushing, ledger = Flushing(), Ledger()
    ledger.free.set()

    def submit(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as full:
        full.setattr(flushing._pool, "submit", submit)
        with pytest.raises(LedgerUnavailable, match="no thread"):
            await asyncio.wait_for(flushed(flushing, ledger), PATIENCE_S)
    await asyncio.wait_for(flushed(flushing, ledger), PATIENCE_S)
    assert not ledger.unflushed
    flushing.close()


@in_a_loop
async def test_what_no_thread_could_be_started_for_is_told_once_though_a_thread_comes_to_it_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pool keeps what it was given even where it then fails to start a thread for it."""
    flushing, slow, told = Flushing(), Ledger(), list[Exception | None]()
    first = asyncio.ensure_future(flushed(flushing, slow))
    assert await asyncio.to_thread(slow.reached.wait, PATIENCE_S)  # the one thread there is
    late = Ledger()
    late.free.set()
    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", lambda _: (_ for _ in ()).throw(RuntimeError("can't start new thread")))
        flushing.when_flushed(late, told.append)
        async with asyncio.timeout(PATIENCE_S):
            while not told:
                await asyncio.sleep(0)
    slow.free.set()
    await first
    last = Ledger()
    last.free.set()
    await flushed(flushing, last)  # by now the thread has been through its queue
    for _ in range(100):
        await asyncio.sleep(0)
    assert ([type(error) for error in told], late.flushes) == ([LedgerUnavailable], 0)
    flushing.close()


@dataclass
class InFile:
    """A ledger among others in one file."""

    disk: Ledger

    @property
    def unflushed(self) -> bool:
        return self.disk.unflushed

    def flush(self) -> None:
        raise AssertionError("the file is flushed, once for all")


@in_a_loop
async def test_ledgers_of_one_file_are_flushed_together_and_later_ones_by_the_next_flush() -> None:
    flushes: list[int] = []

    class File(Ledger):
        def flush(self) -> None:
            flushes.append(len(flushes))
            super().flush()
            self.unflushed = True  # somebody always writes

    flushing, file = Flushing(), File()
    first = [asyncio.ensure_future(flushed(flushing, InFile(file))) for _ in range(300)]
    assert await asyncio.to_thread(file.reached.wait, PATIENCE_S)
    later = [asyncio.ensure_future(flushed(flushing, InFile(file))) for _ in range(300)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in (*first, *later))
    file.free.set()
    await asyncio.wait_for(asyncio.gather(*first, *later), PATIENCE_S)
    assert flushes == [0, 1]
    flushing.close()
