"""The page to learn on: whom each method trusts and what that costs, methods to run, and the guarantees."""

from __future__ import annotations

from html import escape
from pathlib import Path

from fastapi import FastAPI
from nicegui import ui
from starlette.responses import PlainTextResponse

from fedgroup.questions.methods import METHODS, PRIVATE
from fedgroup.service.pages.drawings import bars
from fedgroup.service.pages.example_cards import example_cards
from fedgroup.service.pages.frame import framed
from fedgroup.service.pages.visits import Visit
from fedgroup.storage.provider_state import User

TRUST = (
    ("dp", "DP", 83.9, False),
    ("fedgroup, trusted groups", "FG likely", 25.6, True),
    ("fedgroup, masked groups", "FG masked", 23.7, False),
    ("fedgroup, mixed plan", "FG mixed", 11.2, True),
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
        example_cards(visit)
        _methods()


def add_guarantees(app: FastAPI) -> None:
    """Add the path of the guarantees and their proofs, as text."""

    @app.get("/guarantees", include_in_schema=False)
    async def guarantees() -> PlainTextResponse:
        return PlainTextResponse(guarantees_text())


def guarantees_text() -> str:
    """Return docs/guarantees.md, which wheels carry too."""
    return next(path for path in _GUARANTEES if path.is_file()).read_text(encoding="utf-8")


def _trust_chart() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Mean error of a count", sanitize=False, tag="h2")
        rows = [(name, error, trusting) for name, _, error, trusting in TRUST]
        ui.html(bars(rows, label=f"mean errors: {', '.join(f'{n} {e}' for n, e, _ in rows)}"), sanitize=False)
        ui.label(
            f"Real check-ins, 500 owners in New York, epsilon 0.3; circles are sized to hold {TRUTH} records on "
            "average. Orange: some owners trust others with exact answers. Blue: nobody is trusted."
        ).classes("fg-small")


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
