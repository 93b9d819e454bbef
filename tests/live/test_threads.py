"""Work that a thread is to do is done once, or told as not done, and never both."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from live_world import PATIENCE_S

from fedgroup.live import threads
from fedgroup.live.threads import in_thread


async def held_up(free: threading.Event) -> asyncio.Future[bool]:
    """Let the loop have one thread for databases, and keep it busy."""
    loop, begun = asyncio.get_running_loop(), threading.Event()
    pool = threads._POOLS[loop] = ThreadPoolExecutor(4)

    def busy() -> bool:
        begun.set()
        return free.wait(PATIENCE_S)

    other = loop.run_in_executor(pool, busy)
    while not begun.is_set():
        await asyncio.sleep(0)
    return other


def no_start(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_work_gives_its_result_or_raises() -> None:
    assert asyncio.run(in_thread(lambda: 3)) == 3
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(lambda: 1 // 0))


def test_what_no_thread_could_be_started_for_is_never_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool keeps it, and the thread that is there comes to it later."""

    async def story() -> None:
        free, done = threading.Event(), list[str]()
        other = await held_up(free)
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", no_start)
            with pytest.raises(RuntimeError, match="can't start"):
                await in_thread(lambda: done.append("refused"))
        free.set()
        assert await other
        await in_thread(lambda: done.append("next"))
        assert done == ["next"]

    asyncio.run(story())


def test_what_a_thread_came_to_before_the_pool_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one thread that is there may be quicker than the error."""

    async def story() -> None:
        free, begun = threading.Event(), threading.Event()
        other = await held_up(free)

        def no_start_yet(thread: threading.Thread) -> None:
            free.set()
            assert begun.wait(PATIENCE_S)
            no_start(thread)

        def work() -> str:
            begun.set()
            return "done"

        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", no_start_yet)
            assert await in_thread(work) == "done"
        assert await other

    asyncio.run(story())


def test_what_is_cancelled_before_it_was_begun_is_never_done() -> None:
    async def story() -> None:
        free, done = threading.Event(), list[str]()
        loop = asyncio.get_running_loop()
        pool = threads._POOLS[loop] = ThreadPoolExecutor(1)
        other = loop.run_in_executor(pool, free.wait, PATIENCE_S)
        waiting = asyncio.create_task(in_thread(lambda: done.append("cancelled")))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        free.set()
        assert await other
        await in_thread(lambda: done.append("next"))
        assert done == ["next"]

    asyncio.run(story())


def test_slow_databases_hold_up_neither_each_other_nor_what_else_needs_a_thread() -> None:
    async def story() -> None:
        loop, free = asyncio.get_running_loop(), threading.Event()
        loop.set_default_executor(ThreadPoolExecutor(2))
        slow = [asyncio.create_task(in_thread(partial(free.wait, PATIENCE_S))) for _ in range(20)]
        try:
            async with asyncio.timeout(PATIENCE_S / 4):
                assert await in_thread(lambda: "quick") == "quick"
                assert await loop.getaddrinfo("localhost", 80)
            assert not any(each.done() for each in slow)
        finally:
            free.set()
        assert all(await asyncio.gather(*slow))

    asyncio.run(story())
