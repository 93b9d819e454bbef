"""An application on a port, inside a running event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from fedgroup.errors import InvalidInput, ServiceUnavailable
from fedgroup.live.running import files_allowed
from fedgroup.service.callers import CallerLimits, HttpCallers

try:
    import uvicorn
except ImportError:
    raise InvalidInput("serving users over HTTP needs the extra [serve]: pip install 'fedgroup[serve]'") from None

from fedgroup.service.accepting import Accepting

log = logging.getLogger("fedgroup.service")

MOST_MESSAGE_BYTES = 1 << 18
BACKLOG = 1_024
"""How many connections the system keeps waiting."""
SHUTDOWN_SECONDS = 30
"""How long requests under way may take on leaving."""


class _Server(uvicorn.Server):
    """A server that leaves signals to the process it is part of."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(
    app: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    certificate: Path | None = None,
    key: Path | None = None,
    pages: bool = False,
    limits: CallerLimits | None = None,
) -> AsyncIterator[str]:
    """Serve while the context lasts, and yield the URL; port 0 takes a free one, a certificate makes it HTTPS.

    `pages` need sockets that stay open; the API alone serves none.
    """
    wished = limits or CallerLimits()
    allowed = wished.within(files_allowed())
    if allowed != wished:
        log.warning("fewer connections than the file says: this process may open too few files")
    server = _Server(_config(app, certificate, key, pages=pages, idle_s=allowed.idle_s))
    with _bound(host, port) as bound:
        task = asyncio.create_task(server.serve(sockets=[]))
        try:
            while not server.started and not task.done():
                await asyncio.sleep(0.01)
            scheme = "http" if certificate is None else "https"
            async with _accepting(server, bound, allowed):
                yield f"{scheme}://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


@asynccontextmanager
async def _accepting(server: uvicorn.Server, bound: socket.socket, limits: CallerLimits) -> AsyncIterator[None]:
    """Let callers in while the context lasts, and nobody afterwards."""
    if not server.started:
        yield
        return
    loop = asyncio.get_running_loop()
    accepting = Accepting(server, HttpCallers(limits, clock=loop.time), head_s=limits.head_s)
    bound.listen(BACKLOG)
    bound.setblocking(False)
    task = asyncio.create_task(accepting.run(lambda: loop.sock_accept(bound)))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        bound.close()


def _config(app: Any, certificate: Path | None, key: Path | None, *, pages: bool, idle_s: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="websockets-sansio" if pages else "none",
        ws_max_size=MOST_MESSAGE_BYTES,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_keep_alive=idle_s,  # type: ignore[arg-type]  # a timer takes parts of a second
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except OSError as error:
            text = f"nothing can be served at {host}:{port} ({error.strerror}); take another port, or try later"
            raise ServiceUnavailable(text) from None
        yield bound
