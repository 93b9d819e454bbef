"""Pages without NiceGUI: HTML with the bar that all pages have, and scripts of ours only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse

from fedgroup.service.pages.assets import address
from fedgroup.service.pages.policy import content_policy

PLACES = {"/": "Ask", "/federation": "Federation", "/learn": "Learn"}
LOOK = "fedgroup-look"
"""The cookie that keeps whether somebody wants pages light or dark; the system decides where it is not set."""
_LOOKS = {"dark": "body--dark", "light": "body--light"}
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="{root}/favicon.ico">
<link rel="stylesheet" href="{root}/_leaflet/leaflet/leaflet.css">
<link rel="stylesheet" href="{root}{assets}/style.css"><link rel="stylesheet" href="{root}{assets}/ask/ask.css">
{scripts}</head><body class="{look}">{bar}{body}</body></html>"""


def root_of(request: Request) -> str:
    """Return the path under which all pages are."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def look_of(request: Request) -> str | None:
    """Return light or dark if somebody chose one."""
    found = request.cookies.get(LOOK)
    return found if found in _LOOKS else None


def look_class(request: Request) -> str:
    """Return the class of a page's body that makes it light, dark, or what the system says."""
    return _LOOKS.get(look_of(request) or "", "fg-plain")


def plain_page(
    request: Request,
    name: str,
    body: str,
    *,
    here: str,
    who: str,
    scripts: Sequence[str] = (),
    images: str = "",
) -> HTMLResponse:
    """Return a page of a federation; `body` is HTML, `scripts` are modules among our assets."""
    root, assets = root_of(request), address()
    modules = "".join(
        f'<script type="module" src="{root}{assets}/{script}"></script>' for script in ("frame.js", *scripts)
    )
    text = _PAGE.format(
        title=escape(f"{name} - fedgroup"), root=root, assets=assets, scripts=modules, look=look_class(request),
        bar=bar(name, who, PLACES, here, root=root), body=body,
    )  # fmt: skip
    policy = content_policy((), images=images, plain=True)
    return HTMLResponse(text, headers={"Content-Security-Policy": policy, "Cache-Control": "no-store"})


def bar(title: str, who: str, places: Mapping[str, str], here: str, *, root: str) -> str:
    """Return the bar of a page: whose it is, links to the others, who is signed in."""
    links = "".join(_link(root, path, name, here=path == here) for path, name in places.items())
    return (
        '<a class="fg-skip" href="#main">To the page</a>'
        f'<header class="fg-bar"><strong>{escape(title)}</strong><span class="fg-gap" id="sentence"></span>'
        f'<span id="search"></span><nav aria-label="Pages">{links}</nav>'
        f'<span class="fg-who"><span class="fg-hidden">signed in as </span>{escape(who)}</span>'
        '<button type="button" class="fg-quiet" data-look>Dark or light</button>'
        f'<form method="post" action="{root}/logout"><button>Sign out</button></form></header>'
    )


def _link(root: str, path: str, name: str, *, here: bool) -> str:
    current = ' aria-current="page"' if here else ""
    return f'<a class="fg-link" href="{root}{path}"{current}>{escape(name)}</a>'
