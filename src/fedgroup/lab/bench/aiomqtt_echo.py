"""The bare echo once more, by aiomqtt, the usual asynchronous client: what owners would wait without one of our own.

Connections, certificates, topics, processes and numbers of messages are those of the other echo; only the client is
another one, and nobody answers questions in between.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from fedgroup.identity import Identity, Trust
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.trial import FEDERATION, TrialCity
from fedgroup.transport.topics import PROVIDER, Topics

_HOST = "127.0.0.1"
_PATIENCE_S = 120.0
_CALL_AGAIN_S = 0.5
_CONNECT_S = 20.0
"""A client whose connection is lost before it was let in notices nothing until this time is over."""
_WARM = 2
_TOPICS = Topics(FEDERATION)


def run_echoes(files: Sequence[Path], port: int) -> None:
    """Send back whatever comes to some owners, in this process, until it is stopped."""
    asyncio.run(_run_echoes(files, port))


async def _run_echoes(files: Sequence[Path], port: int) -> None:
    await asyncio.gather(*(_echo(read_config(file, OwnerConfig), port) for file in files))


async def _echo(config: OwnerConfig, port: int) -> None:
    import aiomqtt

    identity, trust = Identity.load(config.identity.folder), Trust.load(config.identity.authority)
    while True:
        with suppress(aiomqtt.MqttError):  # the broker comes later than some owners
            async with _client(identity, trust, port) as client:
                await client.subscribe(_TOPICS.ask(identity.name))
                async for message in client.messages:
                    await client.publish(_TOPICS.say(identity.name), message.payload)
        await asyncio.sleep(_CALL_AGAIN_S)


def time_echoes(trial: TrialCity, port: int, owners: Sequence[str], size: int, repeats: int) -> float:
    """Return the median time, in seconds, of sending every owner a message and hearing all of them."""
    from msgspec.structs import replace

    config = read_config(trial.provider, ProviderConfig)
    config = replace(config, broker=replace(config.broker, port=port))
    return asyncio.run(_time_echoes(config, trial, list(owners), size, repeats))


async def _time_echoes(config: ProviderConfig, trial: TrialCity, owners: list[str], size: int, repeats: int) -> float:
    identity, trust = Identity.load(trial.folder / PROVIDER), Trust.load(trial.folder / "authority")
    async with AsyncExitStack() as stack:
        client = await _connected(identity, trust, config.broker.port, stack)
        await client.subscribe(_TOPICS.say("+"))
        caller = _Caller(client)
        listening = asyncio.create_task(caller.listen())
        stack.callback(listening.cancel)
        async with asyncio.timeout(_PATIENCE_S):
            await caller.until_all_answer(owners)
            times = [await caller.seconds(owners, bytes(size)) for _ in range(_WARM + repeats)]
        return statistics.median(times[_WARM:])


async def _connected(identity: Identity, trust: Trust, port: int, stack: AsyncExitStack) -> Any:
    """Return a client that is connected while the context lasts; the broker may come later."""
    import aiomqtt

    async with asyncio.timeout(_PATIENCE_S):
        while True:
            with suppress(aiomqtt.MqttError):
                return await stack.enter_async_context(_client(identity, trust, port))
            await asyncio.sleep(_CALL_AGAIN_S)


class _Caller:
    """The provider's side: it calls owners and counts who answered."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._missing: set[str] = set()
        self._all_in = asyncio.Event()

    async def listen(self) -> None:
        async for message in self._client.messages:
            self._missing.discard(str(message.topic))
            if not self._missing:
                self._all_in.set()

    async def until_all_answer(self, owners: Sequence[str]) -> None:
        """Call again and again those that have not answered: some are not connected yet.

        Only the wait for answers ends, never a call: aiomqtt waits inside it, and a wait that was about to end swallows
        the word to end (CPython 3.11), so that nobody would call again. Each time answers are waited for twice as long:
        called again before they could answer, a thousand clients would have ever more calls to answer.
        """
        silent, wait_s = list(owners), _CALL_AGAIN_S
        while silent:
            await self._call(silent, b"hello")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_in.wait(), wait_s)
            silent, wait_s = [owner for owner in silent if _TOPICS.say(owner) in self._missing], 2 * wait_s

    async def seconds(self, owners: Sequence[str], payload: bytes) -> float:
        began = time.perf_counter()
        await self._call(owners, payload)
        await self._all_in.wait()
        return time.perf_counter() - began

    async def _call(self, owners: Sequence[str], payload: bytes) -> None:
        self._missing = {_TOPICS.say(owner) for owner in owners}
        self._all_in.clear()
        for owner in owners:
            await self._client.publish(_TOPICS.ask(owner), payload)


def _client(identity: Identity, trust: Trust, port: int) -> Any:
    import aiomqtt

    return aiomqtt.Client(
        _HOST,
        port,
        identifier=identity.name,
        tls_context=identity.client_context(trust),
        protocol=aiomqtt.ProtocolVersion.V311,
        timeout=_CONNECT_S,
    )
