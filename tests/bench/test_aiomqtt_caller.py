"""The caller of aiomqtt's echo waits for clients that are slow, and does not drown them in calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from driven_time import in_driven_time
from fedgroup.lab.bench.aiomqtt_echo import _Caller

OWNERS = [f"owner-{number:03d}" for number in range(100)]
EACH_S = 0.1
"""So long takes an answer: 10 s for those of all."""


class Said:
    def __init__(self, topic: str) -> None:
        self.topic = topic


class SlowClients:
    """Clients of one process that answer one call after the other."""

    def __init__(self) -> None:
        self.calls: asyncio.Queue[str] = asyncio.Queue()
        self.called = 0

    async def publish(self, topic: str, payload: bytes) -> None:
        self.called += 1
        self.calls.put_nowait(topic)

    @property
    def messages(self) -> AsyncIterator[Said]:
        return self._answers()

    async def _answers(self) -> AsyncIterator[Said]:
        while True:
            topic = await self.calls.get()
            await asyncio.sleep(EACH_S)
            yield Said(topic.removesuffix("/ask") + "/say")


class SwallowingClients(SlowClients):
    """Nobody hears the first calls, and a call that is told to end goes on, as aiomqtt's may."""

    async def publish(self, topic: str, payload: bytes) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(EACH_S)
        if self.called < len(OWNERS):
            self.called += 1
        else:
            await super().publish(topic, payload)


def test_who_was_called_too_early_is_called_again_though_calls_take_long() -> None:
    async def journey() -> int:
        clients = SwallowingClients()
        caller = _Caller(clients)
        listening = asyncio.create_task(caller.listen())
        async with asyncio.timeout(120):
            await caller.until_all_answer(OWNERS)
        listening.cancel()
        return clients.called

    assert in_driven_time(journey()) >= 2 * len(OWNERS)


def test_clients_that_are_slow_to_answer_are_not_called_ever_more_often() -> None:
    async def journey() -> tuple[int, int]:
        clients = SlowClients()
        caller = _Caller(clients)
        listening = asyncio.create_task(caller.listen())
        async with asyncio.timeout(120):
            await caller.until_all_answer(OWNERS)
        listening.cancel()
        return clients.called, clients.calls.qsize()

    called, unanswered = in_driven_time(journey())
    assert called < 5 * len(OWNERS)
    assert unanswered < 3 * len(OWNERS)
