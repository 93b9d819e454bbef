"""An owner's own page, on its own machine: its ledger, who asked what, its cap, and whether it takes part."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from html import escape

from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.requests import Request
from starlette.responses import Response

from fedgroup.privacy.budget import Entry
from fedgroup.service.callers import vouch
from fedgroup.service.pages.frame import add_sheets, barred, gauge, plain_button, telling
from fedgroup.service.pages.login import Entrance, Words, add_login, to_login
from fedgroup.service.pages.mounting import MOUNT, PageSettings, mount
from fedgroup.service.pages.owner import OwnerControl
from fedgroup.service.pages.sessions import SESSION, PageSession, Sessions, random_name
from fedgroup.service.pages.visits import SignedOut
from fedgroup.service.serving import served

SHOWN = 100
REFRESH_S = 2.0
_TOLD_S = 2.0
_COLUMNS = ("when", "epoch", "purpose", "question", "epsilon")
_WORDS = Words(
    about="This owner's own account: its ledger, its cap, and whether it takes part.",
    where=(
        "It is this owner's, and no user's: <code>fedgroup owner --page</code> printed it where it was started, in its "
        "terminal or log, below a link that works once. Every start makes a new one."
    ),
    otherwise="start the owner again for a new one",
)
_STOPPING = (
    "It leaves the federation and its process ends, and this page with it. Its records, its ledger and its cap stay; "
    "starting it again brings it back. To be away for a while, pause it instead."
)
_STOPPED = (
    "This owner left the federation, and its process has ended. Its ledger stays. "
    "<code>fedgroup owner</code> brings it back."
)


@asynccontextmanager
async def owner_pages(control: OwnerControl, *, port: int = 0) -> AsyncIterator[tuple[str, str]]:
    """Serve an owner's page on this machine only; yield an address that signs in once, and a token for later."""
    sessions, token, app = Sessions(), random_name(), FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    knows = lambda shown: secrets.compare_digest(shown.encode(), token.encode())
    add_login(pages, Entrance(control.name, sessions, knows, _WORDS))
    _add_page(control, sessions)
    mount(app, f"{control.name} - fedgroup", PageSettings())
    async with served(app, port=port, pages=True) as url:
        yield f"{url}{MOUNT}/login?code={sessions.code_for(token)}", token


def _add_page(control: OwnerControl, sessions: Sessions) -> None:
    @ui.page("/")
    async def page(request: Request) -> Response | None:
        session = sessions.find(request.session.get(SESSION))
        if session is None:
            return to_login(request)
        vouch(request.scope)
        add_sheets(request)
        with barred(control.name, "owner", {"/": "Own account"}, "/"):
            shown = _OwnerPage(control, sessions, session)
            await shown.refresh()
            ui.timer(REFRESH_S, shown.refresh, immediate=False)
        return None


