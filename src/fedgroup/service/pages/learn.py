"""The page to learn on: whom each method trusts and what that costs, methods to run, and the guarantees."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import HTMLResponse

from fedgroup.questions.methods import METHODS, PRIVATE
from fedgroup.service.pages.ask import EPSILON
from fedgroup.service.pages.choosing import expectation_told, expectations, smallest
from fedgroup.service.pages.drawings import bars
from fedgroup.service.pages.example_cards import example_cards
from fedgroup.service.pages.frame import framed
from fedgroup.service.pages.map import first_area
from fedgroup.service.pages.plain import plain_page
from fedgroup.service.pages.visits import Visit, read_question
from fedgroup.service.pages.words import sentence
from fedgroup.storage.provider_state import User

TRUST = (
    ("dp", "DP", 83.9, False),
    ("fedgroup, trusted groups", "FG likely", 41.9, True),
    ("fedgroup, masked groups", "FG masked", 45.2, False),
    ("fedgroup, mixed plan", "FG mixed", 11.1, True),
    ("cohorts of 50", "cohorts", 11.6, False),
    ("mpc", "MPC", 3.3, False),
)
"""Mean errors on real check-ins, 500 owners in New York, epsilon 0.3: name, name in docs/data, error, trusts others."""
TRUTH = 94
"""How many records a circle is meant to hold on average: the paper's number, by which its radius is chosen."""

_GUARANTEES = (Path(__file__).parent / "assets/guarantees.md", Path(__file__).parents[4] / "docs/guarantees.md")
"""Where the guarantees are: in an installed wheel, and in the repository."""
_PROMISES = (
    "An answer changes its distribution by at most a factor of exp(epsilon) when one record is added or removed.",
    "Every owner's charges are on disk before anything made from its records leaves; who spent its budget is missing.",
    "Raw records never leave their owner. The provider sees noisy, masked or sealed values only.",
    "Inside a trusted group, its leader sees its members' exact partial answers; masked groups need no such trust.",
)


async def learn_page(visit: Visit, user: User) -> None:
    """Build the page to learn on."""
    with framed(visit, user, "/learn"):
        ui.html("Whom to trust, and what it costs", sanitize=False, tag="h1")
        with ui.element("div").classes("fg-grid-cards"):
            _trust_chart()
            _promises()
            await _chosen(visit)
        example_cards(visit)
        _methods()


def add_guarantees(app: FastAPI, name: str) -> None:
    """Add the path of the guarantees and their proofs, as a page."""

    @app.get("/guarantees", include_in_schema=False)
    async def guarantees(request: Request) -> HTMLResponse:
        body = f'<main id="main" class="fg-main fg-prose" tabindex="-1">{guarantees_html()}</main>'
        return plain_page(request, name, body, here="/learn", who="")


def guarantees_text() -> str:
    """Return docs/guarantees.md, which wheels carry too."""
    return next(path for path in _GUARANTEES if path.is_file()).read_text(encoding="utf-8")


@cache
def guarantees_html() -> str:
    """Return the guarantees as HTML; links to other documents, which are not served here, become plain words."""
    from markdown2 import markdown  # type: ignore[import-untyped]

    text = re.sub(r"\[([^\]]+)\]\((?!#)[^)]*\)", r"\1", guarantees_text())
    html = str(markdown(text, extras=["tables", "fenced-code-blocks", "header-ids", "code-friendly"]))
    return re.sub(r"<(table|pre)>", r'<\1 tabindex="0">', html.replace("<th></th>", "<td></td>"))


def _trust_chart() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Mean error of a count", sanitize=False, tag="h2")
        rows = [(name, error, trusting) for name, _, error, trusting in TRUST]
        ui.html(bars(rows, label=f"mean errors: {', '.join(f'{n} {e}' for n, e, _ in rows)}"), sanitize=False)
        ui.label(
            f"Real check-ins, 500 owners in New York, epsilon 0.3; circles are sized to hold {TRUTH} records on "
            "average. Orange: some owners trust others with exact answers. Blue: nobody is trusted."
        ).classes("fg-small")


async def _chosen(visit: Visit) -> None:
    """Say which method the page to ask on takes here and now, found in the same way."""
    settings = visit.service.provider.settings
    asked = read_question({"kind": "count", "epsilon": EPSILON, **first_area(settings.public_map)})
    found, fault = await expectations(visit, asked)
    best = smallest(found.values())
    with ui.element("section").classes("fg-card fg-chosen"):
        ui.html("What Ask takes here", sanitize=False, tag="h2")
        if best is None:
            ui.label(sentence(fault or "no owner is here now, so no error can be told"))
            return
        rows = "".join(
            f"<tr><td>{escape(METHODS[name].title)}</td><td>± {escape(expectation_told(each)['halves'][2:])}</td></tr>"
            for name, each in found.items()
        )
        text = (
            f"<p><strong>{escape(METHODS[best].title)}</strong>: the smallest error now among the methods that let no "
            f"owner see another's exact answers. You may choose another one there.</p>"
            f'<table class="fg-table"><tr><th scope="col">method</th><th scope="col">error in 95 %, epsilon {EPSILON:g}'
            f"</th></tr>{rows}</table>"
        )
        ui.html(text, sanitize=False)


def _methods() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Methods", sanitize=False, tag="h2")
        told = "".join(
            f"<h3>{escape(each.title)}</h3><p>{escape(each.how)} {escape(each.take_it)}</p>"
            f'<p class="fg-small">Trusted: {escape(each.trust)}</p>'
            for each in (METHODS[name] for name in PRIVATE)
        )
        ui.html(told, sanitize=False)


def _promises() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("What is promised", sanitize=False, tag="h2")
        items = "".join(f"<li>{escape(text)}</li>" for text in _PROMISES)
        ui.html(
            f'<ul>{items}</ul><p><a href="guarantees">All guarantees, with proofs and limits</a></p>', sanitize=False
        )
