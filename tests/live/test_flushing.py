"""Ledgers are on disk before anything leaves, many of them at the same time."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from live_world import PATIENCE_S

from fedgroup.errors import LedgerUnavailable
from fedgroup.live.flushing import Flushing
from fedgroup.live.owner import run_owner
from fedgroup.owner.together import Answers


@dataclass
class Ledger:
    """Is on disk when it is told to be."""

    reached: threading.Event = field(default_factory=threading.Event)
    free: threading.Event = field(default_factory=threading.Event)
    broken: bool = False
    unflushed: bool = True

    def flush(self) -> None:
        self.reached.set()
        assert self.free.wait(PATIENCE_S)
        if self.broken:
            raise LedgerUnavailable("the disk is broken")
        self.unflushed = False


@dataclass
class Node:
    """Answers with a word, which its ledger has to keep first."""

    ledger: Ledger
    name: str = "me"
    answered: int = 0

    def agrees(self, message: Any) -> bool:
        return True

    def prepare(self, sender: str, message: Any, *, waited_s: float) -> list[tuple[str, bytes]]:
        self.answered += 1
        return [(sender, b"answer")]

    def answering(self, received: Any, *, waited_s: float) -> Answers[Any]:
        return Answers([])

    def refusal(self, sender: str, message: Any, error: Exception) -> list[tuple[str, bytes]]:
        return [(sender, type(error).__name__.encode())]


@dataclass
class Link:
    """One question, and what was sent: each word with whether the ledger was told to be on disk by then."""

    ledger: Ledger
    sent: list[tuple[bytes, bool]] = field(default_factory=list)
    waited_s: float = 0.0

    async def send(self, to: str, payload: bytes) -> None:
        self.sent.append((payload, self.ledger.free.is_set()))

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        yield "provider", b"question"


@dataclass
class Busy(Link):
    """Questions that come while the first waits for the disk; it can send many words together."""

    QUESTIONS = 5
    together: list[int] = field(default_factory=list)

    async def send_many(self, letters: list[tuple[str, bytes]]) -> None:
        self.together.append(len(letters))
        self.ledger.unflushed = True  # for those that come next
        for to, payload in letters:
            await self.send(to, payload)

    async def received(self) -> AsyncIterator[tuple[str, bytes]]:
        yield "provider", b"question"
        await asyncio.to_thread(self.ledger.reached.wait, PATIENCE_S)
        for _ in range(1, self.QUESTIONS):
            yield "provider", b"question"


def in_a_loop(story: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(story)
    def test(**given: Any) -> None:
        asyncio.run(story(**given))

    return test


def answering(node: Node, link: Link, flushing: Flushing, *, in_thread: bool = False) -> Any:
    return run_owner(node, link, decode=lambda data, _: data, flushing=flushing, in_thread=in_thread)


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("broken", [False, True])
@in_a_loop
async def test_nothing_leaves_before_the_ledger_is_on_disk(in_thread: bool, broken: bool) -> None:
    node, flushing = Node(Ledger(broken=broken)), Flushing()
    link = Link(node.ledger)
    task = asyncio.create_task(answering(node, link, flushing, in_thread=in_thread))
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    node.ledger.free.set()
    await asyncio.wait_for(task, PATIENCE_S)
    assert link.sent == [(b"LedgerUnavailable" if broken else b"answer", True)]
    flushing.close()


@in_a_loop
async def test_what_is_made_while_the_disk_is_busy_goes_to_disk_and_leaves_together() -> None:
    node, flushing = Node(Ledger()), Flushing()
    link = Busy(node.ledger)
    task = asyncio.create_task(answering(node, link, flushing))
    assert await asyncio.to_thread(node.ledger.reached.wait, PATIENCE_S)
    async with asyncio.timeout(PATIENCE_S):
        while node.answered < Busy.QUESTIONS:
            await asyncio.sleep(0)  # all are answered while the first waits for the disk
    assert link.sent == []
    node.ledger.free.set()
    await asyncio.wait_for(task, PATIENCE_S)
    assert link.sent == [(b"answer", True)] * Busy.QUESTIONS
    assert link.together == [1, Busy.QUESTIONS - 1]
    flushing.close()


@in_a_loop
async def test_slow_ledgers_hold_up_no_others_and_each_hears_of_its_own_error() -> None:
    flushing, slow = Flushing(), [Ledger() for _ in range(3)]
    waiting = [asyncio.ensure_future(flushing.flushed(ledger)) for ledger in slow[:1]]
    assert await asyncio.to_thread(slow[0].reached.wait, PATIENCE_S)
    quick, bad = Ledger(), Ledger(broken=True)
    quick.free.set()
    bad.free.set()
    results = await asyncio.wait_for(
        asyncio.gather(flushing.flushed(quick), flushing.flushed(bad), return_exceptions=True), PATIENCE_S
    )
    assert results[0] is None
    assert isinstance(results[1], LedgerUnavailable)
    assert not waiting[0].done()
    slow[0].free.set()
    await asyncio.wait_for(waiting[0], PATIENCE_S)
    flushing.close()


@in_a_loop
async def test_many_ledgers_are_flushed_and_those_cancelled_disturb_nobody() -> None:
    flushing, ledgers = Flushing(), [Ledger() for _ in range(500)]
    for ledger in ledgers:
        ledger.free.set()
    tasks = [asyncio.ensure_future(flushing.flushed(ledger)) for ledger in ledgers]
    await asyncio.sleep(0)
    for task in tasks[::7]:
        task.cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), PATIENCE_S)
    assert not any(ledger.unflushed for at, ledger in enumerate(ledgers) if at % 7)
    await flushing.flushed(ledgers[1])  # already there
    flushing.close()


@in_a_loop
async def test_a_ledger_written_meanwhile_is_flushed_again() -> None:
    flushing, ledger = Flushing(), Ledger()
    first = asyncio.ensure_future(flushing.flushed(ledger))
    assert await asyncio.to_thread(ledger.reached.wait, PATIENCE_S)
    ledger.reached.clear()
    second = asyncio.ensure_future(flushing.flushed(ledger))
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
            await asyncio.wait_for(flushing.flushed(ledger), PATIENCE_S)
    await asyncio.wait_for(flushing.flushed(ledger), PATIENCE_S)
    assert not ledger.unflushed
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
    first = [asyncio.ensure_future(flushing.flushed(InFile(file))) for _ in range(300)]
    assert await asyncio.to_thread(file.reached.wait, PATIENCE_S)
    later = [asyncio.ensure_future(flushing.flushed(InFile(file))) for _ in range(300)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in (*first, *later))
    file.free.set()
    await asyncio.wait_for(asyncio.gather(*first, *later), PATIENCE_S)
    assert flushes == [0, 1]
    flushing.close()
