"""Pages beside an application's API, under one path. NiceGUI has one place for pages: one application a process."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import RedirectResponse

from fedgroup.errors import InvalidInput
from fedgroup.service.pages.examples import ExampleCity, ExampleRuns
from fedgroup.service.pages.sessions import HOURS, Sessions, random_name

if TYPE_CHECKING:
    from fedgroup.live.config import ProviderConfig
    from fedgroup.service.pages.visits import Door

MOUNT = "/map"
COOKIE = "fedgroup"
MOST_OUTLINE_BYTES = 5_000_000
_TILES = r"https?://[A-Za-z0-9.{}-]+(:[0-9]+)?/[^\s;,'\"]*\{z\}[^\s;,'\"]*"
_ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True)
class PageSettings:
    """What an operator decides about the pages: what the map shows below areas, how long sessions last.

    `examples` is an invented city for visitors to run methods on.
    """

    outlines: Mapping[str, Any] | None = None
    tiles: str | None = None
    credit: str = ""
    hours: float = HOURS
    https: bool = False
    examples: ExampleCity | None = None


def page_settings(
    config: ProviderConfig,
    *,
    outlines: Path | None = None,
    tiles: str | None = None,
    examples: ExampleCity | None = None,
) -> PageSettings:
    """Return settings as a provider's file says them, unless they are said here, or what is wrong with them."""
    said, tiles = outlines or config.page.outlines, tiles or config.page.tiles
    if tiles is not None and not re.fullmatch(_TILES, tiles):
        raise InvalidInput(f"tiles are served at an address such as https://host/{{z}}/{{x}}/{{y}}.png, got {tiles!r}")
    if tiles is not None and not config.federation.lonlat:
        raise InvalidInput("tiles are for federations in degrees (lonlat = true); draw outlines on this one")
    drawn = None if said is None else read_outlines(Path(said))
    return PageSettings(drawn, tiles, config.page.credit, examples=examples)


def read_outlines(path: Path) -> dict[str, Any]:
    """Return the outlines that an operator supplies as GeoJSON, in the map's own coordinates."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text)
    except (OSError, ValueError):
        raise InvalidInput(f"{path} cannot be read as GeoJSON") from None
    if len(text) > MOST_OUTLINE_BYTES or not isinstance(found, dict) or not isinstance(found.get("type"), str):
        raise InvalidInput(f"{path} is not a GeoJSON object of at most {MOST_OUTLINE_BYTES:,} bytes")
    return found


def pages_are_installed() -> bool:
    """Tell whether the extra [page] is here."""
    return find_spec("nicegui") is not None


def require_pages() -> None:
    """Say what is missing if the extra [page] is not here."""
    if not pages_are_installed():
        raise InvalidInput("pages for browsers need the extra [page]: pip install 'fedgroup[page]'")


def add_pages(app: FastAPI, settings: PageSettings) -> Sessions:
    """Serve the pages of an application's federation under `MOUNT`, and return who is signed in."""
    require_pages()
    from fedgroup.service.pages.visits import Base, Door

    sessions = Sessions(hours=settings.hours)
    examples = None if settings.examples is None else ExampleRuns(settings.examples)
    base = Base(settings.outlines, settings.tiles, settings.credit)
    door = Door(app.state.service, sessions, base, examples)
    _add_federation_pages(door)
    mount(app, f"{door.service.provider.settings.federation} - fedgroup", settings)
    return sessions


def mount(app: FastAPI, title: str, settings: PageSettings) -> None:
    """Mount NiceGUI with whatever pages it has; its cookies are signed with a secret that ends with the process."""
    from nicegui import app as pages
    from nicegui import core, ui

    from fedgroup.service.pages.map import LEAFLET
    from fedgroup.service.pages.policy import PolicyHeaders, place_of

    core.sio.eio.cors_allowed_origins = None  # the same origin only
    pages.add_static_files("/_page", _ASSETS)
    pages.add_static_files("/_leaflet", LEAFLET)
    pages.add_middleware(PolicyHeaders, images=place_of(settings.tiles))
    cookie = {
        "session_cookie": COOKIE, "max_age": round(settings.hours * 3600), "same_site": "strict", "path": MOUNT,
        "https_only": settings.https,
    }  # fmt: skip
    ui.run_with(
        app, mount_path=MOUNT, title=title, dark=None, language="en-US", binding_refresh_interval=None, tailwind=False,
        storage_secret=random_name(), session_middleware_kwargs=cookie, show_welcome_message=False,
    )  # fmt: skip
    app.get("/", include_in_schema=False)(_to_pages)
    app.get("/favicon.ico", include_in_schema=False)(_to_icon)


async def _to_pages() -> RedirectResponse:
    return RedirectResponse(f"{MOUNT}/")


async def _to_icon() -> RedirectResponse:
    return RedirectResponse(f"{MOUNT}/favicon.ico")


def _add_federation_pages(door: Door) -> None:
    from nicegui import app as pages
    from nicegui import ui

    from fedgroup.service.pages.ask import ask_page
    from fedgroup.service.pages.federation import federation_page
    from fedgroup.service.pages.frame import for_visitors
    from fedgroup.service.pages.history import add_export
    from fedgroup.service.pages.learn import add_guarantees, learn_page
    from fedgroup.service.pages.login import Entrance, add_login

    state, name = door.service.state, door.service.provider.settings.federation
    add_login(pages, Entrance(name, door.sessions, lambda token: state.user_of(token) is not None))
    add_export(pages, door)
    add_guarantees(pages)
    for path, build in {"/": ask_page, "/federation": federation_page, "/learn": learn_page}.items():
        ui.page(path)(for_visitors(door, build))
