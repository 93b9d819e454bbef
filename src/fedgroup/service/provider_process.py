"""A provider with its HTTP API in one process and one event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedgroup.identity import Identity
from fedgroup.live.config import HttpTable, ProviderConfig
from fedgroup.live.provider import LiveProvider
from fedgroup.live.running import running_provider
from fedgroup.live.stopping import stop_on_signals
from fedgroup.service.app import create_app
from fedgroup.service.callers import CallerLimits
from fedgroup.service.pages.mounting import MOUNT, PageSettings, add_pages, pages_are_installed
from fedgroup.service.pages.sessions import Sessions
from fedgroup.service.serving import served
from fedgroup.storage.provider_state import ProviderState


@dataclass(frozen=True)
class Serving:
    """A provider that serves: where, and what it is made of; `sessions` are those of its pages, if it has some."""

    url: str
    broker_port: int
    provider: LiveProvider
    state: ProviderState
    sessions: Sessions | None = None

    @property
    def page(self) -> str | None:
        """The address of the map."""
        return None if self.sessions is None else f"{self.url}{MOUNT}/"

    def page_for(self, token: str) -> str | None:
        """Return an address that signs the user of a token in, once and soon."""
        return None if self.sessions is None else f"{self.page}login?code={self.sessions.code_for(token)}"


async def serve(config: ProviderConfig, *, ready: Callable[[Serving], None], pages: PageSettings | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM, then stop in good order."""
    with stop_on_signals() as stop:
        async with serving(config, pages=pages) as up:
            ready(up)
            await stop.wait()


@asynccontextmanager
async def serving(config: ProviderConfig, *, pages: PageSettings | None = None) -> AsyncIterator[Serving]:
    """Run provider and HTTP API while the context lasts; port 0 takes any free one.

    With `pages`, its map too, if the extra [page] is installed; that can be done once in a process.
    """
    limits = _limits(config.http)
    async with running_provider(config) as running:
        app = create_app(running.provider, running.state, expiries=running.expiries, standing=config.standing)
        sessions = None
        if pages is not None and pages_are_installed():
            kept = Path(f"{config.state.file}.sessions")
            sessions = add_pages(app, replace(pages, https=config.http.tls, sessions=kept))
        place: dict[str, Any] = {"host": config.http.host, "port": config.http.port, "pages": sessions is not None}
        async with served(app, **place, **_files(config), limits=limits) as url:
            yield Serving(url, running.broker_port, running.provider, running.state, sessions)


def _limits(said: HttpTable) -> CallerLimits:
    return CallerLimits(
        head_s=said.head_seconds,
        idle_s=said.idle_seconds,
        most=said.connections,
        most_strangers=said.connections_without_token,
        most_of_an_address=said.connections_per_address,
        proxies=said.proxies,
    )


def _files(config: ProviderConfig) -> dict[str, Any]:
    if not config.http.tls:
        return {}
    identity = Identity.load(config.identity.folder)
    files: dict[str, Path] = {"certificate": identity.certificate_file, "key": identity.key_file}
    return files
