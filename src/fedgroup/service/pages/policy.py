"""What a browser may load for our pages, told it in a header: what we serve, and nothing from elsewhere.

Scripts inside a page are named by their hashes, so that no other one runs. NiceGUI needs two exceptions: `unsafe-eval`,
for Vue makes functions of its components' templates, and `unsafe-inline` for styles, for Quasar places what it draws by
style attributes. Pages without NiceGUI have neither.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from anyio import CancelScope
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SCRIPT = re.compile(rb"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.S)
_GONE = 499
"""The status of responses that nobody is there to read."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def content_policy(scripts: Iterable[str], *, images: str = "", plain: bool = False) -> str:
    """Return the policy of a page with inline scripts of these hashes, and images from one more place, if any.

    A `plain` page is ours alone, and needs none of the exceptions.
    """
    needed, inline = ([], "") if plain else (["'unsafe-eval'"], " 'unsafe-inline'")
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", *needed, *(f"'sha256-{one}'" for one in scripts)]),
        "style-src": f"'self'{inline}",
        "img-src": f"'self' data: {images}".strip(),
        "font-src": "'self'",
        "connect-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {sources}" for name, sources in rules.items())


def hashes_of_scripts(page: bytes) -> list[str]:
    """Return the hashes of a page's inline scripts, as a policy names them."""
    inline = [found["text"] for found in _SCRIPT.finditer(page) if b"src=" not in found["attributes"]]
    return [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in dict.fromkeys(inline)]


def place_of(tiles: str | None) -> str:
    """Return the server in an address of tiles, as a policy names it."""
    if tiles is None:
        return ""
    parts = urlsplit(tiles)
    return f"{parts.scheme}://{parts.netloc.replace('{s}', '*')}"


class PolicyHeaders:
    """An ASGI application that adds the policy to the pages of another one, which sends each in one piece.

    Responses to clients that went away are ended here, too: an application may return without one then, and NiceGUI's
    middlewares, which stand around this one, take that for a failure.
    """

    def __init__(self, app: ASGIApp, *, images: str = "") -> None:
        self._app = app
        self._images = images

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        held: list[Message] = []
        gone = begun = False

        async def receive_or_notice() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        async def send_with_policy(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                held.append(message)
                return
            if held:
                begun = True
                with CancelScope(shield=True):  # what is begun here has begun outside, too
                    await send(self._with_headers(held.pop(), message.get("body", b"")))
            await send(message)

        await self._app(scope, receive_or_notice, send_with_policy)
        if gone and not begun:
            await send({"type": "http.response.start", "status": _GONE, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    def _with_headers(self, start: Message, body: bytes) -> Message:
        headers = MutableHeaders(raw=list(start["headers"]))
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        if headers.get("content-type", "").startswith("text/html"):
            headers.setdefault("Content-Security-Policy", content_policy(hashes_of_scripts(body), images=self._images))
            headers["Cache-Control"] = "no-store"
        return {**start, "headers": headers.raw}
