"""Pages beside an application's API, under one path. NiceGUI has one place for pages: one application a process."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from starlette.responses import RedirectResponse

from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.questions.said import said_places
from fedgroup.service.pages import assets
from fedgroup.service.pages.examples import ExampleCity, ExampleRuns
from fedgroup.service.pages.layers import PageLayer, read_layers
from fedgroup.service.pages.sessions import HOURS, Sessions, random_name
from fedgroup.space.places import Districts
from fedgroup.space.shapes import as_districts
from fedgroup.storage.page_sessions import SessionStore

if TYPE_CHECKING:
    from fedgroup.live.config import ProviderConfig
    from fedgroup.service.pages.visits import Door

MOUNT = "/map"
COOKIE = "fedgroup"
MOST_OUTLINE_BYTES = 5_000_000
_TILES = r"https?://[A-Za-z0-9.{}-]+(:[0-9]+)?/[^\s;,'\"]*\{z\}[^\s;,'\"]*"


@dataclass(frozen=True)
class PageSettings:
    """What an operator decides about the pages: what the map shows below areas, how long sessions last.

    `examples` is an invented city for visitors to run methods on; `layers` tells which maps are shown besides those
    that live owners published. `districts` are areas to choose by their names.
    `sessions` is the file that who is signed in is kept in over a restart; without one, sessions end with the process.
    """

    outlines: Mapping[str, Any] | None = None
    tiles: str | None = None
    credit: str = ""
    hours: float = HOURS
    https: bool = False
    examples: ExampleCity | None = None
    layers: Callable[[], Sequence[PageLayer]] = tuple
    sessions: Path | None = None
    districts: Districts | None = None


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
    layers = _published(config)
    districts = _districts(config)
    return PageSettings(drawn, tiles, config.page.credit, examples=examples, layers=lambda: layers, districts=districts)


def _districts(config: ProviderConfig) -> Districts | None:
    if config.page.districts is None:
        return None
    try:
        return as_districts(read_outlines(Path(config.page.districts)), config.federation.public_map)
    except InvalidQuery as error:
        raise InvalidInput(f"{config.page.districts} has no districts for the page: {error}") from None


def _published(config: ProviderConfig) -> tuple[PageLayer, ...]:
    """Return the maps that a provider's file publishes; each must be of the federation's own domain."""
    domain = config.federation.public_map.domain
    layers = read_layers(config.page.maps)
    for layer in layers:
        west, south, east, north = layer.extent
        if west < domain.west or south < domain.south or east > domain.east or north > domain.north:
            raise InvalidInput("a map that is named under [page] is of another domain than the federation's")
    return layers


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
    from fedgroup.service.pages.published_layers import Layers
    from fedgroup.service.pages.visits import Base, Door

    store = None if settings.sessions is None else SessionStore(settings.sessions, secret=random_name())
    sessions = Sessions(hours=settings.hours, store=store)
    examples = None if settings.examples is None else ExampleRuns(settings.examples)
    base = Base(settings.outlines, settings.tiles, settings.credit, _said(settings.districts))
    door = Door(app.state.service, sessions, Layers(app.state.service, settings.layers), base, examples)
    _add_federation_pages(door)
    secret = None if store is None else store.secret
    mount(app, f"{door.service.provider.settings.federation} - fedgroup", settings, secret=secret)
    return sessions


def _said(districts: Districts | None) -> Mapping[str, Any] | None:
    """Return districts as a page is given them: spelled as in a question, so that an answer is known by its area."""
    if districts is None:
        return None
    found: Mapping[str, Any] = said_places(districts)["districts"]
    return found


def mount(app: FastAPI, title: str, settings: PageSettings, *, secret: str | None = None) -> None:
    """Mount NiceGUI with whatever pages it has; without a `secret`, that of its cookies ends with the process."""
    from nicegui import app as pages
    from nicegui import core, ui
    from nicegui.elements import leaflet

    from fedgroup.service.pages.policy import PolicyHeaders, place_of

    core.sio.eio.cors_allowed_origins = None  # the same origin only
    pages.add_static_files(assets.address(), assets.FOLDER)
    pages.add_static_files("/_leaflet", Path(leaflet.__file__).parent / "dist")
    pages.add_middleware(PolicyHeaders, images=place_of(settings.tiles))
    cookie = {
        "session_cookie": COOKIE, "max_age": round(settings.hours * 3600), "same_site": "strict", "path": MOUNT,
        "https_only": settings.https,
    }  # fmt: skip
    ui.run_with(
        app, mount_path=MOUNT, title=title, dark=None, language="en-US", binding_refresh_interval=None, tailwind=False,
        storage_secret=secret or random_name(), session_middleware_kwargs=cookie, show_welcome_message=False,
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

    from fedgroup.service.pages.ask import add_ask_page
    from fedgroup.service.pages.asking import add_asking
    from fedgroup.service.pages.exports import add_exports
    from fedgroup.service.pages.federation import federation_page
    from fedgroup.service.pages.frame import for_visitors
    from fedgroup.service.pages.learn import add_guarantees, learn_page
    from fedgroup.service.pages.login import Entrance, add_login
    from fedgroup.service.pages.policy import place_of

    state, name = door.service.state, door.service.provider.settings.federation
    add_login(pages, Entrance(name, door.sessions, lambda token: state.user_of(token) is not None))
    add_asking(pages, door)
    add_ask_page(pages, door, images=place_of(door.base.tiles))
    add_exports(pages, door)
    add_guarantees(pages, name)
    for path, build in {"/federation": federation_page, "/learn": learn_page}.items():
        ui.page(path)(for_visitors(door, build))
