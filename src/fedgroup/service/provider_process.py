"""A provider with its HTTP API in one process and one event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedgroup.identity import Identity
from fedgroup.live.config import ProviderConfig
from fedgroup.live.provider import LiveProvider
from fedgroup.live.running import running_provider
from fedgroup.live.stopping import stop_on_signals
from fedgroup.service.app import create_app
from fedgroup.service.serving import served
from fedgroup.storage.provider_state import ProviderState


@dataclass(frozen=True)
class Serving:
    """A provider that serves: where, and what it is made of."""

    url: str
    broker_port: int
    provider: LiveProvider
    state: ProviderState


async def serve(config: ProviderConfig, *, ready: Callable[[Serving], None]) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop in good order."""
    with stop_on_signals() as stop:
        async with serving(config) as up:
            ready(up)
            await stop.wait()


@asynccontextmanager
async def serving(config: ProviderConfig) -> AsyncIterator[Serving]:
    """Run provider and HTTP API while the context lasts; port 0 takes any free one."""
    async with running_provider(config) as running:
        app = create_app(running.provider, running.state)
        async with served(app, host=config.http.host, port=config.http.port, **_files(config)) as url:
            yield Serving(url, running.broker_port, running.provider, running.state)


def _files(config: ProviderConfig) -> dict[str, Any]:
    if not config.http.tls:
        return {}
    identity = Identity.load(config.identity.folder)
    files: dict[str, Path] = {"certificate": identity.certificate_file, "key": identity.key_file}
    return files
