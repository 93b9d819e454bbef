"""What the owners of a federation are like: the profiles of those whose noisy vectors stand out of the noise.

A noisy vector whose largest cell stands out shows how its owner's records are spread: its *profile*. Groups are the
owners of one cell, so a profile belongs to a cell when it is similar to at least half of the profiles that are mostly
in it. Profiles are few and noisy themselves, so this is a chance and not a fact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from fedgroup.messages import NoisyVectors
from fedgroup.provider.similarity import kept_cells, top_cells

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
    """Return the profiles of owners whose largest cell is above tau, evenly chosen among them if they are many."""
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