class _OwnerPage:
    """One open page."""

    def __init__(self, control: OwnerControl, sessions: Sessions, session: PageSession) -> None:
        self._control = control
        self._sessions = sessions
        self._session = session
        ui.html(f"Owner {escape(control.name)}", sanitize=False, tag="h1")
        with ui.element("div").classes("fg-grid-cards"):
            self._presence()
            self._account()
        with ui.element("section").classes("fg-card"):
            ui.html("Who asked what", sanitize=False, tag="h2")
            self._entries = ui.html("", sanitize=False).classes("fg-scroll")

    def _presence(self) -> None:
        with ui.element("section").classes("fg-card"):
            self._state = ui.html("", sanitize=False).props('role="status"')
            with ui.element("div").classes("fg-row"):
                self._pause = plain_button("Pause", self._turn)
                self._end = plain_button("Stop this owner", self._confirm)
            self._told = ui.label("").classes("fg-small").props('role="status"')
        self._dialog = ui.dialog().props('aria-labelledby="stopping"')
        with self._dialog, ui.element("div").classes("fg-card fg-dialog"):
            ui.html("Stop this owner?", sanitize=False, tag="h2").props('id="stopping"')
            ui.label(_STOPPING)
            with ui.element("div").classes("fg-row"):
                plain_button("Cancel", self._dialog.close).props("autofocus")
                plain_button("Stop", self._stop).classes("fg-grave")

    def _account(self) -> None:
        with ui.element("section").classes("fg-card"):
            self._budget = ui.html("", sanitize=False)
            self._windows = ui.label("").classes("fg-small")
            with ui.element("div").classes("fg-fields"):
                self._cap = ui.number("cap per epoch", value=float(self._control.cap), min=0.01, step=0.5)
                self._cap.props("outlined dense hide-bottom-space")
                self._set_cap = plain_button("Change the cap", self._change)
            ui.label("The most epsilon per epoch. No message can change it; it is kept in this owner's file.").classes(
                "fg-small"
            )

    async def refresh(self) -> None:
        """Show how things are now."""
        with telling(self._tell):
            self._require_open()
            spent, entries = await asyncio.to_thread(self._control.account)
            cap = self._control.cap
            left = max(0.0, float(cap) - float(spent))
            _set(self._budget, gauge(f"epsilon {left:g} of {cap} left in this epoch", left=left, whole=float(cap)))
            self._windows.text = await asyncio.to_thread(self._control.in_windows) or ""
            _set(self._entries, _table(entries))
            _set(self._state, _state(self._control))
            self._pause.text = "Pause" if self._control.runs else "Resume"
            for control in (self._pause, self._end, self._cap, self._set_cap):
                control.set_enabled(not self._control.stopped)

    async def _turn(self) -> None:
        with telling(self._tell):
            self._require_open()
            await (self._control.pause() if self._control.runs else self._control.resume())
        await self.refresh()

    def _confirm(self) -> None:
        with telling(self._tell):
            self._require_open()
            self._dialog.open()

    async def _stop(self) -> None:
        self._dialog.close()
        with telling(self._tell):
            self._require_open()
            await self._control.stop()
            await self.refresh()
            with suppress(TimeoutError):  # the browser shows it before there is nobody to tell it
                await ui.run_javascript("true", timeout=_TOLD_S)
            self._control.left.set()

    async def _change(self) -> None:
        with telling(self._tell):
            self._require_open()
            await asyncio.to_thread(self._control.set_cap, self._cap.value)
            self._tell("The cap is changed, here and in the owner's file.")
        await self.refresh()

    def _tell(self, text: str) -> None:
        self._told.text = text

    def _require_open(self) -> None:
        if not self._sessions.is_open(self._session):
            raise SignedOut


def _state(control: OwnerControl) -> str:
    if control.stopped:
        return f'<p class="fg-number fg-stopped">stopped</p><p>{_STOPPED}</p>'
    return f'<p class="fg-number">{"takes part" if control.runs else "paused"}</p>'


def _set(place: ui.html, content: str) -> None:
    if place.content != content:
        place.content = content


def _table(entries: Sequence[Entry]) -> str:
    if not entries:
        return "<p>Nobody, yet.</p>"
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    rows = "".join(f"<tr>{_cells(each)}</tr>" for each in entries[:SHOWN])
    more = f'<p class="fg-small">and {len(entries) - SHOWN} earlier ones</p>' if len(entries) > SHOWN else ""
    return f'<table class="fg-table fg-stacked"><tr>{head}</tr>{rows}</table>{more}'


def _cells(entry: Entry) -> str:
    told = (entry.at, entry.epoch, entry.purpose, entry.question, entry.epsilon)
    pairs = zip(_COLUMNS, told, strict=True)
    return "".join(f'<td data-name="{name}">{_told(name, str(value))}</td>' for name, value in pairs)


def _told(name: str, value: str) -> str:
    """Return a value as HTML; the browser tells times in its own zone."""
    return f'<time datetime="{escape(value)}">{escape(value)}</time>' if name == "when" else escape(value)
