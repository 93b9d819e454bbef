"""What a published map knows, sharpened by an answer that was paid: both together, by inverse variances.

Guarantee: everything here is made of what was released: it costs nothing. Both together are told as private only if
           both are, with what the paid answer trusts, cost and heard.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedgroup.maps.answering import Atlas, Weights
from fedgroup.maps.free import NOTHING, Comparison, FreeAnswer, Z, nothing_note, quantile
from fedgroup.questions.answers import PrivateAnswer

ALONE = "the published map is of other records by now, so this is the owners' answer alone: it is less sharp than asked"
TOGETHER = "combined with what the published map knows"
COMBINED = ("count", "sum")
"""Kinds whose paid answers mean what a map's do: people on a map are counted at their first place only."""
_IN_99 = 2.576 / Z
"""So much farther reaches what holds in 99 of 100 cases than what does in 95."""
_OF_PAID = (
    "epsilon", "charged", "rho", "method", "in_group", "trust", "groups", "noises", "owners", "heard", "missing",
    "refused", "absent", "stored", "asked_at", "seconds", "log_entry",
)  # fmt: skip
"""What is told of both together as it is of the paid answer."""


def combined(paid: PrivateAnswer, free: FreeAnswer, *, signed: bool) -> FreeAnswer:
    """Return a paid answer about a range together with what a map knows of it; it is narrower than both."""
    assert paid.value is not None  # noqa: S101  callers look
    assert free.value is not None  # noqa: S101
    weight, of_paid = share_of_paid(free, paid), variance_of(paid)
    value = weight * paid.value + (1 - weight) * free.value
    noise = math.sqrt(weight**2 * of_paid + ((1 - weight) * free.noise) ** 2)
    uneven = (1 - weight) * free.uneven
    half = _quantile(paid.noises) * math.hypot(noise, uneven)
    # a place picked because it is busy: what the free part leaves of it
    more = (1 - weight) * max(free.interval[1] - free.value - free.half_width, 0.0)
    ends = (value - half if signed else max(value - half, 0.0), value + half + more)
    # whether there may be nothing is told by the interval of both, not by the map's own
    known = (each for each in free.notes if each != NOTHING)
    told: dict[str, Any] = {name: getattr(paid, name) for name in _OF_PAID}
    told |= {
        "private": paid.private and free.private,
        "delta": max(paid.delta, free.delta),
        "notes": tuple(dict.fromkeys((*known, *paid.notes, TOGETHER, *nothing_note(ends)))),
    }
    return replace(free, value=value, interval=ends, noise=noise, uneven=uneven, **told)


def foreseen_half_width(free: FreeAnswer, half_width: float, *, noises: float) -> float:
    """Return how far a free answer will reach, once one that reaches `half_width` is paid and combined with it."""
    known, paid = free.noise**2 + free.uneven**2, (half_width / _quantile(noises)) ** 2
    return _quantile(noises) * math.sqrt(known * paid / (known + paid)) if known + paid else 0.0


def share_of_paid(free: FreeAnswer, paid: PrivateAnswer) -> float:
    """Return the weight of the paid answer in both together, from 0 to 1."""
    known, of_paid = free.noise**2 + free.uneven**2, variance_of(paid)
    return known / (known + of_paid) if known + of_paid else 1.0


def variance_of(paid: PrivateAnswer) -> float:
    """Return the variance of a paid answer, as its interval tells it."""
    low, high = paid.interval
    return ((high - low) / 2 / _quantile(paid.noises)) ** 2


def agree(paid: PrivateAnswer, free: FreeAnswer) -> bool:
    """Tell whether a map and a paid answer can be about the same records.

    They are not where other owners were heard, or where they differ by more than chance explains in 99 of 100 cases:
    then records may have come or gone between them, and both together would tell of neither.
    """
    if paid.value is None or free.value is None or paid.heard != free.heard:
        return False
    spread = math.sqrt(variance_of(paid) + free.noise**2 + free.uneven**2)
    return abs(paid.value - free.value) <= _IN_99 * _quantile(paid.noises) * spread


@dataclass(frozen=True, eq=False)
class Known:
    """All that is known of a range: what a map says about it, and maybe a paid answer.

    `held` is what the map says, maybe negative; `share` the weight of the paid answer, 1 where it stands `alone`.
    """

    weights: Weights
    free: FreeAnswer
    held: float
    paid: PrivateAnswer | None = None
    alone: bool = False

    @property
    def share(self) -> float:
        if self.paid is None:
            return 0.0
        return 1.0 if self.alone else share_of_paid(self.free, self.paid)

    @property
    def value(self) -> float:
        paid = 0.0 if self.paid is None else self.paid.value or 0.0
        return self.share * paid + (1 - self.share) * self.held

    @property
    def variance(self) -> float:
        """What the paid answer adds to the variance of both together."""
        return 0.0 if self.paid is None else self.share**2 * variance_of(self.paid)

    @property
    def of_map(self) -> Weights:
        """The map's part in both together."""
        left = 1 - self.share
        return Weights(self.weights.blocks, self.weights.share * left, self.weights.cells, self.weights.part * left)


def compared(atlas: Atlas, one: Known, other: Known, *, step: float, noises: float, confidence: float) -> Comparison:
    """Return how much more there is in one range than in another; noise of the map that both share cancels."""
    noise = atlas.noise(atlas.difference(one.of_map, other.of_map))
    paid = one.variance + other.variance
    spread = math.sqrt(noise.variance * step**2 + paid)
    uneven = math.hypot(*((1 - each.share) * each.free.uneven for each in (one, other)))
    half = _joint(noise.fewness, noises, [one, other]) * math.hypot(spread, uneven)
    value = one.value - other.value
    return Comparison(value, (value - half, value + half), spread, uneven, confidence)


def _joint(fewness: float, noises: float, known: Sequence[Known]) -> float:
    """Return the quantile of a sum of parts: at most that of the part with the fewest noises."""
    excess = [3 * fewness / max(noises, 1)] + [3 / max(each.paid.noises, 1) for each in known if each.paid is not None]
    return quantile(max(excess))


def _quantile(noises: float) -> float:
    return quantile(3 / max(noises, 1))
