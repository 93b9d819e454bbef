"""The turnstile: the one place through which anything made from records leaves its owner.

`release_vectors` and `release_sum` add noise, and what they return may be shown to anyone; so may what
`release_masked` returns, of which only sums over whole groups mean anything, and `release_masked_sum`, which is such.
`disclose_to_leader` adds none: it is the paper's trusted group, and what it returns may be shown to one leader only.
Budgets are charged by the caller, before it comes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoiseScale, NoisyAnswers, NoisyVectors
from fedgroup.privacy.concentrated import drawn_sums, shares_of_noise, summed_shares, variances_of
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.remembered import remembered
from fedgroup.space import Grid

Ints = npt.NDArray[np.int64]
Mask = Callable[[Ints], npt.NDArray[np.uint64]]

_CHUNK = 1 << 20
"""How many counts get their noise together: 8 MB of noise."""


class Disclosed:
    """An exact partial answer on its way to the leader of a trusted group; it does not print."""

    __slots__ = ("partials",)

    def __init__(self, partials: Mapping[str, Ints]) -> None:
        self.partials = partials

    def __repr__(self) -> str:
        return "Disclosed(<private>)"


def scale_of_noise(sensitivity: int, epsilon: Epsilon) -> Fraction:
    """Return Delta / epsilon, exactly."""
    return Fraction(sensitivity) / epsilon.exact


_scale = lru_cache(maxsize=256)(scale_of_noise)


def scales_of(query: RangeQuery, protection: Protection) -> dict[str, NoiseScale]:
    """Return how large the noise is that each part of the answer gets in every bin: Laplace, or priced by a rho."""
    return dict(remembered(query, "scales", lambda: _scales(query, protection), given=protection))


def _scales(query: RangeQuery, protection: Protection) -> dict[str, NoiseScale]:
    rho = query.rho_of_part
    if rho is None:
        return {part: _scale(protection.of(part, query), query.epsilon_of_part) for part in query.parts}
    return {
        part: variances_of(protection.of(part, query), protection.squared(part, query), rho) for part in query.parts
    }


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
    exact: Mapping[str, Ints], *, groups: int, query: RangeQuery, protection: Protection, noise: NoiseSource, heard: int
) -> NoisyAnswers:
    """Return the exact sums over some disjoint groups with one noise per group, part and bin, added up.

    A leader does this for its group. A host of many groups does it for all at once: the sum of their noisy sums is
    the same number, and shows less than each of them would.

    Requires:  `exact[part]` is the whole-unit sum over all the groups, bin by bin; `groups` counts those with nothing
               in range too.
    Guarantee: the result is `query.epsilon`-differentially private, or costs `query.rho` if that is its price: each
               part is calibrated to its share of it and to all bins together, and holds at least one whole noise of
               each group in every bin.
    Proof:     docs/guarantees.md#counts, docs/guarantees.md#gaussian-noise
    """
    scales = scales_of(query, protection)
    noisy = {part: sums + drawn_sums(noise, scales[part], groups, len(sums)) for part, sums in exact.items()}
    return NoisyAnswers(noisy, scales, noise.continuous, noises=groups, heard=heard)


def release_masked(
    exact: Mapping[str, Ints], *, query: RangeQuery, protection: Protection, noise: NoiseSource, parts: Ints, mask: Mask
) -> npt.NDArray[np.uint64]:
    """Return every member's exact values with shares of noise, masked: a row per member, a word per bin and part.

    Requires:  `exact[part]` has a row per member and a column per bin, of all bins or of some of them; `parts[i]`
               shares make one noise in member i's group (`secure.terms`); `mask` is used for these words only.
    Guarantee: alone a row is uniform; the sums of a group are `query.epsilon`-differentially private, or cost
               `query.rho`, all bins together, when at least `parts` of its heard members are honest.
    Proof:     docs/guarantees.md#masked-groups, docs/guarantees.md#skellam-noise
    """
    scales = scales_of(query, protection)
    words = [values + _shares(scales[part], parts, noise, bins=values.shape[1]) for part, values in exact.items()]
    return mask(np.stack(words, axis=2).reshape(len(parts), -1))


def release_masked_sum(
    exact: Mapping[str, Ints],
    *,
    query: RangeQuery,
    protection: Protection,
    noise: NoiseSource,
    sizes: Mapping[int, int],
) -> dict[str, Ints]:
    """Return the sums over masked groups as they come out of a round, without playing the round.

    For a host of all members, who share its memory: masks cancel, and what is left is drawn from its own law.

    Requires:  `exact[part]` are the sums over all members, bin by bin; so many members, `sizes[t]`, are in groups whose
               noise is cut into t parts.
    Guarantee: as the sum of what `release_masked` returns.
    """
    scales = scales_of(query, protection)
    return {
        part: sums + sum(summed_shares(noise, scales[part], t, n, len(sums)) for t, n in sorted(sizes.items()))
        for part, sums in exact.items()
    }


def _shares(scale: NoiseScale, parts: Ints, noise: NoiseSource, *, bins: int) -> Ints:
    """Return a share of noise per member and bin; members whose noise has as many parts are drawn together."""
    if len(parts) == 1:
        return shares_of_noise(noise, scale, int(parts[0]), bins).reshape(1, bins)
    shares = np.empty((len(parts), bins), dtype=np.int64)
    for t in np.unique(parts).tolist():
        mine = np.flatnonzero(parts == t)
        shares[mine] = shares_of_noise(noise, scale, t, len(mine) * bins).reshape(len(mine), bins)
    return shares


def disclose_to_leader(partials: Mapping[str, Ints]) -> Disclosed:
    """Return an owner's exact partial answer for the leader of its trusted group; of a host of many, their sum.

    Requires:  every owner consented to the named members of its group.
    Guarantee: none towards the leader, who sees exact partial answers (R2 does not hold towards it); everyone else
               sees only what the leader passes to `release_sum`.
    Proof:     docs/guarantees.md#trusted-groups
    """
    return Disclosed(partials)
