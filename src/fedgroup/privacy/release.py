"""The turnstile: the one place through which anything made from records leaves its owner.

`release_vectors` and `release_sum` add noise, and what they return may be shown to anyone; so may what
`release_masked` returns, of which only sums over whole groups mean anything. `disclose_to_leader` adds none: it is
the paper's trusted group, and what it returns may be shown to one leader only. Budgets are charged by the caller,
before it comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoisyAnswers, NoisyVectors
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Grid

Ints = npt.NDArray[np.int64]
Mask = Callable[[Ints], npt.NDArray[np.uint64]]

_CHUNK = 1 << 20
"""How many counts get their noise together: 8 MB of noise."""


class Disclosed:
    """An exact partial answer on its way to the leader of a trusted group; it does not print."""

    __slots__ = ("partials",)

    def __init__(self, partials: Mapping[str, int]) -> None:
        self.partials = partials

    def __repr__(self) -> str:
        return "Disclosed(<private>)"


def scale_of_noise(sensitivity: int, epsilon: Epsilon) -> Fraction:
    """Return Delta / epsilon, exactly."""
    return Fraction(sensitivity) / epsilon.exact


def scales_of(query: RangeQuery, protection: Protection) -> dict[str, Fraction]:
    """Return the scale of the noise that each part of the answer gets."""
    return dict(_scales(query.parts, query.measure, query.epsilon_of_part, protection))


@lru_cache(maxsize=256)
def _scales(
    parts: tuple[str, ...], measure: Measure | None, epsilon: Epsilon, protection: Protection
) -> Mapping[str, Fraction]:
    return {part: scale_of_noise(_sensitivity(part, measure, protection), epsilon) for part in parts}


def release_vectors(
    exact: npt.NDArray[np.int32], *, grid: Grid, epsilon: Epsilon, protection: Protection, noise: NoiseSource
) -> NoisyVectors:
    """Return every owner's count vector with independent Laplace noise on each cell.

    Requires:  `exact` has one row per owner and one column per cell; a record is counted in one cell at most.
    Guarantee: each row is `epsilon`-differentially private for the protected unit of its owner, and rows of
               different owners depend on different records, so all rows together are too (a private `noise` given).
    Proof:     docs/guarantees.md#vectors
    """
    scale = scale_of_noise(protection.of_histogram(), epsilon)
    noisy: npt.NDArray[Any] = np.empty(exact.shape, dtype=np.float64 if noise.continuous else np.int16)
    rows = max(1, _CHUNK // max(1, exact.shape[1]))
    for start in range(0, len(exact), rows):
        counts = exact[start : start + rows]
        released = counts + noise.laplace(scale, counts.size).reshape(counts.shape)
        noisy = _wide_enough(noisy, released)
        noisy[start : start + rows] = released
    return NoisyVectors(noisy, grid, scale, epsilon)


def _wide_enough(noisy: npt.NDArray[Any], released: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return `noisy` in integers wide enough for what is released; the width tells nothing that the values do not."""
    if noisy.dtype.kind == "f" or not released.size:
        return noisy
    ends = int(released.min()), int(released.max())
    width = next(w for w in (np.int16, np.int32, np.int64) if np.iinfo(w).min <= ends[0] and ends[1] <= np.iinfo(w).max)
    return noisy.astype(np.promote_types(noisy.dtype, width), copy=False)


def release_sum(
    exact: Mapping[str, int], *, groups: int, query: RangeQuery, protection: Protection, noise: NoiseSource, heard: int
) -> NoisyAnswers:
    """Return the exact sums over some disjoint groups with one Laplace noise per group and part, added up.

    A leader does this for its group. A host of many groups does it for all at once: the sum of their noisy sums is
    the same number, and shows less than each of them would.

    Requires:  `exact[part]` is the whole-unit sum over all the groups; `groups` counts those with nothing in range too.
    Guarantee: the result is `query.epsilon`-differentially private: each part is calibrated to its share of it, and
               holds at least one whole noise of each group.
    Proof:     docs/guarantees.md#counts
    """
    scales = scales_of(query, protection)
    noisy = {part: total + noise.laplace_sum(scales[part], groups) for part, total in exact.items()}
    return NoisyAnswers(noisy, scales, noise.continuous, noises=groups, heard=heard)


def release_masked(
    exact: Mapping[str, Ints], *, query: RangeQuery, protection: Protection, noise: NoiseSource, parts: Ints, mask: Mask
) -> npt.NDArray[np.uint64]:
    """Return every member's exact values with a share of noise, masked: a row per member, a column per part.

    Requires:  `parts[i]` shares make one noise in member i's group (`secure.terms`); `mask` is used for this call only.
    Guarantee: alone a row is uniform; the sum of a group is `query.epsilon`-differentially private when at least
               `parts` of its heard members are honest.
    Proof:     docs/guarantees.md#masked-groups
    """
    scales = scales_of(query, protection)
    columns = [values + _shares(scales[part], parts, noise) for part, values in exact.items()]
    return mask(np.stack(columns, axis=1))


def _shares(scale: Fraction, parts: Ints, noise: NoiseSource) -> Ints:
    """Return one share of noise per member; members whose noise has as many parts are drawn together."""
    if len(parts) == 1:
        return noise.laplace_shares(scale, int(parts[0]), 1)
    shares = np.empty(len(parts), dtype=np.int64)
    for t in np.unique(parts).tolist():
        mine = parts == t
        shares[mine] = noise.laplace_shares(scale, t, int(mine.sum()))
    return shares


def disclose_to_leader(partials: Mapping[str, int]) -> Disclosed:
    """Return an owner's exact partial answer for the leader of its trusted group; of a host of many, their sum.

    Requires:  every owner consented to the named members of its group.
    Guarantee: none towards the leader, who sees exact partial answers (R2 does not hold towards it); everyone else
               sees only what the leader passes to `release_sum`.
    Proof:     docs/guarantees.md#trusted-groups
    """
    return Disclosed(partials)


def _sensitivity(part: str, measure: Measure | None, protection: Protection) -> int:
    if part == "count":
        return protection.of_count()
    assert measure is not None  # noqa: S101  a sum has a measure, checked at birth
    return protection.of_sum(measure)
