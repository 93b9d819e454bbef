"""One question to a live federation, from its plan to its answer: looked up, mended and named once."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable, TooFewHeard, groups_in_words, refusals_in_words, silence_in_words
from fedgroup.live.asking import NamedRound
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.balances import left_in_words
from fedgroup.live.logs import note_refusals
from fedgroup.live.plans import LivePlan
from fedgroup.live.tally import Tally
from fedgroup.maps.private_map import MOST_STORED, PrivateMap, map_facts, map_from
from fedgroup.messages.asked import Check
from fedgroup.messages.said import Checked
from fedgroup.messages.wire_query import WireQuery
from fedgroup.privacy.release import scales_of
from fedgroup.questions import answers
from fedgroup.questions.answers import Answer, Expectation, answer_facts
from fedgroup.questions.methods import Method, trust_in
from fedgroup.questions.query import RangeQuery
from fedgroup.user import role as user
from fedgroup.user.notes import reading_notes
from fedgroup.user.pricing import price_facts

if TYPE_CHECKING:
    from fedgroup.live.provider import LiveProvider

log = logging.getLogger("fedgroup.provider")

Released = Answer | PrivateMap
"""What comes of a question: a value, or those of all bins of a map."""

_AWAY = "owner that was here before is away; its records are not counted"
_ALL_AWAY = "owners that were here before are away; their records are not counted"


@dataclass(frozen=True)
class LiveQuestion:
    """A question with the groups that answer it, which stay while it is held (`LiveProvider.question`).

    What comes of it is a map if it has places, steps or categories, or is asked for as one (`as_map`).
    """

    provider: LiveProvider
    query: RangeQuery
    wire: WireQuery
    method: Method
    plan: LivePlan | None
    key: str
    as_map: bool

    async def again(self) -> Released | None:
        """Return the stored answer to the same question, for nothing, if every owner in it has the same data still."""
        started = time.perf_counter()
        found = self.provider.store.earlier(self.key)
        if found is None:
            return None
        earlier, stored = found
        check = Check(secrets.token_bytes(16), earlier)
        everyone = dict.fromkeys(stored["heard_of"], check)
        desk, seconds = self.provider.desk, self.provider.settings.seconds
        replies = await desk.ask(check.round, everyone, (Checked,), seconds=seconds)
        if set(replies.said) != set(everyone) or not all(said.same for said in replies.said.values()):
            return None
        log.info("asked", extra=self._told)
        log.info("answered", extra=self._told)
        attendance = await self.provider.attendance(self.plan)
        known = with_attendance(self._stored(stored), attendance, heard=set(everyone))
        return replace(known, seconds=time.perf_counter() - started)

    async def ask(
        self, *, by: str = "", quorum: Quorum | None = None, may_rerun: Callable[[], bool] = lambda: True
    ) -> Released:
        """Return the answer of the owners that are here; with fewer than the `quorum` nobody is asked."""
        started, provider = time.perf_counter(), self.provider
        tally, attendance = await self.tallied(by=by, quorum=quorum, may_rerun=may_rerun)
        answer = self.read(tally, attendance)
        if not tally.reruns and self.query.bins <= MOST_STORED:
            with contextlib.suppress(LedgerUnavailable):  # what is not kept is asked and paid for again
                facts = facts_of(answer) | {"heard_of": sorted(tally.heard)}
                provider.store.keep(self.key, tally.rounds[0], facts)
        return replace(answer, seconds=time.perf_counter() - started)

    async def tallied(
        self, *, by: str, quorum: Quorum | None, may_rerun: Callable[[], bool], named: NamedRound | None = None
    ) -> tuple[Tally, Attendance]:
        """Return what the owners that are here said, of whom at least one was heard, and who is here."""
        provider = self.provider
        log.info("asked", extra=self._told)
        attendance = await provider.attendance(self.plan)
        (quorum or provider.settings.quorum).require(attendance)
        tally = await provider.put(self, attendance, by=by, may_rerun=may_rerun, named=named)
        note_refusals(log, tally.refused)
        provider.desk.balances.note(self.query.epsilon, heard=tally.heard, refused=tally.refused)
        self._require_heard(tally)
        provider.answered_at = time.time()
        log.info("answered", extra=self._told)
        return tally, attendance

    async def expect(self, *, left: Epsilon) -> Expectation:
        """Return what an answer would be like if everybody who is here answers; nothing is spent."""
        provider, plan, epsilon = self.provider, self.plan, self.query.epsilon
        groups, noises = provider.partition(plan)
        method = {
            "method": self.method.name,
            "in_group": None if plan is None else plan.mode,
            "trust": provider.trust(plan),
            "groups": groups,
            "noises": noises,
            "owners": len(provider.desk.present),
            **price_facts(self.query, provider.settings.accounting, times=1, delta=0.0 if plan is None else plan.delta),
        }
        return user.expectation(
            self.query,
            scales=scales_of(self.query, provider.settings.protection),
            method=method,
            charge=epsilon,
            left=left,
            shared=provider.shared(plan),
            private=True,
            owners_left=await provider.owners_left_now(epsilon),
        )

    def _require_heard(self, tally: Tally) -> None:
        if tally.heard:
            return
        spent = tally.for_budgets
        left = left_in_words(self.provider.owners_left(self.query.epsilon)) if spent else None
        raise TooFewHeard(
            heard=0,
            needed=1,
            refused=tally.reasons,
            charged=tally.paid,
            spent=spent,
            known_left=left,
            silent=len(tally.unheard_silent),
            gave_nothing=tally.given_up,
        )

    def _stored(self, facts: Mapping[str, Any]) -> Released:
        """Return what was kept, marked as such and free."""
        if not self.as_map:
            return answers.again(facts)
        return map_from(facts, self.query, self.provider.settings.public_map, stored=True, charged=0.0)

    def read(self, tally: Tally, attendance: Attendance) -> Released:
        """Return the answer that what was said comes to."""
        settings, times = self.provider.settings, 1 + tally.reruns
        colluders, alone = settings.masks.colluders, bool(tally.alone)
        method = {
            "method": self.method.name,
            "in_group": None if self.plan is None else self.plan.mode,
            "trust": trust_in(tally.modes, colluders=colluders, delta=tally.delta, alone=alone),
            "groups": tally.groups,
            "noises": tally.noises,
            **price_facts(self.query, settings.accounting, times=times, delta=tally.delta),
        }
        told: dict[str, Any] = {
            "method": method,
            "charged": float(self.query.epsilon * times),
            "notes": (*reading_notes(self.query, settings.protection), *notes_of(tally, attendance)),
            "private": True,
            "asked_at": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
            "refused": tally.reasons,
            "log_entry": tally.entry,
            **attendance.counts(tally.heard),
        }
        totals = tally.totals(settings.protection)
        public_map = settings.public_map
        if self.as_map:
            protected = str(settings.protection)
            return user.map_answer(self.query, totals, public_map=public_map, protection=protected, **told)
        return user.answer(self.query, [totals], lonlat=public_map.lonlat, **told)

    @property
    def _told(self) -> dict[str, str]:
        """What the log tells of a question."""
        return {"method": self.method.name, "kind": self.query.kind}


def notes_of(tally: Tally, attendance: Attendance) -> tuple[str, ...]:
    """Return what is to be known about an answer in which some of the known owners may be missing."""
    notes = []
    if attendance.known - tally.heard:
        notes.append("the answer is about the owners heard; nothing is extrapolated to those missing")
    if tally.reasons:
        notes.append(refusals_in_words(tally.reasons))
    if tally.unheard_silent:
        notes.append(silence_in_words(len(tally.unheard_silent)))
    if tally.recovered:
        notes.append("members of masked groups fell silent in the middle; their groups answered without them")
    if tally.given_up:
        notes.append(groups_in_words(tally.given_up))
    if tally.reruns:
        notes.append("a group fell silent in the middle and was asked again, at the same price once more")
    return (*notes, *_away(attendance))


def facts_of(released: Released) -> dict[str, Any]:
    """Return what came of a question as JSON values."""
    return map_facts(released) if isinstance(released, PrivateMap) else answer_facts(released)


def with_attendance(answer: Released, attendance: Attendance, *, heard: Collection[str]) -> Released:
    """Return an answer that is given again, with who is known and who is away now.

    Why owners refused is told as long as so many are here unheard; else who refused and went would be told of twice.
    """
    lasting = tuple(note for note in answer.notes if not note.endswith((_AWAY, _ALL_AWAY)))
    known = Attendance(attendance.known.union(heard), attendance.present.union(heard))
    counts = known.counts(heard)
    refused = answer.refused if sum(answer.refused.values()) <= counts["missing"] - counts["absent"] else {}
    return replace(answer, **counts, refused=refused, notes=(*lasting, *_away(known)))


def _away(attendance: Attendance) -> tuple[str, ...]:
    away = len(attendance.absent)
    return (f"{away} {_AWAY if away == 1 else _ALL_AWAY}",) if away else ()
