"""Deadlines in driven time pass where nobody has anything to do, and only there."""

from __future__ import annotations

import asyncio
import threading

import pytest

from driven_time import in_driven_time


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_deadline_passes_at_once_and_to_the_second_where_all_are_silent() -> None:
    async def story() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return now()

    assert in_driven_time(story()) == 3600


def test_no_time_passes_while_somebody_has_something_to_do() -> None:
    async def story() -> float:
        async with asyncio.timeout(0.001):
            for _ in range(10_000):
                await asyncio.sleep(0)
        return now()

    assert in_driven_time(story()) == 0


def test_no_time_passes_while_a_thread_works() -> None:
    async def story() -> float:
        working = threading.Event()
        async with asyncio.timeout(0.001):
            waiting = asyncio.create_task(asyncio.to_thread(working.wait))
            await asyncio.to_thread(working.set)
            await waiting
        return now()

    assert in_driven_time(story()) == 0
