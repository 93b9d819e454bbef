"""What all pages share: the bar with links and the account, colours, and what happens when a session ended."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Any

from nicegui import ui
from starlette.requests import Request
from starlette.responses import Response

from fedgroup.service.pages.assets import address
from fedgroup.service.pages.login import to_login
from fedgroup.service.pages.plain import LOOK, PLACES, look_of, root_of
from fedgroup.service.pages.visits import Door, SignedOut, Visit
from fedgroup.service.pages.words import in_words
from fedgroup.service.problems import Problem, problem_of
from fedgroup.storage.provider_state import User

log = logging.getLogger("fedgroup.service")


def for_visitors(door: Door, build: Callable[[Visit, User], Awaitable[None]]) -> Callable[[Request], Any]:
    """Return a page that is built for whoever is signed in; others are sent to sign in."""

    async def page(request: Request) -> Response | None:
        visit = await door.visit(request)
        user = None if visit is None else await visit.known()
        if visit is None or user is None:
            return to_login(request)
        add_sheets(request)
        await build(visit, user)
        return None

    return page


def add_sheets(request: Request) -> None:
    """Give a page its colours and shapes."""
    ours = f"{root_of(request)}{address()}"
    ui.add_head_html(
        f'<link rel="stylesheet" href="{ours}/style.css"><script type="module" src="{ours}/frame.js"></script>'
    )


@contextmanager
def framed(visit: Visit, user: User, here: str) -> Iterator[None]:
    """Put the bar of the federation's pages on a page, and what follows below it."""
    with barred(visit.service.provider.settings.federation, user.name, PLACES, here):
        yield


@contextmanager
def barred(title: str, who: str, places: Mapping[str, str], here: str) -> Iterator[None]:
    """Put a bar on a page: whose it is, links to the others, who is signed in."""
    ui.html('<a class="fg-skip" href="#main">To the page</a>', sanitize=False)
    look = look_of(ui.context.client.request)
    dark = ui.dark_mode(None if look is None else look == "dark")
    with ui.element("header").classes("fg-bar"):
        ui.html(f"<strong>{escape(title)}</strong>", sanitize=False)
        ui.element("span").classes("fg-gap")
        with ui.element("nav").props('aria-label="Pages"'):
            for path, name in places.items():
                link = ui.link(name, path).classes("fg-link")
                if path == here:
                    link.props('aria-current="page"')
        ui.html(f'<span class="fg-hidden">signed in as </span>{escape(who)}', sanitize=False).classes("fg-who")
        plain_button("Dark or light", lambda: _turn(dark))
        ui.html('<form method="post" action="logout"><button>Sign out</button></form>', sanitize=False)
    with ui.element("div").props('id="main"').classes("fg-main"):
        yield


async def _turn(dark: ui.dark_mode) -> None:
    """Turn to dark, or back to light, and keep that in the browser for all pages."""
    is_dark = dark.value
    if is_dark is None:
        is_dark = await ui.run_javascript('matchMedia("(prefers-color-scheme: dark)").matches')
    dark.value = not is_dark
    look = "light" if is_dark else "dark"
    path = str(ui.context.client.request.scope.get("root_path", "")) or "/"
    ui.run_javascript(f'document.cookie = "{LOOK}={look}; path={path}; max-age=31536000; samesite=strict"')


def plain_button(text: str, on_click: Callable[[], Any]) -> ui.button:
    """Put a button that does not shout on a page."""
    return ui.button(text, on_click=on_click, color=None).classes("fg-plain-button").props("no-caps flat")


@contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell what went wrong in words, and send whoever is signed out to sign in."""
    try:
        yield
    except SignedOut:
        ui.navigate.to("/login")
    except Exception as error:
        problem = problem_of(error)
        if problem.kind == "internal" and not isinstance(error, Problem):
            log.exception("a page failed")
        tell(in_words(problem))


def gauge(text: str, *, left: float, whole: float) -> str:
    """Return how much of something is left, as a bar and in words."""
    bar = f'<meter min="0" max="{whole or 1:g}" low="{whole / 5:g}" value="{left:g}">{escape(text)}</meter>'
    return f'<label class="fg-gauge"><span>{escape(text)}</span>{bar}</label>'
