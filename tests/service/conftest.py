"""A federation in memory behind its HTTP API: called in the same event loop, or served on a loopback port."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from service_city import PATIENCE_S, City, open_city

from fedgroup.epsilon import Epsilon
from fedgroup.service.app import create_app
from fedgroup.service.serving import served

QUESTION = {"kind": "count", "circle": {"x": 5, "y": 5, "radius": 3.2}, "epsilon": 1, "method": "dp"}


@dataclass
class Here:
    """A federation with two users and an operator, and its application."""

    city: City
    app: FastAPI
    tokens: dict[str, str]

    def client(self, user: str | None = "ann", **options: Any) -> httpx.AsyncClient:
        headers = {} if user is None else {"Authorization": f"Bearer {self.tokens[user]}"}
        transport = httpx.ASGITransport(self.app, **options)
        return httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers)

    def spent(self, user: str = "ann") -> Epsilon:
        return self.city.state.user(user).spent

    def owners_spent(self) -> set[Epsilon]:
        return {owner.ledger.spent() for owner in self.city.owners.values()}

    @property
    def work(self) -> Any:
        return self.app.state.service.questions._work


@pytest.fixture
def service(tmp_path: Path) -> Callable[..., Any]:
    @asynccontextmanager
    async def opened(
        owners: int = 4,
        *,
        allowance: float = 100,
        per_minute: int = 1000,
        rates: Any = None,
        expiries: Any = None,
        **options: Any,
    ) -> AsyncIterator[Here]:
        async with open_city(tmp_path, owners, **options) as found:
            given = Epsilon.of(allowance)
            tokens = {
                name: found.state.add_user(name, allowance=given, per_minute=per_minute) for name in ("ann", "bob")
            }
            tokens["op"] = found.state.add_user("op", allowance=given, per_minute=per_minute, role="operator")
            yield Here(found, create_app(found.provider, found.state, rates=rates, expiries=expiries), tokens)

    return opened


@dataclass
class Running:
    """A service on a loopback port, with its event loop in another thread."""

    url: str
    here: Here


@pytest.fixture
def running(service: Callable[..., Any]) -> Callable[..., Any]:
    @contextmanager
    def opened(**options: Any) -> Iterator[Running]:
        started, found, faults = threading.Event(), [], []
        loop, stop = asyncio.new_event_loop(), asyncio.Event()

        async def story() -> None:
            async with service(**options) as here, served(here.app) as url:
                found.append(Running(url, here))
                started.set()
                await stop.wait()

        def run() -> None:
            try:
                loop.run_until_complete(story())
            except BaseException as fault:
                faults.append(fault)
            finally:
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()
                started.set()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            started.wait(PATIENCE_S)
            if not found:
                raise faults[0]
            yield found[0]
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(stop.set)
            thread.join(PATIENCE_S)
        assert not faults

    return opened


@pytest.fixture
def question() -> dict[str, Any]:
    return dict(QUESTION)
