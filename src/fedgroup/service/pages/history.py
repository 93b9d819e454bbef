"""A user's own questions: a table with the latest, each to be asked again, and all of them as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from nicegui import ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fedgroup.service.pages.answer_card import in_short
from fedgroup.service.pages.frame import plain_button
from fedgroup.service.pages.login import to_login
from fedgroup.service.pages.visits import Door, SignedOut
from fedgroup.service.replies import AnswerShown
from fedgroup.storage.provider_state import Question

SHOWN = 8
EXPORTED = 10_000
_COLUMNS = ("id", "at", "state", "kind", "area", "attribute", "epsilon", "method", "value", "low", "high", "heard",
            "missing", "charged", "stored", "clip", "absent")  # fmt: skip
_SHOWN_COLUMNS = ("time (UTC)", "question", "method", "answer", "cost")
_FORMULA = ("=", "+", "-", "@")


class History:
    """The latest questions, newest first."""

    def __init__(self, on_repeat: Callable[[Question], Awaitable[None]]) -> None:
        self._on_repeat = on_repeat
        with ui.element("section").classes("fg-card").props('aria-labelledby="history"'):
            with ui.element("div").classes("fg-head"):
                ui.html("Your questions", sanitize=False, tag="h2").props('id="history"')
                ui.html('<a href="history.csv" download>Export as CSV</a>', sanitize=False)
            ui.label(
                "Asking again is free only if the question is identical to an answered one, the same owners are here "
                "and nobody's data changed; else it costs its epsilon again."
            ).classes("fg-small")
            self._rows = ui.element("div").classes("fg-scroll")

    def show(self, questions: Sequence[Question]) -> None:
        """Show the latest of these questions."""
        self._rows.clear()
        with self._rows:
            if not questions:
                ui.label("None yet.").classes("fg-small")
                return
            with ui.element("table").classes("fg-table fg-stacked"):
                _header(*_SHOWN_COLUMNS, "")
                for question in questions[:SHOWN]:
                    self._row(question)

    def _row(self, question: Question) -> None:
        answer = None if question.answer is None else AnswerShown.of(question)
        asked = question_text(question.request)
        told = (
            question.at[5:19].replace("T", " "),
            asked,
            str(question.request.get("method") or "") if answer is None else answer.method,
            question.state if answer is None else in_short(answer),
            "free" if answer is not None and answer.stored else f"{float(question.epsilon):g}",
        )
        with ui.element("tr"):
            for name, text in zip(_SHOWN_COLUMNS, told, strict=True):
                _cell(name, text)
            with ui.element("td"):
                button = plain_button("Ask again", lambda: self._on_repeat(question))
                button.props["aria-label"] = f"Ask again: {asked}"


def _header(*names: str) -> None:
    with ui.element("tr"):
        for name in names:
            ui.html(name, sanitize=False, tag="th").props('scope="col"')


def _cell(name: str, text: str) -> None:
    with ui.element("td").props(f'data-name="{name}"'):
        ui.label(text)


def question_text(request: Mapping[str, Any]) -> str:
    """Return what was asked about which area, in few words."""
    kind, attribute, clip = request.get("kind", ""), request.get("attribute"), request.get("clip")
    if attribute is None:
        return f"{kind} {area_text(request)}"
    return f"{kind} of {attribute}{'' if clip is None else f' up to {clip:.10g}'} {area_text(request)}"


def area_text(request: Mapping[str, Any]) -> str:
    """Return a question's area in few words."""
    if circle := request.get("circle"):
        return f"within {circle['radius']:.10g} of {circle['x']:.10g}, {circle['y']:.10g}"
    if sides := request.get("rectangle"):
        west, south, east, north = (f"{sides[name]:.10g}" for name in ("west", "south", "east", "north"))
        return f"in {west}, {south} to {east}, {north}"
    shape = request.get("polygon", {})
    rings = shape.get("coordinates", [[]]) if shape.get("type") == "Polygon" else None
    return "in polygons" if rings is None else f"in a polygon of {max(0, len(rings[0]) - 1)} corners"


def add_export(app: FastAPI, door: Door) -> None:
    """Add the path under which users get their own questions as CSV."""

    @app.get("/history.csv", include_in_schema=False)
    async def export(request: Request) -> Response:
        visit = await door.visit(request)
        if visit is None:
            return to_login(request)
        try:
            questions = await visit.history(EXPORTED)
        except SignedOut:
            return to_login(request)
        headers = {"Content-Disposition": 'attachment; filename="questions.csv"', "Cache-Control": "no-store"}
        return PlainTextResponse(as_csv(questions), headers=headers, media_type="text/csv")


def as_csv(questions: Sequence[Question]) -> str:
    """Return questions and their answers as CSV; no text in it is a formula to a spreadsheet."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(_COLUMNS)
    for question in questions:
        rows.writerow([_plain(value) for value in _exported(question)])
    return out.getvalue()


def _exported(question: Question) -> list[Any]:
    request, answer = question.request, question.answer or {}
    low, high = answer.get("interval") or (None, None)
    return [
        question.id, question.at, question.state, request.get("kind"), area_text(request), request.get("attribute"),
        request.get("epsilon"), answer.get("method", request.get("method")), answer.get("value"), low, high,
        answer.get("heard"), answer.get("missing"), float(question.epsilon), answer.get("stored"),
        request.get("clip"), answer.get("absent"),
    ]  # fmt: skip


def _plain(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
