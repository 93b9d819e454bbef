"""Standing maps: a map question that the provider repeats for every window of time, once it is over.

Guarantee: a window is begun on disk, with the id of its round, before any owner is asked; an adaptive map has three
           rounds, one after the other, each with an id that is kept first. Whatever dies, and as
           often as it is tried, every owner is charged once for it at most, and it is ended once: published, or failed
           if no owner could answer it. Windows are asked for in their order. Nobody is asked for a window before its
           end and grace by the provider's clock; an owner decides by its own (`Policy.complete_after`).
Not covered: records that come after a window was asked for are in no map of it, and its map says so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, FedgroupError, InvalidInput, TooFewHeard, TooFewHere
from fedgroup.live.asking import INCOMPLETE, NamedRound
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.config import StandingTable
from fedgroup.live.provider import LiveProvider
from fedgroup.live.publishing import Progress, cells_of, made_of, next_of, planned, quietest
from fedgroup.live.question import LiveQuestion, Released
from fedgroup.live.settings import LiveSettings
from fedgroup.live.standing import Begun, Schedule
from fedgroup.live.tally import Tally
from fedgroup.maps.publishing import Subject
from fedgroup.messages.limits import MOST_TEXT
from fedgroup.questions.methods import METHODS, Method, chosen
from fedgroup.questions.query import RangeQuery
from fedgroup.service.problems import Problem
from fedgroup.service.questions import Questions, require_offered, result_of
from fedgroup.service.requests import (
    MapAsked,
    plain_publication,
    plain_question,
    publication_price,
    range_query,
    require_noise,
    subject_said,
)
from fedgroup.space import Grid
from fedgroup.storage.provider_state import ProviderState, Question
from fedgroup.storage.standing_book import StandingBook, StandingWindow

log = logging.getLogger("fedgroup.service")

ATTEMPTS = 4
"""How often owners that are silent, or hold a window for unfinished, are waited for before it goes without them."""
RETURN_S = 60.0
"""How long owners may take to come back after the provider was started, before windows are asked for without them."""
AGAIN_S = 30.0
"""How long to wait before something is tried again."""

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class StandingMap:
    """A standing map as it was said, checked."""

    windows: Schedule
    user: str
    asked: MapAsked

    @classmethod
    def levels_of(cls, table: StandingTable) -> list[StandingMap]:
        """Return the maps that a table stands for: one, or one a level, of windows that nest."""
        shortest = cls.of(table)
        return [replace(shortest, windows=windows) for windows in table.tree]

    @classmethod
    def of(cls, table: StandingTable) -> StandingMap:
        """Return the map of the shortest windows of a table, or say what is wrong with it."""
        said = f"the standing map {table.name!r}"
        if "error" in table.map:
            raise InvalidInput(f"{said} costs the same in every window: say epsilon or rho, and no error")
        if not {"since", "until", "every", "dry_run", "fresh"}.isdisjoint(table.map):
            raise InvalidInput(f"{said} gets its time from its windows: leave since, until, every and fresh out")
        try:
            asked = MapAsked.model_validate(table.map)
        except ValidationError as error:
            wrong = error.errors()[0]
            raise InvalidInput(f"{said}: map.{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None
        return cls(table.windows, table.user, asked)

    @property
    def said(self) -> dict[str, Any]:
        """What may not change under a name."""
        return {"every": self.windows.every, "user": self.user, "map": self.asked.model_dump(exclude_defaults=True)}

    def of_window(self, begin: int) -> MapAsked:
        """Return the question about one window."""
        bounds = {"since": begin / 1e6, "until": (begin + self.windows.every) / 1e6}
        return self.asked.model_copy(update=bounds)

    def key(self, begin: int) -> str:
        """Return the idempotency key of a window."""
        return f"standing {self.windows.name} {begin}"


class StandingMaps:
    """Keeps standing maps up while the provider runs."""

    def __init__(
        self,
        tables: Sequence[StandingTable],
        provider: LiveProvider,
        state: ProviderState,
        questions: Questions,
        *,
        clock: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`clock` tells the seconds since 1970."""
        self.maps = [level for table in tables for level in StandingMap.levels_of(table)]
        self.book = StandingBook(state)
        self._provider = provider
        self._state = state
        self._questions = questions
        self._clock = clock
        self._sleep = sleep
        self._waits_for: dict[str, str] = {}
        self._first = {
            each.windows.name: self.book.first(each.windows.name, each.said, each.windows.first(self._now()))
            for each in self.maps
        }
        for each in self.maps:
            self._require_askable(each.of_window(self._first[each.windows.name]))

    def start(self) -> list[asyncio.Task[None]]:
        """Begin to keep every standing map up; the tasks end when they are cancelled."""
        return [asyncio.create_task(self._keep_up(each)) for each in self.maps]

    def next_window(self, standing: StandingMap) -> int:
        """Return when the next window begins that has not ended yet."""
        name = standing.windows.name
        unfinished, last = self.book.unfinished(name), self.book.last(name)
        if unfinished is not None:
            return unfinished.begin
        return self._first[name] if last is None else last + standing.windows.every

    def waits_for(self, standing: StandingMap) -> str | None:
        """Return why a window that is due is not asked for, if one is."""
        return self._waits_for.get(standing.windows.name)

    async def _keep_up(self, standing: StandingMap) -> None:
        async with AsyncExitStack() as held:
            unfinished = self.book.unfinished(standing.windows.name)
            begun = None if unfinished is None else Begun.in_told(unfinished.told)
            if begun is not None:  # its groups are not to be forgotten before it is ended
                await held.enter_async_context(self._provider.holding(begun.plan))
            known = len((await self._provider.attendance()).known)
            await self._provider.desk.until_present(max(1, known), RETURN_S)
            while True:
                wait = await self.step(standing)
                if wait == 0:
                    await held.aclose()
                else:
                    await self._sleep(wait)

    async def step(self, standing: StandingMap) -> float:
        """End the next window if it is due, and return how many seconds to wait before the next step."""
        name, windows = standing.windows.name, standing.windows
        try:
            begin, now = await asyncio.to_thread(self.next_window, standing), self._now()
            if not windows.is_due(begin, now):
                return max(0.001, (windows.due_at(begin) - now) / 1e6)
            window = await asyncio.to_thread(self.book.unfinished, name)
            oldest = windows.oldest(begin, now)
            if window is None and oldest > begin:
                log.warning("windows of a standing map are left out", extra={"question": name})
                await asyncio.to_thread(self.book.leave_out, name, begin, oldest - windows.every)
                return 0.0
            self._waits_for.pop(name, None)
            await self._end(standing, begin, window)
        except (FedgroupError, Problem) as error:
            self._waits_for[name] = str(error)
            log.warning("a standing map waits", extra={"question": name, "kind": type(error).__name__})
            return AGAIN_S
        except Exception:
            self._waits_for[name] = "an error that nobody foresaw; it is in the provider's log"
            log.exception("a standing map failed", extra={"question": name})
            return AGAIN_S
        return 0.0

    def _require_askable(self, asked: MapAsked) -> None:
        """Refuse a map that could not be asked for in any window."""
        settings = self._provider.settings
        if asked.adaptive:
            subject, price = subject_said(asked, settings), publication_price(asked, settings)
            require_offered(whole_of(subject, price, settings), settings)
            return
        query = range_query(asked, settings)
        require_offered(query, settings)
        self._provider.sendable(query)

    async def _end(self, standing: StandingMap, begin: int, window: StandingWindow | None) -> None:
        """Ask for a window, and publish its map: one round, or those of an adaptive map, one after the other."""
        asked = standing.of_window(begin)
        quorum = self._provider.settings.quorum.stricter(asked.least_owners, asked.least_share)
        going = await self._going(asked, window, quorum) if asked.adaptive else None
        begun = None if window is None else Begun.in_told(window.told)
        while going is None or going.publication.next_question is not None:
            ended = await self._round(standing, begin, going, begun, quorum)
            if ended is None:
                return
            going, begun = ended, None
        made = made_of(going, self._provider, seconds=0.0)
        await self._publish(standing, begin, await self._charged(standing, begin, going), made)

    async def _going(self, asked: MapAsked, window: StandingWindow | None, quorum: Quorum) -> Progress:
        """Return how far an adaptive map of a window came; one that is new is planned as owners are here now."""
        settings = self._provider.settings
        if window is not None:
            return Progress.of(window.told["progress"], settings.public_map.domain)
        method, epsilon = METHODS[asked.method or quietest(self._provider)], publication_price(asked, settings)
        self._questions.require_ready(method, quorum)
        subject, sizes = subject_said(asked, settings), {"records": asked.records, "most_cells": asked.most_cells}
        going = await planned(self._provider, subject, epsilon, method=method.name, **sizes)
        for share in going.publication.sizes.shares:
            require_noise(whole_of(subject, share, settings), settings, masked=not method.alone)
        return going

    async def _round(
        self, standing: StandingMap, begin: int, going: Progress | None, begun: Begun | None, quorum: Quorum
    ) -> Progress | None:
        """Ask one round, under an id that is kept first; return how far an adaptive map came, None if all is ended."""
        asked, name = standing.of_window(begin), standing.windows.name
        if going is None:
            query = await asyncio.to_thread(range_query, asked, self._provider.settings)
            method = chosen(asked.method, planned=self._provider.plan is not None)
            require_noise(query, self._provider.settings, masked=not method.alone)
        else:
            query, method = next_of(going), METHODS[going.method]
        if begun is not None and not begun.paid:
            begun = None  # its groups may be forgotten by now; another round of others is begun instead
        async with AsyncExitStack() as held:
            held_plan = None if begun is None else begun.plan
            by = method.name if begun is None else begun.method
            self._questions.require_ready(_method(by), quorum)
            cells_from = None if going is None else cells_of(going)
            live = await held.enter_async_context(
                self._provider.question(query, method=by, as_map=True, held=held_plan, cells_from=cells_from)
            )
            question = await self._charged(standing, begin, query if going is None else going)
            progress = {} if going is None else {"progress": going.facts()}
            if begun is None:
                begun = Begun(secrets.token_bytes(16), by, live.plan, self._provider.left_out)
                await asyncio.to_thread(self.book.keep, name, begin, question, begun.facts() | progress)
            found = await self._heard(standing, begin, question, live, begun, quorum, progress)
            if found is None:
                return None
            if going is None:
                await self._publish(standing, begin, question, live.read(*found))
                return None
            going = going.after(live, *found)
            await asyncio.to_thread(self.book.keep, name, begin, question, {"progress": going.facts()})
            return going

    async def _charged(self, standing: StandingMap, begin: int, about: RangeQuery | Progress) -> Question:
        """Return the question of a window, charged to its user once, with all its rounds."""
        asked = standing.of_window(begin)
        said = plain_publication(asked) if isinstance(about, Progress) else plain_question(asked, about)
        epsilon = about.publication.sizes.epsilon if isinstance(about, Progress) else about.epsilon
        request, key = json.loads(json.dumps(said)), standing.key(begin)  # as it is kept
        try:
            found = await asyncio.to_thread(self._state.begin, standing.user, request, epsilon, key=key)
        except BudgetExhausted:
            raise InvalidInput(f"the allowance of {standing.user!r} is spent; raise it: fedgroup users") from None
        if found.request != request:
            raise InvalidInput(f"{standing.user!r} asked something else with the key {key!r}")
        return found

    async def _heard(
        self,
        standing: StandingMap,
        begin: int,
        question: Question,
        live: LiveQuestion,
        begun: Begun,
        quorum: Quorum,
        progress: Mapping[str, Any],
    ) -> tuple[Tally, Attendance] | None:
        """Return what owners said in a round; None if no owner can answer it, and the window has failed."""
        name = standing.windows.name

        async def keep(fixed: Mapping[str, list[int]], paid: bool) -> None:
            told = replace(begun, fixed=fixed, paid=paid).facts()
            await asyncio.to_thread(self.book.keep, name, begin, question, {**told, **progress})

        named = NamedRound(begun.round, begun.left_out, dict(begun.fixed or {}), keep, begun.paid)
        try:
            return await self._tallied(live, named, standing.user, quorum)
        except TooFewHeard as error:
            late = standing.windows.oldest(begin, self._now()) > begin
            if not late and (INCOMPLETE in error.refused or not error.refused):
                raise  # it is asked for again: whoever paid says the same once more
            charged = named.paid or answered(progress)
            await asyncio.to_thread(self.book.fail, name, begin, question, str(error), charged=charged)
            return None

    async def _publish(self, standing: StandingMap, begin: int, question: Question, made: Released) -> None:
        made = replace(made, notes=(*made.notes, standing.windows.late_note))
        answer = await asyncio.to_thread(result_of, made, self._provider.settings.public_map)
        await asyncio.to_thread(self.book.publish, standing.windows.name, begin, question, answer)

    async def _tallied(
        self, live: LiveQuestion, named: NamedRound, user: str, quorum: Quorum
    ) -> tuple[Tally, Attendance]:
        """Return what owners said when most were heard; who is silent, or behind the time, is waited for a few times.

        Whoever was heard may be away when others are asked once more: it has paid, and counts.
        """
        by, fullest, heard = user[:MOST_TEXT], None, 0
        for attempt in range(ATTEMPTS):
            named.waiting, paid = attempt + 1 < ATTEMPTS, named.paid
            try:
                found = await live.tallied(by=by, quorum=quorum, may_rerun=lambda: False, named=named)
                if len(found[0].heard) >= heard:
                    fullest, heard = found, len(found[0].heard)
                done = not _may_be_more(found[0])
            except (TooFewHeard, TooFewHere) as error:
                refused = error.refused if isinstance(error, TooFewHeard) else {}
                if isinstance(error, TooFewHeard) and not error.charged:
                    await named.note_paid(paid)  # as before: nobody paid in this attempt
                done = INCOMPLETE not in refused and sum(refused.values()) >= max(1, len(self._provider.desk.present))
                if fullest is None and (done or attempt + 1 == ATTEMPTS):
                    raise
            if fullest is not None and (done or attempt + 1 == ATTEMPTS):
                return fullest
            await self._sleep(AGAIN_S)
        raise AssertionError("the last attempt returns or raises")

    def _now(self) -> int:
        return int(self._clock() * 1e6)


def _may_be_more(tally: Tally) -> bool:
    """Tell whether somebody who was not heard may be heard if it is asked once more."""
    missing = tally.present - tally.heard
    return any(tally.refused.get(name, INCOMPLETE) in (INCOMPLETE, "late") for name in missing)


def answered(progress: Mapping[str, Any]) -> bool:
    """Tell whether owners answered a round of an adaptive map before."""
    return bool(progress) and bool(progress["progress"]["heard_of"])


def whole_of(subject: Subject, epsilon: Epsilon, settings: LiveSettings) -> RangeQuery:
    """Return the question about the whole domain as one bin."""
    return subject.question(Grid(settings.public_map.domain, 1, 1), epsilon)


def _method(name: str) -> Method:
    return chosen(name, planned=True)
