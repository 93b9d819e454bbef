"""No request is larger or slower than it needs to be: bodies are read whole before anything looks at them."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fedgroup.service.handlers import problem_response
from fedgroup.service.problems import Problem

MOST_BYTES = 1 << 16
MOST_MAP_BYTES = 1 << 20
"""Where districts may be sent."""
MAPS = "/v1/maps"
MOST_SECONDS = 15.0


class LimitedBodies:
    """An ASGI application that refuses bodies in the name of another one, or hands it the whole body at once."""

    def __init__(self, app: ASGIApp, *, most_bytes: int = MOST_BYTES, most_seconds: float = MOST_SECONDS) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._most_seconds = most_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._most_seconds):
                most = MOST_MAP_BYTES if scope.get("path") == MAPS else self._most_bytes
                first = await self._whole(receive, most=most)
        except TimeoutError:
            await problem_response(Problem("too-slow", "send the whole request at once"))(scope, receive, send)
        except Problem as problem:
            await problem_response(problem)(scope, receive, send)
        else:
            if first["type"] == "http.request":  # else the client went away before its request was whole
                await self._app(scope, _again(first, receive), send)

    async def _whole(self, receive: Receive, *, most: int) -> Message:
        """Return the body as one message, or the message that the client is gone."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            body += message.get("body", b"")
            if len(body) > most:
                raise Problem("too-large", f"a request has at most {most} bytes")
            if not message.get("more_body", False):
                return {"type": "http.request", "body": bytes(body), "more_body": False}


def _again(first: Message, receive: Receive) -> Receive:
    """Return a `receive` that gives what was read already, and then what comes."""
    waiting = [first]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message
