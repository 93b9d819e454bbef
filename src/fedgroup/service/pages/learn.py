"""The page to learn on: whom each method trusts and what that costs, tried on synthetic records, and the guarantees."""

from __future__ import annotations

import functools
from html import escape
from pathlib import Path

import numpy as np
from fastapi import FastAPI
from nicegui import ui
from starlette.responses import PlainTextResponse

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.release import scale_of_noise
from fedgroup.service.pages.drawings import bars
from fedgroup.service.pages.frame import framed, number, plain_button
from fedgroup.service.pages.methods import TOLD
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

NOISES = {"dp": 500, "fedgroup": 46, "cohorts": 10, "mpc": 1}
"""How many noises an answer of these owners holds, by method, in the same experiment."""

_OWNERS, _RADIUS_M, _MIDDLE_M, _EPSILON = 500, 3_000.0, 10_000.0, 0.3
_GUARANTEES = (
    Path(__file__).parent / "assets" / "guarantees.md",
    Path(__file__).parents[4] / "docs" / "guarantees.md",
)
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
            _examples()
            _methods()
            _promises()


def add_guarantees(app: FastAPI) -> None:
    """Add the path of the guarantees and their proofs, as text."""

    @app.get("/guarantees", include_in_schema=False)
    async def guarantees() -> PlainTextResponse:
        found = [path for path in _GUARANTEES if path.is_file()]
        return PlainTextResponse(found[0].read_text(encoding="utf-8") if found else "\n".join(_PROMISES))


def example_answers() -> tuple[int, dict[str, int]]:
    """Return the true count of a synthetic city's records near its middle, and an answer by each method."""
    truth, scale, noise = _true_count(), scale_of_noise(1, Epsilon.of(_EPSILON)), SecureNoise()
    return truth, {method: truth + int(noise.laplace_sum(scale, noises)) for method, noises in NOISES.items()}


@functools.cache
def _true_count() -> int:
    city = synthesize(_OWNERS, seed=1)
    return int(np.count_nonzero(np.hypot(city.x - _MIDDLE_M, city.y - _MIDDLE_M) < _RADIUS_M))


def _trust_chart() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Mean error of a count", sanitize=False, tag="h2")
        rows = [(name, error, trusting) for name, _, error, trusting in TRUST]
        ui.html(bars(rows, label=f"mean errors: {', '.join(f'{n} {e}' for n, e, _ in rows)}"), sanitize=False)
        ui.label(
            "Real check-ins, 500 owners in New York, epsilon 0.3; a true count is 95 on average. Orange: some owners "
            "trust others with exact answers. Blue: nobody is trusted."
        ).classes("fg-small")


def _examples() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Try it on a synthetic city", sanitize=False, tag="h2")
        ui.label(
            f"{_OWNERS} invented owners, the records within {_RADIUS_M:,.0f} m of the middle, epsilon {_EPSILON}; "
            "the truth can be shown because nobody is behind it. Noise is drawn here and now, for free."
        ).classes("fg-small")
        table = ui.html("", sanitize=False).props('role="status"')
        plain_button("Draw again", lambda: _show_examples(table))
        _show_examples(table)


def _show_examples(table: ui.html) -> None:
    truth, answers = example_answers()
    rows = "".join(
        f"<tr><td>{method}</td><td>{number(NOISES[method])}</td><td>{number(value)}</td>"
        f"<td>{value - truth:+,d}</td></tr>"
        for method, value in answers.items()
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("method", "noises", "answer", "off by"))
    table.content = (
        f'<p>Truth: <strong>{number(truth)}</strong></p><table class="fg-table"><tr>{head}</tr>{rows}</table>'
    )


def _methods() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("Methods", sanitize=False, tag="h2")
        told = "".join(
            f"<h3>{escape(each.title)}</h3><p>{escape(each.how)} {escape(each.take_it)}</p>"
            f'<p class="fg-small">Trusted: {escape(each.trust)}</p>'
            for each in TOLD.values()
        )
        ui.html(told, sanitize=False)


def _promises() -> None:
    with ui.element("section").classes("fg-card"):
        ui.html("What is promised", sanitize=False, tag="h2")
        items = "".join(f"<li>{escape(text)}</li>" for text in _PROMISES)
        ui.html(
            f'<ul>{items}</ul><p><a href="guarantees">All guarantees, with proofs and limits</a></p>', sanitize=False
        )
