"""The page to ask on: an area on the map, a price, a method; the error to expect before, the answer after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from html import escape
from typing import Any

from nicegui import ui

from fedgroup.questions.methods import chosen
from fedgroup.service.pages.answer_card import AnswerCard, in_short
from fedgroup.service.pages.area_form import AreaForm
from fedgroup.service.pages.asking_form import AskingForm, read_question
from fedgroup.service.pages.frame import framed, gauge, telling
from fedgroup.service.pages.history import SHOWN, History
from fedgroup.service.pages.map import Area, AreaMap, first_area
from fedgroup.service.pages.visits import Visit
from fedgroup.service.replies import AnswerShown, FederationShown
from fedgroup.service.requests import QuestionAsked
from fedgroup.storage.provider_state import Question, User

_PAUSE_S = 0.12
"""Expectations are told when sliders rest for so long."""


async def ask_page(visit: Visit, user: User) -> None:
    """Build the page to ask on."""
    with framed(visit, user, "/"):
        page = _AskPage(visit, user)
    await page.refresh()


class _AskPage:
    """One open page: the area and the form in it, and the answer below."""

    def __init__(self, visit: Visit, user: User) -> None:
        self._visit = visit
        self._wishes = 0
        settings = visit.service.provider.settings
        self._area = first_area(settings.public_map)
        ui.html("Ask about a place", sanitize=False, tag="h1").classes("fg-hidden")
        with ui.element("div").classes("fg-ask"):
            with ui.element("div").classes("fg-place"):
                self._map = AreaMap(settings.public_map, self._area, base=visit.door.base, on_area=self._draw)
                self._answer = AnswerCard()
            with ui.element("div").classes("fg-panel"):
                self._area_form = AreaForm(settings.public_map, on_area=self._type)
                self._form = self._asking_form()
                with ui.element("div").classes("fg-order"):
                    self._button = ui.button("Ask", on_click=self._ask, color=None).classes("fg-button")
                    self._button.props("no-caps unelevated")
                    self._budget = ui.html("", sanitize=False)
        self._history = History(self._repeat)
        self._area_form.show(self._area)
        self._show_budget(user)

    async def refresh(self) -> None:
        """Show what is to be expected, and the user's latest questions."""
        await self._expect()
        await self._remember()

    def _asking_form(self) -> AskingForm:
        provider = self._visit.service.provider
        methods = FederationShown.of(provider).methods
        method = chosen(None, planned=provider.plan is not None).name
        attributes = getattr(provider.settings, "attributes", None)
        return AskingForm(methods, method, attributes=attributes, on_change=self._wish)

    # --- the area -----------------------------------------------------------------------------------------------------

    async def _draw(self, area: Any) -> None:
        """Take an area that was drawn; a browser may send anything, so it is read as a question's first."""
        with telling(self._answer.tell):
            read_question({"kind": "count", "epsilon": 1.0, **area})
            await self._type(area)
            self._area_form.show(area)

    async def _type(self, area: Area) -> None:
        self._area = area
        self._map.show(area)

    # --- what to expect -----------------------------------------------------------------------------------------------

    async def _wish(self) -> None:
        """Tell what to expect once sliders rest."""
        self._wishes += 1
        wish = self._wishes
        self._button.text = self._order()
        await asyncio.sleep(_PAUSE_S)
        if wish == self._wishes:
            await self._expect()

    async def _expect(self) -> None:
        with telling(lambda fault: self._form.expect(None, escape(fault))):
            self._button.text = self._order()
            self._form.expect(await self._visit.expect(self._form.question(self._area)))

    def _order(self) -> str:
        """Return what the button says: the price, always that of the question it asks."""
        return "Ask" if self._form.epsilon is None else f"Ask for epsilon {self._form.epsilon:g}"

    # --- asking -------------------------------------------------------------------------------------------------------

    async def _ask(self) -> None:
        self._form.insist()
        await self._put(lambda: self._form.question(self._area))

    async def _put(self, read: Callable[[], QuestionAsked]) -> None:
        """Put a question to the owners and show what they answer."""
        self._button.disable()
        self._answer.wait()
        self._map.show(self._area)  # what an earlier answer told is no answer to this question
        try:
            with telling(self._answer.tell):
                question = await self._visit.ask(read())
                answer = AnswerShown.of(question)
                self._answer.show(answer)
                self._map.show(self._area, in_short(answer))
        finally:
            self._button.enable()
        if await self._visit.known() is not None:
            await self._remember()

    async def _repeat(self, question: Question) -> None:
        """Ask an earlier question again, as it was; the page shows it."""
        request = {name: value for name, value in question.request.items() if name != "fresh"}
        self._area = {name: request[name] for name in ("circle", "rectangle", "polygon") if name in request}
        self._form.fill(request)
        self._area_form.show(self._area)
        await self._put(lambda: read_question(request))

    async def _remember(self) -> None:
        with telling(self._answer.tell):
            self._history.show(await self._visit.history(SHOWN))
            self._show_budget(await self._visit.user())

    def _show_budget(self, user: User) -> None:
        left, allowance = float(user.left), float(user.allowance)
        text = f"epsilon {left:g} of {allowance:g} left of your allowance"
        self._budget.content = gauge(text, left=left, whole=allowance)
