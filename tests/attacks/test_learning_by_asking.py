"""Clever users learn no more than they are charged for: by averaging, by differences, by trackers.

What each may learn is the epsilon that the ledger took from its target. Noise is fixed; `ALARM` is the chance that
another noise would fail one of these tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.lab.audit.bounds import least_epsilon
from fedgroup.lab.audit.events import best_event
from fedgroup.lab.audit.views import Answers, Price
from fedgroup.lab.audit.worlds import SeenRecord, Setting, table
from fedgroup.privacy.law import DiscreteLaplace
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import Polygon, Rectangle
from fixed_noise import fixed_noise

DRAWS, ALARM = 4_000, 1e-6
CITY = Rectangle(0, 0, 4, 4)
HOUSE = Rectangle(0, 0, 2, 2)
ALL_BUT_THE_HOUSE = Polygon(((2, 0), (4, 0), (4, 4), (0, 4), (0, 2), (2, 2)))
NEIGHBOURS = tuple(SeenRecord(cell) for cell in (1, 2, 3, 3))


def answers(places: Sequence[object], *, at_home: bool, noise: NoiseSource) -> Answers:
    """What is answered about some places, where somebody is at home or nobody is, and others are elsewhere."""
    setting = Setting("count", "range", Protection())
    records = table((*NEIGHBOURS, SeenRecord(0)) if at_home else NEIGHBOURS, "range", owners=1, subjects=False)
    return Answers(setting, records, method="dp", price=Price(0.5), noise=noise, places=tuple(places))


def learnt(places: Sequence[object], combination: Sequence[int]) -> tuple[float, float]:
    """Return the epsilon that is proved by the combination, or by the best use of all answers; and the charge."""
    sides = [answers(places, at_home=there, noise=fixed_noise(f"{combination} {there}")) for there in (True, False)]
    shown = [side.draw(DRAWS) for side in sides]
    half = DRAWS // 2
    found = 0.0
    for one, other in ([side @ np.array([combination]).T for side in shown], shown):
        event = best_event(one[:half], other[:half], delta=0.0).event
        counted = [int(event.holds(side[half:]).sum()) for side in (one, other)]
        likely, unlikely = reversed(counted) if event.swapped else counted
        found = max(found, least_epsilon(likely, unlikely, half, alarm=ALARM))
    return found, sides[0].charge


@pytest.mark.parametrize(
    ("places", "combination", "touched"),
    [
        # differencing: the city less the city without the house; only the first answer holds who is at home
        ((CITY, ALL_BUT_THE_HOUSE), (1, -1), 1),
        # a tracker: two large ranges that overlap in the house alone, less the whole
        ((Rectangle(0, 0, 4, 2), Rectangle(0, 0, 2, 4), CITY), (1, 1, -1), 3),
    ],
    ids=["differencing", "tracker"],
)
def test_combining_large_ranges_tells_no_more_of_a_house_than_was_charged(
    places: Sequence[object], combination: Sequence[int], touched: int
) -> None:
    found, charged = learnt(places, combination)
    assert charged == pytest.approx(0.5 * len(places))
    # the attack works, as far as epsilon lets it, and answers that the house is in are all that it learns from
    assert 0.1 < found <= 0.5 * touched <= charged


def test_asking_again_tells_nothing_new_and_asking_anew_ends_with_the_budget() -> None:
    budget, each = 1.0, 0.05
    records = fg.Records(owner=[0] * 40, x=[1.0] * 40, y=[1.0] * 40, owners=[0])
    federation = fg.Federation(records, fg.Box(0, 0, 4, 4), budget=budget, noise=fixed_noise("averaging"))
    first = federation.count(HOUSE, epsilon=each)
    again = [federation.count(HOUSE, epsilon=each) for _ in range(50)]
    assert {answer.value for answer in again} == {first.value}
    assert federation.spent == pytest.approx(each)
    anew = [first.value]
    for _ in range(round(budget / each) - 1):
        anew.append(federation.count(HOUSE, epsilon=each, fresh=True).value)
    with pytest.raises(fg.BudgetExhausted):
        federation.count(HOUSE, epsilon=each, fresh=True)
    # the mean of all is no sharper than one answer for the whole budget would have been
    spread_of_mean = math.sqrt(DiscreteLaplace(1 / Epsilon.of(each).exact).variance / len(anew))
    assert spread_of_mean > math.sqrt(DiscreteLaplace(1 / Epsilon.of(budget).exact).variance)
    assert len(set(anew)) > 5
