"""An answer on the page: the value with its interval, who was heard, what it cost, and what went wrong if it did."""

from __future__ import annotations

import math
import time
from html import escape
from typing import Any

from nicegui import ui

from fedgroup.service.pages.words import counted, number
from fedgroup.service.replies import AnswerShown

_SYMMETRIC = 0.001
"""How far the halves of an interval may differ, by share, to be told as one number."""


class AnswerCard:
    """One place for the latest answer, read out by screen readers when it changes."""

    def __init__(self) -> None:
        self._box = ui.html("", sanitize=False).classes("fg-answer").props('role="status" aria-live="polite"')
        self._box.set_visibility(False)

    def wait(self) -> None:
        """Say that owners are being asked."""
        self._say('<p class="fg-waiting">Asking the owners …</p>')

    def tell(self, fault: str) -> None:
        """Say what went wrong."""
        self._say(f'<p class="fg-fault" role="alert">{escape(fault)}</p>')

    def show(self, answer: AnswerShown) -> None:
        """Show an answer; `data-replied` is when it was here, in milliseconds since 1970."""
        replied = f'data-replied="{time.time() * 1000:.0f}" data-question="{escape(answer.id)}"'
        value = f'<div class="fg-value" {replied}>{_value(answer)}</div>'
        self._say(f'<div class="fg-shown">{value}{_facts(answer)}{_notes(answer)}</div>')

    def _say(self, content: str) -> None:
        self._box.set_visibility(True)
        self._box.content = content
        ui.run_javascript(f'getHtmlElement({self._box.id}).scrollIntoView({{block: "nearest"}})')


def in_short(answer: AnswerShown) -> str:
    """Return value and interval as they fit on the map."""
    if answer.value is None:
        return "no value"
    low, high = answer.interval
    if math.isclose(high - answer.value, answer.value - low, rel_tol=_SYMMETRIC):
        return f"{number(answer.value)} ± {number((high - low) / 2)}"
    return f"{number(answer.value)}, from {number(low)} to {number(high)}"


def price(answer: AnswerShown) -> str:
    """Return what an answer cost, and why it cost nothing if it did."""
    return "nothing: the same as before" if answer.stored else f"epsilon {answer.charged:g}"


def _value(answer: AnswerShown) -> str:
    if answer.value is None:
        return "<span>no value: too few records</span>"
    low, high = answer.interval
    return (
        f"<strong>{number(answer.value)}</strong>"
        f'<span class="fg-interval">the truth is between {number(low)} and {number(high)} in 95 % of such answers'
        "</span>"
    )


def hearing(answer: AnswerShown) -> str:
    """Return how many owners were heard, how many are missing, and how many of these are away."""
    absent = getattr(answer, "absent", 0)
    away = "" if not absent else " (away)" if absent == answer.missing else f" ({absent} of them away)"
    return f"{answer.heard} of {answer.owners} heard, {answer.missing or 'none'} missing{away}"


def _facts(answer: AnswerShown) -> str:
    facts: dict[str, Any] = {
        "owners": hearing(answer),
        "cost": price(answer),
        "method": f"{answer.method}, {counted(answer.noises, 'noise term')}",
        "time": f"{answer.seconds * 1000:,.0f} ms",
    }
    rows = "".join(f"<div><dt>{name}</dt><dd>{escape(fact)}</dd></div>" for name, fact in facts.items())
    return f"<dl>{rows}</dl>"


def _notes(answer: AnswerShown) -> str:
    told = [answer.trust, *answer.notes]
    return f'<ul class="fg-small">{"".join(f"<li>{escape(note)}</li>" for note in told)}</ul>'
