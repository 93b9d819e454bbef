"""Signing in with a token, and out again: a plain page without scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fedgroup.service.pages.assets import address
from fedgroup.service.pages.plain import look_class, root_of
from fedgroup.service.pages.sessions import SESSION, Sessions

_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in - {name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="{root}/favicon.ico">
<link rel="stylesheet" href="{root}{assets}/style.css"><body class="{look}"><main class="fg-login">
<h1>{name}</h1><p>{about}</p>
<form method="post" action="{root}/login" class="fg-card"><label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus
 aria-describedby="hint">{fault}
<p id="hint" class="fg-small">{where}</p>
<button type="submit">Sign in</button></form></main></body></html>"""
_WRONG = "This token is unknown here. Check that all of it was copied"
_STALE = "This link was used already, or is too old. Sign in with your token."


@dataclass(frozen=True)
class Words:
    """What a page to sign in on says: what is behind it, where a token is found (HTML), and where a new one."""

    about: str = "Private answers about places, from many owners who keep their records."
    where: str = (
        "It was shown when you were added as a user (<code>fedgroup users add</code>); "
        "<code>fedgroup up</code> keeps one in <code>.fedgroup/up.json</code>."
    )
    otherwise: str = "ask whoever runs the federation for a new one"


@dataclass(frozen=True)
class Entrance:
    """Where to sign in: whose pages these are, who is in, which tokens are known, and what is said there."""

    name: str
    sessions: Sessions
    knows: Callable[[str], bool]
    words: Words = Words()


def add_login(app: FastAPI, door: Entrance) -> None:
    """Add the paths to sign in and out by to the pages' application."""

    @app.get("/login", include_in_schema=False)
    async def login(request: Request, code: str | None = None) -> Response:
        token = None if code is None else door.sessions.token_of(code)
        if token is not None:
            return _signed_in(request, door, token)
        return _page(request, door, "" if code is None else _STALE)

    @app.post("/login", include_in_schema=False)
    async def sign_in(request: Request) -> Response:
        sent = parse_qs((await request.body()).decode("utf-8", "replace"))
        token = "".join(sent.get("token", [])).strip()
        if not token or not await asyncio.to_thread(door.knows, token):
            return _page(request, door, f"{_WRONG}, or {door.words.otherwise}.", status=401)
        return _signed_in(request, door, token)

    @app.post("/logout", include_in_schema=False)
    async def sign_out(request: Request) -> Response:
        door.sessions.end(request.session.pop(SESSION, None))
        return to_login(request)


def to_login(request: Request) -> RedirectResponse:
    """Send somebody to the page to sign in on."""
    return RedirectResponse(f"{root_of(request)}/login", status_code=303)


def _signed_in(request: Request, door: Entrance, token: str) -> Response:
    door.sessions.end(request.session.get(SESSION))
    request.session[SESSION] = door.sessions.begin(token)
    return RedirectResponse(f"{root_of(request)}/", status_code=303)


def _page(request: Request, door: Entrance, fault: str, *, status: int = 200) -> HTMLResponse:
    told = f'<p id="fault" class="fg-fault" role="alert">{escape(fault)}</p>' if fault else ""
    words = door.words
    text = _PAGE.format(
        name=escape(door.name), root=escape(root_of(request)), fault=told, about=escape(words.about), where=words.where,
        assets=address(), look=look_class(request),
    )  # fmt: skip
    return HTMLResponse(text, status, {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"})
