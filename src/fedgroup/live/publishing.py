"""A map published by live owners, round by round: each round is an ordinary charged question, and kept before the next.

Guarantee: a round whose answer was kept is never asked again, whatever dies. A round that was begun and whose answer
           was lost is asked anew, with fresh noise, only if it is paid once more; every owner charges itself for each
           round it answers. What is kept between rounds was released, or is public, or names who was heard.
Proof:     docs/guarantees.md#published-maps
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import TooFewHeard, TooFewHere
from fedgroup.live.attendance import Attendance, Quorum
from fedgroup.live.provider import LiveProvider
from fedgroup.live.question import LiveQuestion, notes_of
from fedgroup.live.tally import Tally
from fedgroup.maps.kept import publication_facts, publication_from
from fedgroup.maps.published import PublishedMap, published_map
from fedgroup.maps.publishing import RECORDS_OF_OWNER, Publication, Released, Subject, guess_note, sized
from fedgroup.messages.cells_from import CellsFrom
from fedgroup.messages.limits import MOST_WORDS
from fedgroup.questions.methods import METHODS, PRIVATE, Method, trust_in
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Grid
from fedgroup.space.blocks import Blocks
from fedgroup.user.notes import reading_notes

RETURN_S = 60.0
"""How long owners may take to come back after their provider died, before it goes on without them."""
AGAIN = "a round was spoilt or cut off and asked again: owners in it paid epsilon {:g} in all"

Keep = Callable[["Progress"], Awaitable[None]]


@dataclass(frozen=True, eq=False)
class Progress:
    """How far a publication came.

    begun     how many rounds were begun: one more than were answered while a round is under way
    heard_of  who was heard in each round; their names stay with the provider
    again     what rounds that were asked again cost
    told      what the last round told of itself
    """

    publication: Publication
    method: str
    guessed: bool = False
    begun: int = 0
    heard_of: tuple[tuple[str, ...], ...] = ()
    delta: float = 0.0
    again: Epsilon = NOTHING
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rounds(self) -> int:
        """How many rounds were answered."""
        return len(self.publication.released)

    @property
    def cut_off(self) -> bool:
        """Whether a round was begun whose answer was lost."""
        return self.begun > self.rounds

    def facts(self) -> dict[str, Any]:
        """Return the progress as JSON values."""
        plain = {name: getattr(self, name) for name in ("method", "guessed", "begun", "delta")}
        told = {"heard_of": [list(names) for names in self.heard_of], "again": self.again.nano, "told": dict(self.told)}
        return plain | told | {"publication": publication_facts(self.publication)}

    @classmethod
    def of(cls, facts: Mapping[str, Any], domain: Box) -> Progress:
        """Return a progress from JSON values."""
        rest = {name: facts[name] for name in ("method", "guessed", "begun", "delta", "told")}
        heard_of = tuple(tuple(names) for names in facts["heard_of"])
        publication = publication_from(facts["publication"], domain)
        return cls(publication, heard_of=heard_of, again=Epsilon(facts["again"]), **rest)

    def after(self, asked: LiveQuestion, tally: Tally, attendance: Attendance) -> Progress:
        """Return the progress with one more answer; `heard` tells equal sets of owners apart, and not who they are."""
        settings, heard_of = asked.provider.settings, (*self.heard_of, tuple(sorted(tally.heard)))
        totals = tally.totals(settings.protection)
        (part,) = asked.query.parts
        label = str(heard_of.index(heard_of[-1]))
        delta, colluders = self.delta + tally.delta, settings.masks.colluders
        told = {
            "in_group": None if asked.plan is None else asked.plan.mode,
            "trust": trust_in(tally.modes, colluders=colluders, delta=delta, alone=bool(tally.alone)),
            "groups": tally.groups,
            "noises": tally.noises,
            "notes": [*reading_notes(asked.query, settings.protection), *notes_of(tally, attendance)],
            "refused": tally.reasons,
            **attendance.counts(tally.heard),
        }
        return replace(
            self,
            publication=self.publication.after(Released(totals.parts[part], tally.noises, label)),
            heard_of=heard_of,
            delta=delta,
            again=self.again + asked.query.epsilon * tally.reruns,
            told=told,
        )


async def planned(
    provider: LiveProvider,
    subject: Subject,
    epsilon: Epsilon,
    *,
    method: str | None,
    records: int | None,
    most_cells: int | None,
) -> Progress:
    """Return a map as it would be published now, or say what is wrong with it; nothing is spent.

    Groups may be formed: how many noises there will be decides how fine the map is.
    """
    name, domain = method or quietest(provider), provider.settings.public_map.domain
    async with provider.question(subject.question(Grid(domain, 1, 1), epsilon), method=name) as asked:
        noises = provider.partition(asked.plan)[1]
    guess = max(1, len(provider.desk.present)) * RECORDS_OF_OWNER
    sizes = sized(
        subject,
        domain,
        epsilon,
        noises=noises,
        records=guess if records is None else records,
        protection=provider.settings.protection,
        most_cells=min(MOST_WORDS, most_cells or MOST_WORDS),
    )
    going = Publication(sizes, subject)
    for question in going.questions:
        provider.sendable(question)
    return Progress(going, name, guessed=records is None)


def quietest(provider: LiveProvider) -> str:
    """Return the method with the fewest noises among those that need no plan and can be used now."""
    owners, cohort = max(1, len(provider.desk.present)), provider.settings.cohort_size

    def together(method: Method) -> int:
        return 1 if method.together is None else min(owners, method.together(owners, cohort))

    able = [METHODS[name] for name in reversed(PRIVATE)]  # of equals, mpc
    usable = [method for method in able if not method.needs_plan and provider.can_use(method)]
    return max(usable, key=together).name


async def published(
    provider: LiveProvider,
    going: Progress,
    *,
    keep: Keep,
    by: str,
    quorum: Quorum,
    pay_again: Callable[[Epsilon], bool],
) -> PublishedMap:
    """Return the map, after the rounds that are left; every step is kept before the next one is taken."""
    started = time.perf_counter()
    while (question := going.publication.next_question) is not None:
        if going.cut_off:
            if not pay_again(question.epsilon):
                raise TooFewHeard(heard=0, needed=1)
            going = replace(going, again=going.again + question.epsilon)
        going = replace(going, begun=going.rounds + 1)
        await keep(going)
        going = await _round(provider, going, by=by, quorum=quorum, pay_again=pay_again)
        await keep(going)
    return made_of(going, provider, seconds=time.perf_counter() - started)


async def until_back(provider: LiveProvider, going: Progress, quorum: Quorum, *, seconds: float = RETURN_S) -> None:
    """Wait for the owners that were heard before; after a while a quorum is enough, however long that takes."""
    await provider.desk.until_present(max(map(len, going.heard_of), default=1), seconds)
    while True:
        found = await provider.attendance()
        if await provider.desk.until_present(max(1, quorum.needed(found)), seconds):
            return


def made_of(going: Progress, provider: LiveProvider, *, seconds: float) -> PublishedMap:
    """Return the map that a finished publication stands for."""
    settings, told = provider.settings, dict(going.told)
    sizes = going.publication.sizes
    cost = sizes.epsilon + going.again
    notes = [*told.pop("notes"), *([AGAIN.format(float(cost))] if going.again > NOTHING else [])]
    if going.guessed:
        notes.append(guess_note(sizes.records))
    return published_map(
        going.publication,
        settings.public_map,
        method={"method": going.method, "delta": going.delta, **told},
        rho=sizes.counted(settings.accounting, again=going.again),
        charged=float(cost),
        notes=notes,
        private=True,
        seconds=seconds,
        asked_at=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        protection=str(settings.protection),
    )


async def _round(
    provider: LiveProvider, going: Progress, *, by: str, quorum: Quorum, pay_again: Callable[[Epsilon], bool]
) -> Progress:
    question, cells_from = next_of(going), cells_of(going)
    try:
        async with provider.question(question, method=going.method, as_map=True, cells_from=cells_from) as asked:
            tally, attendance = await asked.tallied(by=by, quorum=quorum, may_rerun=lambda: pay_again(question.epsilon))
            return going.after(asked, tally, attendance)
    except (TooFewHeard, TooFewHere) as error:
        if not going.rounds and not going.again > NOTHING:
            raise
        # owners paid for the rounds before
        raise error.as_charged() if isinstance(error, TooFewHeard) else TooFewHeard(heard=0, needed=1) from None


def next_of(going: Progress) -> RangeQuery:
    """Return the question of the round that comes next; there is one."""
    question = going.publication.next_question
    assert question is not None  # noqa: S101  the caller looked
    return question


def cells_of(going: Progress) -> CellsFrom | None:
    """Return what owners check the cells of the next round by; None where it has none of its own."""
    return _told_of(going.publication) if isinstance(next_of(going).range, Blocks) else None


def _told_of(publication: Publication) -> CellsFrom:
    """Return what owners check the cells by."""
    sizes, earlier = publication.sizes, publication.released
    return CellsFrom(
        sizes.epsilon.nano,
        sizes.records,
        sizes.most_cells,
        float(sizes.noises),
        [float(each.noises) for each in earlier],
        [each.counts.tolist() for each in earlier],
    )
