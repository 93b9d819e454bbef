"""Answers as a notebook shows them: a small table in HTML, with nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedgroup.questions.answers import Answer, Told

_STYLE = "text-align:left;padding:1px 12px 1px 0;border:0;vertical-align:top"
_WIDE, _HIGH = 260, 26


def table(facts: Iterable[tuple[str, str]]) -> str:
    """Return names and facts as the rows of an HTML table."""
    rows = "".join(
        f'<tr style="background:none"><th style="{_STYLE};font-weight:normal;opacity:.65">{escape(name)}</th>'
        f'<td style="{_STYLE}">{escape(fact)}</td></tr>'
        for name, fact in facts
    )
    return f'<table style="border:0;margin:4px 0">{rows}</table>'


def told_facts(told: Told) -> list[tuple[str, str]]:
    """Return what is told with every answer, as names and facts to show."""
    private = "" if told.private else " (not private: for evaluation)"
    missing = f", {told.missing:,} missing" if told.missing else ""
    facts = [
        ("epsilon", f"{told.epsilon:g}{private}" + (f", delta {told.delta:.1e}" if told.delta else "")),
        ("charged", f"{told.charged:g}" + (" (a stored answer, free)" if told.stored else "")),
        ("method", f"{told.method}: {told.trust}"),
        ("owners", f"{told.heard:,} heard{missing}"),
    ]
    return facts + [("note", note) for note in told.notes]


def number(value: float | None) -> str:
    """Return a number as people write it."""
    if value is None or value != value:
        return "no value"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def answer_html(answer: Answer) -> str:
    """Return an answer in HTML: its value, its interval drawn to scale, and what is told with it."""
    low, high = answer.interval
    interval = "exactly" if low == high else f"{number(low)} to {number(high)} in {answer.confidence:.0%}"
    head = f"<b>{escape(answer.kind)}: {number(answer.value)}</b> &nbsp;{interval}"
    return f"<div>{head}<br>{_drawn_interval(answer)}{table(told_facts(answer))}</div>"


def _drawn_interval(answer: Answer) -> str:
    """Return a line from 0 to the interval's end, the interval as a bar and the value as a stroke."""
    low, high = answer.interval
    if answer.value is None or not low < high:
        return ""
    left, right = min(low, 0), max(high, 0)
    scale = (_WIDE - 20) / (right - left)
    start, end, value, zero = (10 + (each - left) * scale for each in (low, high, answer.value, 0))
    return (
        f'<svg width="{_WIDE}" height="{_HIGH}" xmlns="http://www.w3.org/2000/svg">'
        f'<line x1="10" y1="13" x2="{_WIDE - 10}" y2="13" stroke="#b8c2cc"/>'
        f'<line x1="{zero:.1f}" y1="7" x2="{zero:.1f}" y2="19" stroke="#8895a3"/>'
        f'<rect x="{start:.1f}" y="9" width="{max(end - start, 1):.1f}" height="8" rx="2" fill="#7fb3d5"/>'
        f'<line x1="{value:.1f}" y1="5" x2="{value:.1f}" y2="21" stroke="#1b4f72" stroke-width="2"/></svg>'
    )
