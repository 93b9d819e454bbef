"""Users who ask one question after the other over HTTP, whatever dies meanwhile, and note all that they are told."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
from chaos_books import PLAN, Asked
from live_world import PATIENCE_S, PLACE, PRECISE

from fedgroup.epsilon import Epsilon
from fedgroup.service.calls import said_range

METHODS = ("dp", "cohorts", "fedgroup")
_PAUSE_S = 0.1
_AGAIN = 0.2
"""How often a user asks what was answered before once more."""
_SAME_KEY = 0.2
"""How often it sends the same request once more, with the same key."""


class NoReply(Exception):  # noqa: N818  what a user finds, not an error of ours
    """Nobody replied for so long that nobody will."""


@dataclass
class Noted:
    """All that users asked and were told; `on_answer` looks at each answer as it comes."""

    on_answer: Callable[[Asked], None] = lambda _: None
    asked: list[Asked] = field(default_factory=list)
    begun: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    _numbers: Any = field(default_factory=itertools.count)

    def new_nano(self, base: Epsilon = PRECISE) -> int:
        """Return an epsilon that no other question has."""
        return base.nano + next(self._numbers)

    def begin(self) -> None:
        self.begun += 1
        self.changed.set()
        self.changed = asyncio.Event()

    async def until_begun(self, count: int) -> None:
        """Wait until so many questions were begun."""
        while self.begun < count:
            await self.changed.wait()


class Asker:
    """A user, or the operator, with a token; what it does follows from its seed."""

    def __init__(
        self,
        name: str,
        token: str,
        *,
        port: int,
        noted: Noted,
        seed: str,
        methods: Sequence[str] = METHODS,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = name
        self._methods, self._patience_s = methods, patience_s
        self._noted = noted
        self._random = random.Random(seed)
        self._http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=patience_s
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask_on(self, done: Callable[[int], bool], *, pause_s: float) -> None:
        """Ask until it is done, after a number of questions."""
        number = 0
        while not done(number):
            await self._one_more()
            number += 1
            await asyncio.sleep(self._random.uniform(0, pause_s))

    async def _one_more(self) -> None:
        method, again = self._random.choice(self._methods), self._random.random() < _AGAIN
        known = [each for each in self._noted.asked[-30:] if each.answered and each.method == method]
        nano = self._random.choice(known).nano if again and known else self._noted.new_nano()
        await self.ask(method, nano, fresh=not again, twice=self._random.random() < _SAME_KEY)

    async def ask(self, method: str, nano: int, *, fresh: bool = True, twice: bool = False) -> Asked:
        """Ask a question and note what came of it."""
        body = {"kind": "count", "epsilon": float(Epsilon(nano)), **said_range(PLACE), "method": method}
        return await self._noting("/v1/queries", body | ({"fresh": True} if fresh else {}), method, nano, twice=twice)

    async def group(self, nano: int) -> Asked:
        """Have the owners grouped anew, as an operator."""
        body = {"epsilon": float(Epsilon(nano)), "columns": 4, "rows": 4}
        return await self._noting("/v1/plans", body, PLAN, nano)

    async def here(self) -> set[str]:
        """Return who is here, as the operator sees it; nobody while the provider is away."""
        try:
            reply = await self._http.get("/v1/owners")
        except httpx.TransportError:
            return set()
        return set(reply.json()["names"]) if reply.status_code == 200 else set()

    async def _noting(
        self, path: str, body: Mapping[str, Any], method: str, nano: int, *, twice: bool = False
    ) -> Asked:
        key, began = self._random.randbytes(12).hex(), time.monotonic()
        self._noted.begin()
        replies = [await self._sent("POST", path, key, body) for _ in range(1 + twice)]
        ended, last = time.monotonic(), replies[-1]
        told = await self._cost_of(key)
        bodies = tuple(each.json() for each in replies)
        asked = Asked(self.name, key, method, nano, began, ended, last.status_code, bodies[-1], told, bodies)
        if asked.answered and method != PLAN:
            self._noted.on_answer(asked)
        self._noted.asked.append(asked)
        return asked

    async def _cost_of(self, key: str) -> int:
        """Return what the service says that the request with a key was charged."""
        reply = await self._sent("GET", f"/v1/keys/{key}", key)
        epsilon = 0 if reply.status_code == 404 else reply.json()["epsilon"]
        return Epsilon.of(epsilon).nano if epsilon else 0

    async def _sent(self, method: str, path: str, key: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        """Send a request, as often as it takes until there is a reply."""
        end = time.monotonic() + self._patience_s
        while True:
            try:
                return await self._http.request(method, path, json=body, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                if time.monotonic() > end:
                    told = f"{self.name} got no reply to {method} {path} in {self._patience_s:.0f} s"
                    raise NoReply(told) from None
                await asyncio.sleep(_PAUSE_S)
