"""How far a few lying owners move answers: unchecked, found out, and within the bounds of what honest ones can give.

A simulation of cohorts over a synthetic city, question after question, with the bounds and the elimination of a live
provider (`live/bounds.py`, `live/doubts.py`). Evaluation only: it knows the truth, and its noise is seeded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.live.bounds import FALSE_ALARM, Bounds
from fedgroup.live.doubts import Doubts
from fedgroup.live.mending import Lapses
from fedgroup.live.plans import cohorts_of
from fedgroup.owner.records import Records
from fedgroup.privacy.largest_noise import largest_noise
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.round import MaskSettings
from fedgroup.space import Circle

Ints = npt.NDArray[np.int64]

QUESTIONS = 4
"""The first answers in a row, in which liars are found out."""
FAR = 1_000_000
RECORDS = 33
MOST_RECORDS = 250
"""What a liar adds that knows no bounds; how many records an owner of the city has on average; and the public bound,
which is about what the heaviest of 500 owners has."""
RADIUS_M = 1_500.0
NONE, UNCHECKED, CHECKED = "no liars", "far off, unchecked", "far off, checked"
WITHIN, WITHIN_ALONE = "as far as bounds allow", "as far as bounds allow, everybody alone (dp)"


@dataclass(frozen=True)
class LiarRow:
    """Means over all trials of one question in a row: owners heard, and errors for the owners heard."""

    liars: str
    question: int
    heard: float
    mae: float


def liars_measured(
    *, owners: int, epsilon: float, share: float = 0.01, cohort: int = 50, trials: int = 20, seed: int = 0
) -> Iterator[LiarRow]:
    """Yield what liars, this share of all owners, do to the first questions of each trial."""
    city = synthesize(owners, records_per_owner=RECORDS, seed=seed)
    for strategy in (NONE, UNCHECKED, CHECKED, WITHIN, WITHIN_ALONE):
        lying = 0 if strategy == NONE else max(1, round(share * owners))
        outcomes = [
            _trial(
                city,
                owners,
                lying,
                strategy,
                epsilon=epsilon,
                cohort=1 if strategy == WITHIN_ALONE else cohort,
                seed=seed + trial,
            )
            for trial in range(trials)
        ]
        for number in range(QUESTIONS):
            heard, errors = zip(*(outcome[number] for outcome in outcomes), strict=True)
            yield LiarRow(strategy, number + 1, float(np.mean(heard)), float(np.mean(errors)))


def _trial(
    city: Records, owners: int, lying: int, strategy: str, *, epsilon: float, cohort: int, seed: int
) -> list[tuple[int, float]]:
    """Return how many were heard, and the error, of each question."""
    rng, noise = np.random.default_rng(seed), SeededNoise(seed)
    names = [str(number) for number in range(owners)]
    liars = frozenset(names[:lying])
    doubts, lapses = Doubts(), Lapses({})
    bounds = Bounds(Protection(), {}, MOST_RECORDS)
    found: list[tuple[int, float]] = []
    for _ in range(QUESTIONS):
        at = int(rng.integers(len(city.x)))
        query = RangeQuery("count", Circle(float(city.x[at]), float(city.y[at]), RADIUS_M), Epsilon.of(epsilon))
        exact = _counts(city, query, owners)
        left_out = lapses.left_out
        shuffled = [str(name) for name in rng.permutation([name for name in names if name not in left_out])]
        groups = [*cohorts_of(shuffled, cohort), *((name,) for name in sorted(left_out))]
        heard, impossible, total = set[str](), set[str](), 0
        for members in groups:
            parts = MaskSettings().terms(len(members)).parts if len(members) > 1 else 0
            honest = sum(exact[name] for name in members) + _noise(noise, query, len(members), parts)
            told = _told(honest, members, liars, strategy, query=query, parts=parts)
            if strategy == UNCHECKED or bounds.possible(query, np.array([told]), members, parts=parts):
                heard |= set(members)
                total += told
            else:
                impossible |= set(members)
        lapses.note_alone(heard & left_out)
        lapses.note_failed(doubts.note(impossible=impossible, possible=heard))
        found.append((len(heard), abs(total - sum(exact[name] for name in heard))))
    return found


def _told(
    honest: int, members: tuple[str, ...], liars: frozenset[str], strategy: str, *, query: RangeQuery, parts: int
) -> int:
    """Return the sum that a group with liars gives; at worst they know the sum of all others, noise included."""
    lying = len(liars.intersection(members))
    if not lying:
        return honest
    if strategy not in (WITHIN, WITHIN_ALONE):
        return honest + lying * FAR
    (scale,) = scales_of(query, Protection()).values()
    noises = len(members) / parts if parts else 1.0
    moved = largest_noise(scale, noises=noises, shared=bool(parts), chance=FALSE_ALARM / 2)
    return MOST_RECORDS * len(members) + moved


def _counts(city: Records, query: RangeQuery, owners: int) -> Mapping[str, int]:
    circle = query.range
    assert isinstance(circle, Circle)  # noqa: S101  as it was made
    inside = np.hypot(city.x - circle.x, city.y - circle.y) < circle.radius
    counts = np.bincount(city.code[inside], minlength=owners)
    return {str(number): int(count) for number, count in enumerate(counts)}


def _noise(noise: SeededNoise, query: RangeQuery, members: int, parts: int) -> int:
    (scale,) = scales_of(query, Protection()).values()
    assert not hasattr(scale, "skellam")  # noqa: S101  priced in epsilon
    if parts:
        return int(noise.sums_of_shares(scale, parts, members, 1)[0])
    return int(noise.laplace_sums(scale, 1, 1)[0])
