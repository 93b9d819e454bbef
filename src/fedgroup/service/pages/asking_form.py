"""What is asked, at what price and by which method, with the error to expect told before anything is spent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from fedgroup.errors import InvalidQuery
from fedgroup.service.asked import QuestionAsked
from fedgroup.service.pages.frame import number
from fedgroup.service.pages.map import Area
from fedgroup.service.pages.methods import TOLD
from fedgroup.service.pages.range_input import RangeInput
from fedgroup.service.shown import ExpectationShown

KINDS = {"count": "count records", "sum": "sum of an attribute", "avg": "average of an attribute"}
_EPSILON = 0.3
_OUTLINED = "outlined dense hide-bottom-space"


class AskingForm:
    """Kind, epsilon and method of a question."""

    def __init__(self, methods: Sequence[str], method: str, *, on_change: Callable[[], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._told = True
        with ui.element("fieldset").classes("fg-card"):
            ui.html("What", sanitize=False, tag="legend")
            self._kind = ui.select(KINDS, value="count", label="question", on_change=self._changed)
            self._kind.props(_OUTLINED).classes("fg-wide")
            with ui.element("div").classes("fg-fields") as self._measure:
                self._attribute = ui.input("attribute", on_change=self._changed).props(_OUTLINED)
                self._clip = ui.number("clip: largest value", on_change=self._changed).props(_OUTLINED)
        with ui.element("fieldset").classes("fg-card"):
            ui.html("Price and method", sanitize=False, tag="legend")
            self._price()
            self._choice(methods, method)
        self._measure.set_visibility(False)

    @property
    def epsilon(self) -> float | None:
        """The price, if one is said."""
        found: float | None = self._epsilon.value
        return found

    def question(self, area: Area) -> QuestionAsked:
        """Return the question about an area, or say what is missing."""
        said: dict[str, Any] = {"kind": self._kind.value, "epsilon": self._epsilon.value, "method": self._method.value}
        if said["kind"] != "count":
            said |= {"attribute": self._attribute.value or None, "clip": self._clip.value}
        return read_question(said | dict(area))

    def fill(self, request: dict[str, Any]) -> None:
        """Show an earlier question."""
        self._told = False
        self._kind.value = request["kind"]
        self._epsilon.value = request["epsilon"]
        self._slider.show(request["epsilon"])
        if request.get("method") in (self._method.options or {}):
            self._method.value = request["method"]
        self._attribute.value, self._clip.value = request.get("attribute", ""), request.get("clip")
        self._measure.set_visibility(self._kind.value != "count")
        self._told = True

    def expect(self, expected: ExpectationShown | None, fault: str = "") -> None:
        """Tell what an answer would be like, or why there would be none."""
        if expected is None:
            self._expected.content, self._trust.text = f'<p class="fg-fault">{fault}</p>', ""
            return
        parts = "; ".join(
            f"<strong>± {number(error.half_width)}</strong>{'' if part == expected.kind else f' in the {part}'}"
            for part, error in expected.errors.items()
        )
        mean = ", ".join(number(error.mean_absolute) for error in expected.errors.values())
        self._expected.content = (
            f'<p class="fg-expected">Expected error: {parts} <span class="fg-small">in 95 % of the answers; '
            f"{mean} on average, from {number(expected.noises)} noises of {expected.owners} owners</span></p>"
        )
        self._trust.text = f"Trusted: {expected.trust}."

    # --- parts --------------------------------------------------------------------------------------------------------

    def _price(self) -> None:
        with ui.element("div").classes("fg-epsilon"):
            self._slider = RangeInput("epsilon", least=0.01, most=1, value=_EPSILON, on_slide=self._slid)
            self._epsilon = ui.number("epsilon", value=_EPSILON, min=0.001, step=0.01, format="%.10g")
            self._epsilon.props(_OUTLINED)
        self._epsilon.on_value_change(self._changed)
        price = "What the answer may cost every owner, and your allowance: more epsilon, less noise, less privacy."
        ui.label(price).classes("fg-small")
        self._expected = ui.html("", sanitize=False).props('role="status" aria-live="polite"')

    def _choice(self, methods: Sequence[str], method: str) -> None:
        options = {name: TOLD[name].title for name in TOLD if name in methods}
        self._method = ui.radio(options, value=method, on_change=self._changed).classes("fg-methods")
        self._method.props('dense aria-label="method"')
        self._how = ui.label().classes("fg-small")
        self._trust = ui.label().classes("fg-small fg-trust")
        self._explain()

    def _explain(self) -> None:
        told = TOLD[self._method.value]
        self._how.text = f"{told.how} {told.take_it}"

    async def _slid(self, epsilon: float) -> None:
        self._epsilon.value = epsilon

    async def _changed(self) -> None:
        self._measure.set_visibility(self._kind.value != "count")
        self._explain()
        if self._told:
            await self._on_change()


def read_question(said: dict[str, Any]) -> QuestionAsked:
    """Return a question as the HTTP API would read it, or say what is wrong with it."""
    plain = {name: value for name, value in said.items() if value is not None}
    try:
        return QuestionAsked.model_validate(plain)
    except ValidationError as error:
        places = ", ".join(str(each["loc"][-1]) for each in error.errors())
        raise InvalidQuery(f"fill in what is missing or not a number: {places}") from None
