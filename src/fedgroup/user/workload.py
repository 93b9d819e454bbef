"""What a whole plan of work can be like under one total: so many maps, so many questions, each as sharp as the others.

Nothing is asked and nothing is spent: it is all a matter of noise and of accounting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.given import number, whole_number
from fedgroup.messages import NoiseScale
from fedgroup.privacy.concentrated import law_of_noise, variances_of
from fedgroup.privacy.release import scale_of_noise
from fedgroup.privacy.zcdp import rho_within
from fedgroup.questions.answers import ExpectedError
from fedgroup.rho import Delta, Rho

CONFIDENCE = 0.95

PURE, LAPLACE, GAUSSIAN = "pure epsilon, Laplace", "zcdp, Laplace", "zcdp, Gaussian"
WAYS = (PURE, LAPLACE, GAUSSIAN)


@dataclass(frozen=True)
class Work:
    """So many answers of one sort, and how far one protected unit moves each of them: in L1, and in L2 squared."""

    name: str
    times: int
    reach: int = 1
    squared: int = 1

    def __post_init__(self) -> None:
        for name, least in (("times", 0), ("reach", 1), ("squared", 1)):
            whole_number(getattr(self, name), name=name, least=least)


@dataclass(frozen=True)
class WorkExpected:
    """How far off each answer of one sort is, by every way to count and to make noise, and which of them is best.

    `epsilon` and `rho` are what each answer gets: a share of the total, equal for all.
    """

    name: str
    times: int
    epsilon: float
    rho: float
    errors: Mapping[str, ExpectedError]

    @property
    def best(self) -> str:
        """The way whose interval is narrowest; pure epsilon where it is no wider, for its promise is the stronger."""
        return min(WAYS, key=lambda way: (self.errors[way].half_width, WAYS.index(way)))


def expect_work(
    works: Sequence[Work],
    *,
    budget: float | Epsilon,
    delta: float | Delta,
    noises: float = 1.0,
    shared: float = 0.0,
) -> list[WorkExpected]:
    """Return what each answer is like if all of `works` share a total of epsilon and delta.

    `noises` is how many noises an answer holds: one with mpc, one an owner with dp; `shared` of them come in shares.
    """
    total, chance = Epsilon.of(budget, name="budget"), Delta.of(delta)
    asked = [work for work in works if work.times]
    answers = sum(work.times for work in asked)
    if not answers:
        raise InvalidInput("a plan of work has an answer at least: say how many maps, and how many questions")
    if not 0 <= number(shared, name="shared") <= number(noises, name="noises") or noises <= 0:
        raise InvalidInput("noises is a number above 0, and shared at most that")
    epsilon, rho = total.split(answers), rho_within(total, chance).split(answers)
    return [_expected(work, epsilon, rho, noises=float(noises), shared=float(shared)) for work in asked]


def _expected(work: Work, epsilon: Epsilon, rho: Rho, *, noises: float, shared: float) -> WorkExpected:
    scales: dict[str, NoiseScale] = {
        PURE: scale_of_noise(work.reach, epsilon),
        LAPLACE: scale_of_noise(work.reach, rho.pure),
        GAUSSIAN: variances_of(work.reach, work.squared, rho),
    }
    errors = {}
    for way, scale in scales.items():
        law = law_of_noise(scale, noises=noises, shared=shared, continuous=False)
        errors[way] = ExpectedError(law.mean_absolute(), law.standard_deviation, law.half_width(CONFIDENCE))
    return WorkExpected(work.name, work.times, float(epsilon), float(rho), errors)
