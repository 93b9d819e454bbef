"""The page about the federation: who is here, groups and their sizes, budgets, questions by the minute, the plan."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from nicegui import ui

from fedgroup.live.plans import LivePlan
from fedgroup.service.accounts import is_operator
from fedgroup.service.asked import PlanAsked
from fedgroup.service.pages.drawings import series, sizes
from fedgroup.service.pages.frame import framed, gauge, telling
from fedgroup.service.pages.visits import Visit
from fedgroup.service.shown import PlanShown
from fedgroup.storage.provider_state import User

MINUTES = 15
REFRESH_S = 2.0
_PRICE = 0.3
_GROUPING = {"columns": 5, "rows": 5, "graph": "likely", "leftovers": "cohort"}


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
            with _card("Questions per minute"):
                self._rate = ui.html("", sanitize=False)
            with _card("Time of a question, median"):
                self._latency = ui.html("", sanitize=False)

    async def refresh(self) -> None:
        """Show how things are now."""
        with telling(lambda fault: _set(self._owners, f'<p class="fg-fault">{escape(fault)}</p>')):
            user = await self._visit.user()
            service = self._visit.service
            plans = await asyncio.to_thread(service.questions.plans)
            users = await asyncio.to_thread(service.state.users) if self._operator and is_operator(user) else [user]
            present = service.provider.desk.present
            _set(self._owners, _owners(present, plans.values(), named=self._operator and is_operator(user)))
            _set(self._plan, _plan(plans.get("fedgroup"), present))
            _set(self._groups, _groups(plans, present))
            _set(self._budgets, "".join(_gauge(each) for each in users if not each.removed))
            minutes = service.metrics.by_minute(MINUTES)
            _set(self._rate, series([float(count) for count, _ in minutes], label="questions in each minute"))
            seconds = [None if each is None else each * 1000 for _, each in minutes]
            _set(self._latency, series(seconds, label="median milliseconds in each minute", unit=" ms"))

    def _regrouping(self) -> None:
        with ui.element("div").classes("fg-fields"):
            price = ui.number("epsilon of grouping", value=_PRICE, min=0.01, step=0.1)
            price.props("outlined dense hide-bottom-space")
            ask = ui.button("Group anew", color=None).classes("fg-plain-button").props("no-caps flat")
        said = ui.label("Every owner, and your allowance, is charged this.").classes("fg-small").props('role="status"')

        async def regroup() -> None:
            ask.disable()
            said.text = "Asking all owners …"
            try:
                with telling(lambda fault: setattr(said, "text", fault)):
                    asked = PlanAsked.model_validate(_GROUPING | {"epsilon": price.value})
                    question = await self._visit.regroup(asked)
                    made = PlanShown.model_validate(question.answer)
                    said.text = f"Done: {made.groups} groups, owners alone included."
            finally:
                ask.enable()
            await self.refresh()

        ask.on_click(regroup)


@contextmanager
def _card(title: str) -> Iterator[None]:
    with ui.element("section").classes("fg-card"):
        ui.html(title, sanitize=False, tag="h2")
        yield


def _set(place: ui.html, content: str) -> None:
    if place.content != content:
        place.content = content


def _owners(present: set[str], plans: Iterable[LivePlan], *, named: bool) -> str:
    known = {name for plan in plans for name in plan.members | plan.formed_of}
    absent = sorted(known - present)
    text = (
        f'<p class="fg-number">{len(present)} here</p><p class="fg-small">{len(absent)} known to a plan, and absent</p>'
    )
    if not named:
        return text
    return text + _names("here", sorted(present)) + _names("absent", absent)


def _names(title: str, names: Sequence[str]) -> str:
    told = ", ".join(escape(name) for name in names[:200]) + (" …" if len(names) > 200 else "")
    return f'<p class="fg-small"><strong>{title}:</strong> {told}</p>' if names else ""


def _plan(plan: LivePlan | None, present: set[str]) -> str:
    if plan is None:
        return "<p>None: an operator makes one. Until then ask with dp, cohorts or mpc.</p>"
    shown = PlanShown.of(plan, present, with_members=False)
    return (
        f"<p><strong>{shown.groups} groups</strong>, {shown.alone} of them owners alone; {escape(shown.mode)}.</p>"
        f'<p class="fg-small">Guarantee: {escape(shown.guarantee)}. '
        f"It cost every owner epsilon {shown.epsilon:g}, once.</p>"
    )


def _groups(plans: dict[str, LivePlan], present: set[str]) -> str:
    """Return the sizes of groups, by method; who is with whom is not told here to anybody."""
    told = []
    for method, plan in plans.items():
        found, alone = plan.sizes(), len(plan.alone(present))
        text = f"{len(found)} groups of {', '.join(map(str, found[:30]))}" if found else "no groups"
        told.append(f'<h3>{escape(method)}</h3><p class="fg-small">{text}; {alone} alone</p>')
        told.append(sizes(found, label=f"sizes of the groups of {method}"))
    return "".join(told) or '<p class="fg-small">none yet</p>'


def _gauge(user: User) -> str:
    left, allowance = float(user.left), float(user.allowance)
    return gauge(f"{user.name}: epsilon {left:g} of {allowance:g} left", left=left, whole=allowance)
