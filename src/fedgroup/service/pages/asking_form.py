"""What is asked, at what price and by which method, with the error to expect told before anything is spent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui
from pydantic import ValidationError

from fedgroup.errors import InvalidQuery
from fedgroup.live.balances import left_in_words
from fedgroup.questions.answers import Expectation
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.methods import METHODS
from fedgroup.service.pages.map import Area
from fedgroup.service.pages.range_input import RangeInput
from fedgroup.service.pages.words import counted, number, sentence
from fedgroup.service.requests import QuestionAsked

_EPSILON = 0.3
_NEEDED = "Say which attribute, and its clip: the most that one record may contribute."
_OUTLINED = "outlined dense hide-bottom-space"


class AskingForm:
    """Kind, epsilon and method of a question; `attributes` are those that can be asked about, if anybody says so."""

    def __init__(
        self,
        methods: Sequence[str],
        method: str,
        *,
        attributes: Sequence[str] | None = None,
        on_change: Callable[[], Awaitable[None]],
    ) -> None:
        self._on_change = on_change
        self._told = True
        self._insists = False
        self._fault = ""
        with ui.element("fieldset").classes("fg-card"):
            ui.html("What", sanitize=False, tag="legend")
            kinds = {name: kind.title for name, kind in KINDS.items() if not kind.measured or attributes != ()}
            self._kind = ui.select(kinds, value=next(iter(kinds)), label="question", on_change=self._kind_changed)
            self._kind.props(_OUTLINED).classes("fg-wide")
            with ui.element("div").classes("fg-fields") as self._measure:
                self._attribute = self._attribute_field(attributes)
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

    @property
    def _is_measured(self) -> bool:
        return KINDS[self._kind.value].measured

    def question(self, area: Area) -> QuestionAsked:
        """Return the question about an area, or say what is missing."""
        said: dict[str, Any] = {"kind": self._kind.value, "epsilon": self._epsilon.value, "method": self._method.value}
        if self._is_measured:
            said |= {"attribute": self._attribute.value or None, "clip": self._clip.value}
        return read_question(said | dict(area))

    def fill(self, request: dict[str, Any]) -> None:
        """Show an earlier question."""
        self._told = False
        if request["kind"] in self._kind.options:
            self._kind.value = request["kind"]
        if "epsilon" in request:  # the page asks for an epsilon, whatever was paid before
            self._epsilon.value = request["epsilon"]
            self._slider.show(request["epsilon"])
        if request.get("method") in (self._method.options or {}):
            self._method.value = request["method"]
        self._attribute.value, self._clip.value = self._offered(request.get("attribute")), request.get("clip")
        self._measure.set_visibility(self._is_measured)
        self._told = True

    def expect(self, expected: Expectation | None, fault: str = "") -> None:
        """Tell what an answer would be like, or why there would be none."""
        self._fault = fault
        if expected is None:
            self._show_fault()
            return
        parts = "; ".join(
            f"<strong>± {number(error.half_width)}</strong>{'' if part == expected.kind else f' in the {part}'}"
            for part, error in expected.errors.items()
        )
        mean = ", ".join(number(error.mean_absolute) for error in expected.errors.values())
        sources = f"{counted(expected.noises, 'noise term')} of {counted(expected.owners, 'owner')}"
        left = "" if expected.owners_left is None else sentence(left_in_words(expected.owners_left))
        self._expected.content = (
            f'<p class="fg-expected">Expected error: {parts} <span class="fg-small">in 95 % of the answers; '
            f"{mean} on average, from {sources}</span></p>"
            f'<p class="fg-small fg-left">{left}</p>'
        )
        self._trust.text = sentence(expected.trust)

    def insist(self) -> None:
        """Tell what is missing as a fault from now on: the question was asked without it."""
        self._insists = True
        if self._fault:
            self._show_fault()

    def _show_fault(self) -> None:
        """Say why there would be no answer; before anybody asks, what is still to be filled in is no fault."""
        unfilled = self._is_measured and not (self._attribute.value and self._clip.value)
        hint = f'<p class="fg-small fg-needed">{_NEEDED}</p>'
        self._expected.content = hint if unfilled and not self._insists else f'<p class="fg-fault">{self._fault}</p>'
        self._trust.text = ""

    # --- parts --------------------------------------------------------------------------------------------------------

    def _attribute_field(self, attributes: Sequence[str] | None) -> ui.input | ui.select:
        """Put a list of the attributes that the federation names, or a field for any name."""
        if attributes:
            return ui.select(list(attributes), label="attribute", on_change=self._changed).props(_OUTLINED)
        return ui.input("attribute", on_change=self._changed).props(_OUTLINED)

    def _offered(self, attribute: str | None) -> str | None:
        """Return an attribute if it can be chosen here."""
        if isinstance(self._attribute, ui.select):
            return attribute if attribute in self._attribute.options else None
        return attribute or ""

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
        options = {name: METHODS[name].title for name in METHODS if name in methods}
        self._method = ui.radio(options, value=method, on_change=self._changed).classes("fg-methods")
        self._method.props('dense aria-label="method"')
        self._how = ui.label().classes("fg-small")
        self._trust = ui.label().classes("fg-small fg-trust")
        self._explain()

    def _explain(self) -> None:
        told = METHODS[self._method.value]
        self._how.text = f"{told.how} {told.take_it}"

    async def _slid(self, epsilon: float) -> None:
        self._epsilon.value = epsilon

    async def _kind_changed(self) -> None:
        self._insists = False
        await self._changed()

    async def _changed(self) -> None:
        self._measure.set_visibility(self._is_measured)
        self._explain()
        if self._epsilon.value is not None:
            self._slider.show(self._epsilon.value)
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
