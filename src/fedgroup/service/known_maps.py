"""What a published map knows of a live question that has an error for a price.

A question that the map answers well enough is not asked. Else only what is missing is paid: owners are asked for as
little as makes their answer and the map together as sharp as is wanted.

Guarantee: a map that was published is read, which costs nothing. What owners are asked is charged like any question.
Not covered: a map tells of the records that there were when it was published, and says when that was. It is not taken
           where other owners are here than it heard, and a paid answer that cannot be of the same records stands alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from fedgroup.errors import InvalidQuery
from fedgroup.live.question import Released
from fedgroup.live.settings import LiveSettings
from fedgroup.maps.free import FreeAnswer
from fedgroup.maps.planning import price_beyond, sharp_enough
from fedgroup.maps.published import PublishedMap, step_of
from fedgroup.maps.publishing import Subject
from fedgroup.maps.sharpening import ALONE, COMBINED, agree
from fedgroup.maps.shelf import newest
from fedgroup.questions.answers import Answer, Expectation
from fedgroup.questions.query import RangeQuery
from fedgroup.service.kept_maps import KeptMaps
from fedgroup.service.requests import MAP, MapAsked, subject_said
from fedgroup.storage.provider_state import ProviderState, Question, User
from fedgroup.user.pricing import error_said

MOST_LOOKED_THROUGH = 1_000
"""So many of the latest publications are looked through for a map that fits."""
_ENOUGH = "the published map is as sharp: it would be read for nothing"
_REST = "the published map knows the rest: together they reach no farther than {:g}"


@dataclass(frozen=True)
class KnownOfRange:
    """What a map tells of the range of a question, and how far off its answer may be."""

    made: PublishedMap
    free: FreeAnswer
    wanted: float

    @property
    def is_enough(self) -> bool:
        """Whether nothing needs to be asked."""
        return sharp_enough(self.free, self.wanted)

    def priced(self, query: RangeQuery, settings: LiveSettings, *, noises: float) -> RangeQuery:
        """Return the question at the price of what is missing."""
        price = price_beyond(
            self.free,
            self.wanted,
            step=step_of(query.measure),
            sensitivity=settings.protection.of(query.parts[0], query),
            noises=noises,
        )
        return replace(query, epsilon=price, rho=None)

    def together(self, paid: Released) -> Released:
        """Return what owners answered together with the map, unless both cannot be of the same records."""
        if not isinstance(paid, Answer):
            return paid
        if not agree(paid, self.free):
            return replace(paid, notes=(*paid.notes, ALONE))
        return self.made.combined(paid, free=self.free)

    def foretold(self, expected: Expectation) -> Expectation:
        """Return what is to be expected, with what the map makes of it."""
        if self.is_enough:
            return replace(expected, notes=(*expected.notes, _ENOUGH), charge=0.0, affordable=True)
        return replace(expected, notes=(*expected.notes, _REST.format(self.wanted)))


async def known_of(
    query: RangeQuery,
    error: Any,
    *,
    user: User,
    maps: KeptMaps,
    state: ProviderState,
    settings: LiveSettings,
    here: int,
) -> KnownOfRange | None:
    """Return what the newest map that fits a question knows; None where there is none, or others are here than then."""
    about = query.one_range
    if about is None or not query.is_range or query.kind not in COMBINED:
        return None
    subject = Subject(query.kind, query.measure, query.since, query.until)
    newest = await asyncio.to_thread(_newest, state, subject, settings)
    made = None if newest is None else await maps.made(user, newest)
    if not isinstance(made, PublishedMap) or made.heard != here or made.public_map != settings.public_map:
        return None
    free = await maps.looked(lambda: made.count(about))
    return KnownOfRange(made, free, error_said(error, expected=free.value))


def _newest(state: ProviderState, subject: Subject, settings: LiveSettings) -> str | None:
    found = [each for each in state.published(most=MOST_LOOKED_THROUGH) if _is_of(each, subject, settings)]
    shown = newest([(each, float(each.epsilon)) for each in reversed(found)])
    return None if shown is None else shown.id


def _is_of(question: Question, subject: Subject, settings: LiveSettings) -> bool:
    """Tell whether a publication is a map of cells of this subject."""
    said = dict(question.request[MAP])
    if not said.get("adaptive"):
        return False
    try:
        return subject_said(MapAsked.model_validate(said), settings) == subject
    except (InvalidQuery, ValueError):  # asked for under other settings
        return False
