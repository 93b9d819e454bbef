"""How the federation looks: drawn at most once a second, for all pages that are open."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

from fedgroup.epsilon import NOTHING
from fedgroup.live.balances import left_in_words
from fedgroup.live.expiry import WARN_DAYS, Expiries
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider
from fedgroup.maps.shelf import OF_RECORDS
from fedgroup.service.accounts import Service
from fedgroup.service.pages.drawings import series, sizes
from fedgroup.service.pages.layers import About, PublishedShelf
from fedgroup.service.pages.words import counted, sentence
from fedgroup.service.replies import PlanShown
from fedgroup.storage.provider_state import User

MINUTES = 15
_MOST_ENDINGS = 50
_ALARM = ' class="fg-fault"'
FRESH_S = 1.0

Published = Callable[[], Awaitable[PublishedShelf]]
"""Tells which maps are shown, and which were paid for."""


@dataclass(frozen=True)
class FederationView:
    """Pieces of HTML; `owners_by_name`, `endings`, `trouble` and `users` are for operators."""

    owners: str
    owners_by_name: str
    plan: str
    groups: str
    rate: str
    latency: str
    budgets: str
    endings: str
    trouble: str
    maps: str
    users: Sequence[User] = field(repr=False)


class FederationViews:
    """The newest view: pages that refresh together share one."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._newest: tuple[float, FederationView] | None = None

    async def now(self, service: Service, published: Published) -> FederationView:
        """Return how things are, or were a moment ago."""
        async with self._turn:
            if self._newest is None or time.monotonic() - self._newest[0] > FRESH_S:
                self._newest = time.monotonic(), await _view(service, published)
            return self._newest[1]

    def forget(self) -> None:
        """Draw anew the next time: something changed."""
        self._newest = None


async def _view(service: Service, published: Published) -> FederationView:
    plans = service.provider.plans
    users = await asyncio.to_thread(service.state.users)
    present = service.provider.desk.present
    minutes = service.metrics.by_minute(MINUTES)
    seconds = [None if each is None else each * 1000 for _, each in minutes]
    return FederationView(
        _owners(present, plans.values(), named=False),
        _owners(present, plans.values(), named=True),
        _plan(plans.get("fedgroup"), service.provider),
        _groups(plans.values(), service.provider),
        series([float(count) for count, _ in minutes], label="questions in each minute"),
        series(seconds, label="median milliseconds in each minute", unit=" ms"),
        f'<p class="fg-small">{escape(sentence(left_in_words(service.provider.owners_left(NOTHING))))}</p>',
        _endings(service.expiries),
        _trouble(service.provider),
        _maps(await published(), of_records=str(service.provider.settings.protection) == OF_RECORDS),
        users,
    )


def _owners(present: set[str], plans: Iterable[LivePlan], *, named: bool) -> str:
    known = {name for plan in plans for name in plan.members | plan.formed_of}
    absent = sorted(known - present)
    text = (
        f'<p class="fg-number">{len(present)} here</p><p class="fg-small">{len(absent)} known to a plan, and absent</p>'
    )
    if not named:
        return text
    return text + _names("here", sorted(present)) + _names("absent", absent)


def _trouble(provider: LiveProvider) -> str:
    """Return who disagrees with the provider's file, who falls silent, and how many messages were not believed."""
    desk = provider.desk
    told = _names("their files disagree with the provider's, so they are not asked", sorted(desk.differing))
    told += _names(
        "are asked alone until they have answered again: they fell silent, or lied", sorted(provider.left_out)
    )
    doubted = [f"{name} ({count:,} in a row)" for name, count in sorted(provider.doubted.items())]
    told += _names("were in groups whose sums no honest owners could give", doubted)
    refused = f"{counted(desk.refused_messages, 'message')} refused: not signed by a known owner, or malformed"
    return (told or '<p class="fg-small">Nobody disagrees, nobody fell silent, and nobody is doubted.</p>') + _small(
        refused
    )


