"""What counted outcomes prove: lower bounds on epsilon and delta by Clopper and Pearson.

A release promises P(S) <= exp(epsilon) P'(S) + delta for every event S. Both chances are counted, each is bounded on
the side that speaks for the release, and what is left speaks against it.
"""

from __future__ import annotations

import math

from scipy import stats


def chance_at_least(found: int, draws: int, *, alarm: float) -> float:
    """Return a bound that lies above the chance of what was found so often only with a chance of `alarm`."""
    return 0.0 if found == 0 else float(stats.beta.ppf(alarm, found, draws - found + 1))


def chance_at_most(found: int, draws: int, *, alarm: float) -> float:
    """Return a bound that lies below the chance of what was found so often only with a chance of `alarm`."""
    return 1.0 if found == draws else float(stats.beta.ppf(1 - alarm, found + 1, draws - found))


def least_epsilon(likely: int, unlikely: int, draws: int, *, alarm: float, delta: float = 0.0) -> float:
    """Return a lower bound of the epsilon that holds with `delta`, from one event in two worlds' so many draws each.

    It exceeds the true one with a chance of at most `alarm`: half of it for either chance. An event that shows nothing
    bounds nothing: 0.
    """
    above = chance_at_least(likely, draws, alarm=alarm / 2) - delta
    below = chance_at_most(unlikely, draws, alarm=alarm / 2)
    return max(0.0, math.log(above / below)) if above > 0 else 0.0


def least_delta(likely: int, unlikely: int, draws: int, *, alarm: float, epsilon: float) -> float:
    """Return a lower bound of the delta that goes with an `epsilon`; it exceeds the true one as rarely."""
    above = chance_at_least(likely, draws, alarm=alarm / 2)
    return above - math.exp(epsilon) * chance_at_most(unlikely, draws, alarm=alarm / 2)
