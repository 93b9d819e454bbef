"""How likely an owner's records lie mostly where those of a group do: light owners placed by what heavy ones are like.

Any owner's exact vector is taken to be one of the federation's profiles times one of a range of sizes, with
probabilities learnt from the noisy vectors themselves (empirical Bayes), and its noisy vector then tells how likely
each of them is. Such a model is too sure of itself: real owners are like no profile exactly. So it is tried on owners
made up by itself, placed without the profile they were made from, and doubts are scaled to what goes wrong there.

All of this is post-processing of released vectors, so it costs nothing; where the model is wrong, owners are placed
worse, never less privately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from fedgroup.messages import NoisyVectors
from fedgroup.provider.likelihood import Likelihoods
from fedgroup.provider.similarity import kept_cells, smallest_kept_cell, top_cells

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_PROFILES = 400
_FALSE_CELLS = 5.0
"""How many times the false cells are taken into profiles: an owner that stands out in one cell has more."""
_SPREAD = 0.15
"""By how much the noise in profiles moves the share of similar ones, however many profiles there are."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """Shares of records per cell, as sparse rows (`start`, `cell`, `share`), and the cell each is most in."""

    start: Ints
    cell: npt.NDArray[np.int32]
    share: Floats
    top: Ints

    def __len__(self) -> int:
        return len(self.top)

    def dense(self, cells: int) -> Floats:
        """Return the shares of all cells, a row for each profile."""
        shares = np.zeros((len(self), cells))
        shares[np.repeat(np.arange(len(self)), np.diff(self.start)), self.cell] = self.share
        return shares


def profiles_of(vectors: NoisyVectors, false_cells: float) -> Profiles:
    """Return the profiles of owners whose largest cell is above tau, evenly chosen among them if they are many.

    A noisy vector whose largest cell stands out shows how its owner's records are spread: its profile. Groups are the
    owners of one cell, so a profile belongs to a cell when it is similar to at least half of the profiles that are
    mostly in it. Profiles are few and noisy themselves, so this is a chance and not a fact.
    """
    top = top_cells(vectors, false_cells)
    sure = np.flatnonzero(top >= 0)
    chosen = sure[np.linspace(0, len(sure) - 1, min(len(sure), MOST_PROFILES)).astype(np.int64)]
    some = NoisyVectors(vectors.values[chosen], vectors.grid, vectors.scale, vectors.epsilon)
    kept = kept_cells(some, _FALSE_CELLS * false_cells)
    sums = np.asarray(kept.sum(axis=1), dtype=np.float64)
    share = kept.data / np.repeat(sums, np.diff(kept.indptr))
    return Profiles(kept.indptr.astype(np.int64), kept.indices.astype(np.int32), share, top[chosen])


def belonging(profiles: Profiles, cells: int, threshold: float) -> Floats:
    """Return for each profile and cell how likely it is similar to at least half of the owners of that cell."""
    dense = profiles.dense(cells)
    dense /= np.linalg.norm(dense, axis=1)[:, None]
    similar = dense @ dense.T > threshold
    chances = np.zeros((len(profiles), cells))
    for top, members in zip(*np.unique(profiles.top, return_counts=True), strict=True):
        found = similar[:, profiles.top == top].sum(axis=1)
        seen = (found + 0.5) / (members + 1)  # few profiles that are all similar do not make it certain
        chances[:, top] = ndtr((found / members - 0.5) / np.sqrt(_SPREAD**2 + seen * (1 - seen) / members))
    return chances


_SAMPLE = 2_000
"""How many owners the probabilities of profiles and sizes are learnt from."""
_ROUNDS = 20
SIZES = np.unique(np.rint(np.geomspace(1, 2_000, 28)))
_TRIED = 1_000
"""How many made-up owners the model is tried on."""
_MARGIN = 1.5
"""How many standard deviations more than went wrong with them are taken to go wrong with real owners."""
_MISFIT = 1.5
"""Real owners differ from the profiles that the model knows: so many times more go wrong than with made-up ones."""
_SEED = 7
"""Made-up owners are the same every time, so that equal noisy vectors give equal groups; they hide nobody."""


@dataclass(frozen=True, eq=False)
class Placed:
    """The cell each owner is placed in, -1 for those left out, and the share of all owners expected to be misplaced."""

    cell: Ints
    expected: float


def likely_cells(
    vectors: NoisyVectors, *, false_cells: float, threshold: float, misplaced: float, device: str = "cpu"
) -> Placed:
    """Return the cell whose owners each owner is likeliest similar to.

    As many as possible are placed, the surest first, while the share of all owners expected to be dissimilar to half
    of those in their cell stays within `misplaced`.
    """
    cell = np.full(vectors.owners, -1, dtype=np.int64)
    profiles = profiles_of(vectors, false_cells)
    if not len(profiles):
        return Placed(cell, 0.0)
    model = _Model(vectors, profiles, false_cells=false_cells, threshold=threshold, device=device)
    best, doubt = model.places(vectors.values)
    surest = np.argsort(doubt, kind="stable")
    wrong = _expected_wrong(doubt[surest], *model.tried())
    count = int(np.searchsorted(wrong, misplaced * vectors.owners, side="right"))
    placed = surest[:count]
    cell[placed] = best[placed]
    return Placed(cell, float(wrong[count - 1]) / vectors.owners if count else 0.0)


def _expected_wrong(doubts: Floats, tried: Floats, wrong: Floats) -> Floats:
    """Return how many of the surest owners are expected to be misplaced, for every number of them.

    `doubts` ascend. They are scaled by what went wrong with made-up owners that were as sure, over what the model
    expected of them: some standard deviations more than went wrong, since a trial has its luck, and one owner more
    on both sides, since few of them say little. Real owners are less like the model (`_MISFIT`).
    """
    order = np.argsort(tried, kind="stable")
    as_sure = np.searchsorted(tried[order], doubts, side="right")
    went, expected = (np.concatenate(([0.0], np.cumsum(some[order])))[as_sure] for some in (wrong, tried))
    scaled = np.cumsum(doubts) * (_MISFIT * (went + _MARGIN * np.sqrt(went)) + 1) / (expected + 1)
    return np.maximum.accumulate(scaled)


@dataclass(frozen=True, eq=False)
class _Distinct:
    """Profiles that are equal taken as one: the first of each kind, and which kind every profile is."""

    profiles: Profiles
    first: Ints
    kind: Ints

    @classmethod
    def of(cls, profiles: Profiles, cells: int) -> _Distinct:
        _, first, kind = np.unique(profiles.dense(cells), axis=0, return_index=True, return_inverse=True)
        rows = [slice(profiles.start[at], profiles.start[at + 1]) for at in first]
        start = np.concatenate(([0], np.cumsum([row.stop - row.start for row in rows])))
        cell, share = (np.concatenate([table[row] for row in rows]) for table in (profiles.cell, profiles.share))
        return cls(Profiles(start, cell, share, profiles.top[first]), first, kind.ravel())


class _Model:
    """What is known of the owners of a federation: their profiles, and how probable each profile and size is."""

    def __init__(
        self, vectors: NoisyVectors, profiles: Profiles, *, false_cells: float, threshold: float, device: str
    ) -> None:
        self._device = device
        self._profiles = profiles
        self._cells = vectors.grid.cells
        self._scale = float(vectors.scale)
        self._belonging = belonging(profiles, self._cells, threshold)
        self._distinct = _Distinct.of(profiles, self._cells)
        self._learnt_of_distinct = self._learnt(vectors.values)
        counts = np.bincount(self._distinct.kind)
        self._prior = (self._learnt_of_distinct / counts[:, None])[self._distinct.kind]
        self._tau = smallest_kept_cell(vectors.scale, self._cells, false_cells)
        self._known = len(profiles) / np.count_nonzero(self._stands_out(vectors.values))

    def places(self, values: npt.NDArray[Any], without: Ints | None = None) -> tuple[Ints, Floats]:
        """Return each owner's likeliest cell and the doubt in it; `without`: the profile left out for it, -1: none."""
        if without is None:
            some = self._distinct
            likelihoods, belongs = self._likelihoods(some.profiles), self._belonging[some.first]
            cell, chance = likelihoods.best_cells(values, self._learnt_of_distinct, belongs, device=self._device)
        else:
            likelihoods = self._likelihoods(self._profiles)
            cell, chance = likelihoods.best_cells(values, self._prior, self._belonging, without=without)
        return cell, np.maximum(1 - chance, 0.0)

    def tried(self) -> tuple[Floats, Floats]:
        """Return the doubts in made-up owners, and how likely each is misplaced, by the profile it was made from.

        That profile is left out, since no real owner has it; but one that stands out of the noise may be a profile.
        """
        rng = np.random.default_rng(_SEED)
        drawn = rng.choice(self._prior.size, _TRIED, p=self._prior.ravel() / self._prior.sum())
        profile, size = np.divmod(drawn, len(SIZES))
        exact = rng.multinomial(SIZES[size].astype(np.int64), self._profiles.dense(self._cells)[profile])
        less = -math.expm1(-1 / self._scale)
        values = exact + rng.geometric(less, exact.shape) - rng.geometric(less, exact.shape)
        has_own = self._stands_out(values) & (rng.random(_TRIED) < self._known)
        cell, doubt = self.places(values, np.where(has_own | (len(self._profiles) == 1), -1, profile))
        return doubt, 1 - self._belonging[profile, cell]

    def _stands_out(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Tell whose largest cell is above tau."""
        out: npt.NDArray[np.bool_] = values.max(axis=1) >= self._tau
        return out

    def _learnt(self, values: npt.NDArray[Any]) -> Floats:
        """Return the probability of each kind of profile and size, by expectation maximisation over some owners."""
        sample = np.linspace(0, len(values) - 1, min(len(values), _SAMPLE)).astype(np.int64)
        shape = len(self._distinct.profiles), len(SIZES)
        likelihood = self._likelihoods(self._distinct.profiles).relative(values[sample]).reshape(len(sample), -1)
        shares = np.bincount(self._distinct.kind) / len(self._profiles)
        prior: Floats = np.repeat(shares[:, None] / shape[1], shape[1], axis=1)
        for _ in range(_ROUNDS):
            flat = prior.ravel()
            seen = (1 / (likelihood @ flat.astype(np.float32))) @ likelihood
            joint = (seen.astype(np.float64) * flat / len(sample)).reshape(shape)
            prior = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
        return prior

    def _likelihoods(self, profiles: Profiles) -> Likelihoods:
        return Likelihoods.of(profiles.start, profiles.cell, profiles.share, sizes=SIZES, scale=self._scale)