def _maps(shelf: PublishedShelf, *, of_records: bool) -> str:
    """Return which maps are published, of which time, and what all that were paid for cost together.

    A record has one time, and pays for the maps of windows it lies in; a subject, or an owner, pays for all.
    """
    shown, paid = shelf.shown, shelf.paid
    if not shown:
        return '<p class="fg-small">None is published.</p>'
    rows = "".join(
        f"<tr><td>{_window(about)}</td><td>{about.kind}</td><td>{about.epsilon:g}</td></tr>" for about in shown
    )
    most = _at_most(paid) if of_records else sum(each.epsilon for each in paid)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("window", "what", "epsilon"))
    others = len(paid) - len(shown)
    more = f" with {counted(others, 'other')} not shown" if others else ""
    bound = "at most" if shelf.whole else "at least: there are older ones"
    return f'<table class="fg-table"><tr>{head}</tr>{rows}</table>' + _small(
        f"together{more} they cost a record epsilon {most:g} {bound}; looking at them costs nothing"
    )


def _window(about: About) -> str:
    facts = about.facts()
    since, until = (None if facts[name] is None else _time(facts[name]) for name in ("since", "until"))
    if since is None and until is None:
        return "all times"
    return " to ".join(each for each in (since, until) if each is not None)


def _time(text: str) -> str:
    return f'<time datetime="{escape(text)}">{escape(text)}</time>'


def _at_most(paid: Iterable[About]) -> float:
    """Return what maps cost a record that has one time: the most that windows holding one instant cost together."""
    most, at_once = 0.0, list[tuple[float, float]]()
    for since, until, epsilon in sorted(map(_span, paid)):
        at_once = [each for each in at_once if each[0] > since] + [(until, epsilon)]
        most = max(most, math.fsum(each for _, each in at_once))
    return most


def _span(about: About) -> tuple[float, float, float]:
    since = -math.inf if about.since is None else about.since
    return since, math.inf if about.until is None else about.until, about.epsilon


def _small(text: str) -> str:
    return f'<p class="fg-small">{escape(sentence(text))}</p>'


def _names(title: str, names: Sequence[str]) -> str:
    told = ", ".join(escape(name) for name in names[:200]) + (" …" if len(names) > 200 else "")
    return f'<p class="fg-small"><strong>{title}:</strong> {told}</p>' if names else ""


def _endings(expiries: Expiries) -> str:
    """Return which certificates run out within 30 days, or did, and the list of revocations likewise."""
    days, soon = expiries.days_left(), expiries.soon()
    if not soon:
        return '<p class="fg-small">Nothing runs out within 30 days.</p>' if days else ""
    lines = []
    for each in soon[:_MOST_ENDINGS]:
        what = "The list of revocations" if each.party is None else f"The certificate of {escape(each.party)}"
        left = days[each.party]
        when = "ran out" if left < 0 else f"runs out in {counted(left, 'day')}" if left else "runs out today"
        lines.append(f"<p{_ALARM if left < WARN_DAYS[1] else ''}>{what} {when} ({each.until:%Y-%m-%d}).</p>")
    return "".join(lines) + ("<p>…</p>" if len(soon) > _MOST_ENDINGS else "")


def _plan(plan: LivePlan | None, provider: LiveProvider) -> str:
    if plan is None:
        return "<p>None: an operator makes one. Until then ask with dp, cohorts or mpc.</p>"
    shown = PlanShown.of(plan, provider, with_members=False)
    alone = "none of them an owner alone" if not shown.alone else f"of them {counted(shown.alone, 'owner')} alone"
    return (
        f"<p><strong>{counted(shown.groups, 'group')}</strong>, {alone}; {escape(shown.mode)}.</p>"
        f'<p class="fg-small">Guarantee: {escape(shown.guarantee)}. '
        f"It cost every owner epsilon {shown.epsilon:g}, once.</p>"
    )


def _groups(plans: Iterable[LivePlan], provider: LiveProvider) -> str:
    """Return the sizes of groups, by method; who is with whom is not told here to anybody."""
    told = []
    for shown in (PlanShown.of(plan, provider, with_members=False) for plan in plans):
        several = [", ".join(map(str, shown.sizes[:30]))] if shown.sizes else []
        alone = [f"{counted(shown.alone, 'owner')} alone"] if shown.alone else []
        text = f"{counted(shown.groups, 'group')}: {' and '.join([*several, *alone])}"
        told.append(f'<h3>{escape(shown.method)}</h3><p class="fg-small">{text}</p>')
        told.append(sizes(shown.sizes, label=f"sizes of the groups of {shown.method}"))
    return "".join(told) or '<p class="fg-small">none yet</p>'
