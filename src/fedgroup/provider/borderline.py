"""Which pairs noisy vectors decide, and which are borderline: lines 6 to 13 of Algorithm 1, before Secure_Sim is asked.

A pair's weight is the debiased estimate dot / sqrt(N_i N_j), where N = |v|^2 - cells * variance is an owner's squared
length without the noise's share. Below the pair's lower limit it is a "no", above its upper limit a "yes", between
them borderline: worth a secure comparison. The limits are threshold -/+ 1.96 standard deviations of the estimate.
For an owner with few records N is nearly pure noise and no such limits exist: its pairs are borderline throughout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages import NoisyVectors
from fedgroup.privacy.law import DiscreteLaplace

States = npt.NDArray[np.uint8]
Ranks = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
Table = TypeVar("Table", States, Ranks)

NO, YES, ASK = 0, 1, 2
MOST_OWNERS = 20_000
"""Beyond it a table of all pairs would take more than 2 GB."""

_Z = 1.96
"""A pair whose similarity is the threshold exactly stays between its limits 95 times in 100."""

_BLOCK = 1 << 20
"""How many pairs are looked at together: 8 MB for each number of a pair."""


@dataclass(frozen=True, eq=False)
class Borderline:
    """What is known of every pair of owners: `state[i, j]` is NO, YES or ASK, and higher `rank` is likelier a yes."""

    state: States
    rank: Ranks

    def __post_init__(self) -> None:
        owners = len(self.state)
        require_comparable(owners)
        for name, kind in (("state", np.uint8), ("rank", np.float32)):
            table = _frozen(np.asarray(getattr(self, name), dtype=kind))
            if table.shape != (owners, owners) or not _is_symmetric(table):
                raise ProtocolViolation(
                    f"the {name} of pairs is a symmetric table with a row for each of {owners} owners"
                )
            object.__setattr__(self, name, table)
        if self.state.max(initial=NO) > ASK or np.diagonal(self.state).any():
            raise ProtocolViolation("every pair of different owners is NO, YES or ASK, and nobody pairs with itself")

    @property
    def owners(self) -> int:
        return len(self.state)

    @property
    def pairs(self) -> int:
        """How many pairs of different owners there are."""
        return self.owners * (self.owners - 1) // 2

    @property
    def asked(self) -> int:
        """How many pairs are borderline: the comparisons Algorithm 1 makes."""
        return self.count(ASK)

    def count(self, state: int) -> int:
        """Return how many pairs are in `state`."""
        doubled = sum(np.count_nonzero(self.state[start:stop] == state) for start, stop in _blocks(self.owners))
        return (int(doubled) - (self.owners if state == NO else 0)) // 2


def classify(
    vectors: NoisyVectors,
    *,
    threshold: float,
    lower: float | None = None,
    upper: float | None = None,
) -> Borderline:
    """Return every pair as decided by noisy vectors, or as borderline.

    `lower` and `upper` replace the limits derived for each pair, on their side, for every pair.
    """
    _require_order(threshold, lower, upper)
    require_comparable(vectors.owners)
    estimates = _Estimates.of(vectors, threshold)
    state = np.zeros((vectors.owners, vectors.owners), dtype=np.uint8)
    rank = np.zeros((vectors.owners, vectors.owners), dtype=np.float32)
    for start, stop in _blocks(vectors.owners):
        weights, ranks, reach = estimates.of_block(start, stop)
        decided = np.full(weights.shape, ASK, dtype=np.uint8)
        decided[weights < (threshold - reach if lower is None else lower)] = NO
        decided[weights > (threshold + reach if upper is None else upper)] = YES
        state[start:stop, start:] = np.triu(decided, k=1)
        rank[start:stop, start:] = np.triu(ranks, k=1)
    return Borderline(_mirrored(state), _mirrored(rank))


def ask_all(owners: int) -> Borderline:
    """Return every pair as borderline, none likelier than another: the graph in which Secure_Sim decides all."""
    require_comparable(owners)
    state = np.full((owners, owners), ASK, dtype=np.uint8)
    np.fill_diagonal(state, NO)
    state.flags.writeable = False
    return Borderline(state, np.broadcast_to(np.float32(0), (owners, owners)))


@dataclass(frozen=True, eq=False)
class _Estimates:
    """The numbers per owner from which every pair's weight, rank and limits follow."""

    values: Floats
    squares: Floats  # N, the debiased squared length
    floored: Floats  # N, or 3 sd(0) where that is larger: what a vector of pure noise hardly exceeds
    relative: Floats  # s2 / N; 0 where N says nothing
    own: Floats  # the owner's own part of the variance; infinite where N says nothing
    cells: int

    @classmethod
    def of(cls, vectors: NoisyVectors, threshold: float) -> _Estimates:
        law, cells = DiscreteLaplace(vectors.scale), vectors.grid.cells
        s2, kappa = law.variance, law.square_variance
        values = vectors.values.astype(np.float64)
        squares = np.einsum("ij,ij->i", values, values) - cells * s2
        # Noise so small that it has no variance leaves only empty vectors without a length.
        floor = 3 * math.sqrt(cells * kappa) or 1.0
        void = (squares <= 0) | (squares < 3 * np.sqrt(4 * s2 * np.maximum(squares, 0) + cells * kappa))
        safe = np.where(void, 1.0, squares)
        own = s2 / safe + threshold**2 * (cells * kappa / (4 * safe**2) - s2 / safe)
        return cls(
            values,
            squares,
            np.maximum(squares, floor),
            np.where(void, 0.0, s2 / safe),
            np.where(void, np.inf, own),
            cells,
        )

    def of_block(self, start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        """Return weight, rank and half the distance of the limits for owners start..stop and all from start on."""
        dots = self.values[start:stop] @ self.values[start:].T
        ranks = dots / np.sqrt(_outer(self.floored, start, stop))
        products = _outer(self.squares, start, stop)
        known = (self.squares[start:stop, None] > 0) & (self.squares[None, start:] > 0)
        weights = np.where(known, dots / np.sqrt(np.where(known, products, 1.0)), ranks)
        variances = (
            self.own[start:stop, None] + self.own[None, start:] + self.cells * _outer(self.relative, start, stop)
        )
        return weights, ranks, _Z * np.sqrt(np.maximum(variances, 0.0))


def _outer(numbers: Floats, start: int, stop: int) -> Floats:
    return numbers[start:stop, None] * numbers[None, start:]


def _mirrored(triangle: Table) -> Table:
    """Return the symmetric table of an upper triangle, made in its place."""
    for start, stop in _blocks(len(triangle)):
        square = triangle[start:stop, start:stop]
        square[:] = square + square.T
        triangle[stop:, start:stop] = triangle[start:stop, stop:].T
    triangle.flags.writeable = False
    return triangle


def _is_symmetric(table: npt.NDArray[np.generic]) -> bool:
    return all(
        np.array_equal(table[start:stop, start:], table[start:, start:stop].T) for start, stop in _blocks(len(table))
    )


def _frozen(table: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    kept = table.copy() if table.flags.writeable else table
    kept.flags.writeable = False
    return kept


def _blocks(owners: int) -> Iterator[tuple[int, int]]:
    rows = max(1, _BLOCK // max(owners, 1))
    for start in range(0, owners, rows):
        yield start, min(owners, start + rows)


def require_comparable(owners: int) -> None:
    """Refuse more owners than a table of all pairs is made for."""
    if owners > MOST_OWNERS:
        raise InvalidInput(
            f"the hybrid and secure graphs hold a table of all pairs, allowed up to {MOST_OWNERS:,} owners, "
            f"got {owners:,}; use the graph topcell or noisy"
        )


def _require_order(threshold: float, lower: float | None, upper: float | None) -> None:
    given = [-1.0, *(limit for limit in (lower, threshold, upper) if limit is not None), 1.0]
    if not all(smaller <= larger for smaller, larger in pairwise(given)):
        raise InvalidInput(
            "the lower limit, the threshold and the upper limit lie between -1 and 1 in this order, "
            f"got {lower}, {threshold}, {upper}"
        )
