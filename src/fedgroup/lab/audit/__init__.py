"""An audit that anybody can run: releases are attacked, and what that shows is held against what they are charged.

Every row looks at pairs of worlds that differ by one protected unit. A pair and an event are chosen on some outcomes
and judged on others, so that the bound holds whatever was chosen. One false alarm in all rows together has a chance of
at most `FALSE_ALARM`: each row gets an equal part of it (Bonferroni).

Not covered: an event that nobody looked for. A row that stays below its charge is evidence, never a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from multiprocessing import get_context
from typing import Any

from fedgroup.lab.audit.bounds import least_epsilon
from fedgroup.lab.audit.events import FoundEvent, best_event
from fedgroup.lab.audit.power import least_noticed
from fedgroup.lab.audit.rows import AuditRow, every_row
from fedgroup.lab.audit.worlds import Pair
from fedgroup.privacy.noise import NoiseSource, SecureNoise

FALSE_ALARM = 1e-3
"""The chance that a right installation fails an audit, all rows together."""
SEARCHED = 0.25
"""Outcomes of every pair that are looked at to choose pair and event, as a share of those that are judged."""
QUICK = 0.3
"""A quick audit draws so much of what a full one draws in a row."""


@dataclass(frozen=True)
class Verdict:
    """What a row showed: a lower bound of its epsilon beside its charge, and the least excess it would have noticed.

    `noticed` is a factor: noise made for a sensitivity so many times too small raises an alarm in nine runs of ten.
    """

    row: AuditRow
    bound: float
    charge: float
    noticed: float | None
    pair: str
    draws: int
    seconds: float

    @property
    def exceeds(self) -> bool:
        """Whether more was learnt than was charged."""
        return self.bound > self.charge


def chosen_rows(*, quick: bool = False, only: str = "") -> list[AuditRow]:
    """Return the rows of an audit: all, a stated sample of them, or those with some words in their name."""
    return [row for row in every_row() if (row.quick or not quick) and only.lower() in row.name.lower()]


def audited(
    rows: Sequence[AuditRow],
    *,
    effort: float = 1.0,
    noise: Callable[[], NoiseSource] = SecureNoise,
    jobs: int = 1,
    share: float | None = None,
) -> Iterator[Verdict]:
    """Yield the verdict on each row, in their order; `effort` is a share of the draws of a full audit.

    Several `jobs` are processes of their own, each of which makes its noise itself. A row's `share` of the false alarm
    is that of so many rows, unless it is said.
    """
    alarm = FALSE_ALARM / len(rows) if share is None else share
    if jobs == 1:
        yield from (judged(row, alarm=alarm, effort=effort, noise=noise) for row in rows)
        return
    place = {row.name: position for position, row in enumerate(every_row())}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        found = [pool.submit(_facts_of, place[row.name], alarm, effort, noise) for row in rows]
        for row, facts in zip(rows, found, strict=True):
            yield Verdict(row, **facts.result())


def _facts_of(position: int, alarm: float, effort: float, noise: Callable[[], NoiseSource]) -> dict[str, Any]:
    """Return the verdict on the row at a position, without the row: what opens worlds cannot be sent."""
    verdict = judged(every_row()[position], alarm=alarm, effort=effort, noise=noise)
    return {field.name: getattr(verdict, field.name) for field in fields(verdict) if field.name != "row"}


def judged(
    row: AuditRow, *, alarm: float, effort: float = 1.0, noise: Callable[[], NoiseSource] = SecureNoise
) -> Verdict:
    """Return the verdict on one row, which is a false alarm with a chance of at most `alarm`."""
    started = time.perf_counter()
    draws = max(200, round(row.draws * effort))
    searches = [_searched(row, pair, draws, noise) for pair in row.pairs]
    best, pair = max(zip(searches, row.pairs, strict=True), key=lambda each: each[0].hoped)
    one, other = row.open(pair.one, noise()), row.open(pair.other, noise())
    try:
        charge = max(one.charge, other.charge)
        found = [int(best.event.holds(view.draw(draws)).sum()) for view in (one, other)]
    finally:
        one.close()
        other.close()
    likely, unlikely = reversed(found) if best.event.swapped else found
    delta = row.price.delta
    return Verdict(
        row,
        bound=least_epsilon(likely, unlikely, draws, alarm=alarm, delta=delta),
        charge=charge,
        noticed=least_noticed(row.law, draws=draws, alarm=alarm, charge=charge, delta=delta),
        pair=pair.name,
        draws=draws,
        seconds=time.perf_counter() - started,
    )


def _searched(row: AuditRow, pair: Pair, draws: int, noise: Callable[[], NoiseSource]) -> FoundEvent:
    outcomes = []
    for seen in (pair.one, pair.other):
        view = row.open(seen, noise())
        try:
            outcomes.append(view.draw(max(200, round(SEARCHED * draws))))
        finally:
            view.close()
    one, other = outcomes
    return best_event(one, other, delta=row.price.delta)
