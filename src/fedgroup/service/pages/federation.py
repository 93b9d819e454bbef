"""The page about the federation: who is here, groups and their sizes, budgets, questions by the minute, the plan."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape

from nicegui import ui

from fedgroup.questions.graphs import GRAPHS, PRIVATE
from fedgroup.service.accounts import is_operator
from fedgroup.service.pages.frame import framed, gauge, telling
from fedgroup.service.pages.visits import Visit
from fedgroup.service.pages.words import counted
from fedgroup.service.replies import PlanShown
from fedgroup.service.requests import PlanAsked
from fedgroup.storage.provider_state import User

REFRESH_S = 10.0
_PRICE = 0.3


async def federation_page(visit: Visit, user: User) -> None:
    """Build the page about the federation; operators see names and can group owners anew."""
    with framed(visit, user, "/federation"):
        page = _FederationPage(visit, operator=is_operator(user))
        await page.refresh()
        ui.timer(REFRESH_S, page.refresh, immediate=False)


class _FederationPage:
    """One open page, shown anew while it is open; what did not change is not sent again."""

    def __init__(self, visit: Visit, *, operator: bool) -> None:
        self._visit = visit
        self._operator = operator
        ui.html("The federation", sanitize=False, tag="h1")
        with ui.element("div").classes("fg-grid-cards"):
            with _card("Owners"):
                self._owners = ui.html("", sanitize=False)
            with _card("Plan in force"):
                self._plan = ui.html("", sanitize=False)
                if operator:
                    self._regrouping()
            with _card("Groups"):
                self._groups = ui.html("", sanitize=False)
            with _card("Budgets"):
                self._budgets = ui.html("", sanitize=False)
            with _card("Published maps"):
                self._maps = ui.html("", sanitize=False)
            if operator:
                with _card("Disagreeing and silent owners"):
                    self._trouble = ui.html("", sanitize=False)
                with _card("Certificates"):
                    self._endings = ui.html("", sanitize=False)
            with _card("Questions per minute"):
                self._rate = ui.html("", sanitize=False)
            with _card("Time of a question, median"):
                self._latency = ui.html("", sanitize=False)

    async def refresh(self) -> None:
        """Show how things are now."""
        with telling(lambda fault: _set(self._owners, f'<p class="fg-fault">{escape(fault)}</p>')):
            user = await self._visit.user()
            service, operator = self._visit.service, self._operator and is_operator(user)
            view = await self._visit.door.views.now(service, self._visit.door.layers.shelf)
            users = view.users if operator else [user]
            _set(self._owners, view.owners_by_name if operator else view.owners)
            _set(self._plan, view.plan)
            _set(self._groups, view.groups)
            _set(self._budgets, "".join(_gauge(each) for each in users if not each.removed) + view.budgets)
            _set(self._maps, view.maps)
            if self._operator:
                _set(self._endings, view.endings if operator else "")
                _set(self._trouble, view.trouble if operator else "")
            _set(self._rate, view.rate)
            _set(self._latency, view.latency)

    def _regrouping(self) -> None:
        usual = self._visit.service.provider.settings.grouping.graph
        graph = ui.select({name: f"{name}: {GRAPHS[name].how}" for name in PRIVATE}, label="how owners are grouped")
        graph.props("outlined dense hide-bottom-space options-dense").classes("fg-wide").set_value(usual)
        with ui.element("div").classes("fg-fields"):
            price = ui.number("epsilon of grouping", value=_PRICE, min=0.01, step=0.1)
            price.props("outlined dense hide-bottom-space").bind_visibility_from(graph, "value", _has_price)
            ask = ui.button("Group anew", color=None).classes("fg-plain-button").props("no-caps flat")
        ui.label().classes("fg-small").bind_text_from(graph, "value", _what_it_costs)
        said = ui.label().classes("fg-small").props('role="status"')

        async def regroup() -> None:
            ask.disable()
            said.text = "Asking all owners …"
            try:
                with telling(lambda fault: setattr(said, "text", fault)):
                    cost = {"epsilon": price.value} if _has_price(graph.value) else {}
                    asked = PlanAsked.model_validate({"graph": graph.value, **cost})
                    question = await self._visit.regroup(asked)
                    made = PlanShown.model_validate(question.answer)
                    said.text = f"Done: {counted(made.groups, 'group')}, owners alone included."
            finally:
                ask.enable()
            self._visit.door.views.forget()
            await self.refresh()

        ask.on_click(regroup)


def _has_price(graph: str) -> bool:
    return GRAPHS[graph].vectors


def _what_it_costs(graph: str) -> str:
    """Return what every owner gives for groups that are found so."""
    charged = "Every owner, and your allowance, pays this epsilon." if _has_price(graph) else "It costs no epsilon."
    compared = (
        " Owners that opted in are compared two by two, which shows the provider one exact bit of each pair: "
        "that is not differentially private. Who did not is compared with nobody."
    )
    return charged + (compared if GRAPHS[graph].compares else "")


@contextmanager
def _card(title: str) -> Iterator[None]:
    with ui.element("section").classes("fg-card"):
        ui.html(title, sanitize=False, tag="h2")
        yield


def _set(place: ui.html, content: str) -> None:
    if place.content != content:
        place.content = content


def _gauge(user: User) -> str:
    left, allowance = float(user.left), float(user.allowance)
    return gauge(f"{user.name}: epsilon {left:g} of {allowance:g} left", left=left, whole=allowance)
