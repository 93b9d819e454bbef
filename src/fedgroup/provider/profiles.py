"""How likely an owner's records lie mostly where those of a group do: light owners placed by what heavy ones are like.

A noisy vector whose largest cell stands out of the noise shows how its owner's records are spread: its *profile*. Any
owner's exact vector is taken to be one of these profiles times one of a range of sizes, with probabilities learnt from
the noisy vectors themselves (empirical Bayes), and its noisy vector then tells how likely each of them is. All of this
is post-processing of released vectors, so it costs nothing; where the model is wrong, owners are placed worse, never
less privately.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.messages import NoisyVectors
from fedgroup.provider.similarity import kept_cells, top_cells

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_PROFILES = 400
_SAMPLE = 2_000
"""How many owners the probabilities of profiles and sizes are learnt from."""
_ROUNDS = 20
_SIZES = np.unique(np.rint(np.geomspace(1, 2_000, 28)))
_CHUNK = 1 << 22
_TIE = 1e-6
"""Of cells that are as likely, the one with the larger share of similar owners is taken."""


@dataclass(frozen=True, eq=False)
class Profiles:
    """Shares of records per cell, as sparse rows (`start`, `cell`, `share`), and the cell each is most in."""

    start: Ints
    cell: npt.NDArray[np.int32]
    share: Floats
    top: Ints

    def __len__(self) -> int:
        return len(self.top)


def likely_cells(vectors: NoisyVectors, *, false_cells: float, threshold: float, misplaced: float) -> Ints:
    """Return the cell whose owners each owner is likeliest similar to, -1 for those left out.

    As many as possible are placed, the surest first, while the share of all owners expected to be dissimilar to half
    of those in their cell stays within `misplaced`.
    """
    profiles = profiles_of(vectors, false_cells)
    if not len(profiles):
        return np.full(vectors.owners, -1, dtype=np.int64)
    cell, chance = _best_cells(vectors, profiles, threshold)
    doubt = 1 - chance
    surest = np.argsort(doubt, kind="stable")
    placed = surest[np.cumsum(doubt[surest]) <= misplaced * vectors.owners]
    result = np.full(vectors.owners, -1, dtype=np.int64)
    result[placed] = cell[placed]
    return result


def profiles_of(vectors: NoisyVectors, false_cells: float) -> Profiles:
    """Return the profiles of owners whose largest cell is above tau, evenly chosen among them if they are many."""
    top = top_cells(vectors, false_cells)
    sure = np.flatnonzero(top >= 0)
    chosen = sure[np.linspace(0, len(sure) - 1, min(len(sure), MOST_PROFILES)).astype(np.int64)]
    kept = kept_cells(NoisyVectors(vectors.values[chosen], vectors.grid, vectors.scale, vectors.epsilon), false_cells)
    sums = np.asarray(kept.sum(axis=1), dtype=np.float64)
    share = kept.data / np.repeat(sums, np.diff(kept.indptr))
    return Profiles(kept.indptr.astype(np.int64), kept.indices.astype(np.int32), share, top[chosen])


def _best_cells(vectors: NoisyVectors, profiles: Profiles, threshold: float) -> tuple[Ints, Floats]:
    """Return each owner's likeliest cell, and how likely it is similar to at least half of those in it."""
    similar = _similar(profiles, vectors.grid.cells, threshold)
    belongs = (similar >= 0.5).astype(np.float64)
    prior = _learnt(vectors, profiles)
    cell, chance = np.empty(vectors.owners, dtype=np.int64), np.empty(vectors.owners)
    rows = max(1, _CHUNK // (len(profiles) * len(_SIZES)))
    for start in range(0, vectors.owners, rows):
        part = slice(start, start + rows)
        posterior = _likelihoods(vectors.values[part], vectors, profiles) * prior
        posterior = posterior.sum(axis=2) / posterior.sum(axis=(1, 2))[:, None]
        cell[part] = (posterior @ (belongs + _TIE * similar)).argmax(axis=1)
        chance[part] = np.take_along_axis(posterior @ belongs, cell[part][:, None], axis=1)[:, 0]
    return cell, chance


def _similar(profiles: Profiles, cells: int, threshold: float) -> Floats:
    """Return for each profile and cell the share of the profiles with that top cell that it is similar to."""
    dense = np.zeros((len(profiles), cells))
    dense[np.repeat(np.arange(len(profiles)), np.diff(profiles.start)), profiles.cell] = profiles.share
    dense /= np.linalg.norm(dense, axis=1)[:, None]
    similar = dense @ dense.T > threshold
    shares = np.zeros((len(profiles), cells))
    for top in np.unique(profiles.top):
        shares[:, top] = similar[:, profiles.top == top].mean(axis=1)
    return shares


def _learnt(vectors: NoisyVectors, profiles: Profiles) -> Floats:
    """Return the probability of each profile and size, by expectation maximisation over a sample of owners."""
    sample = np.linspace(0, vectors.owners - 1, min(vectors.owners, _SAMPLE)).astype(np.int64)
    likelihood = _likelihoods(vectors.values[sample], vectors, profiles)
    of_profile, of_size = np.full(len(profiles), 1 / len(profiles)), np.full(len(_SIZES), 1 / len(_SIZES))
    for _ in range(_ROUNDS):
        joint = likelihood * of_profile[:, None] * of_size
        joint /= joint.sum(axis=(1, 2))[:, None, None]
        of_profile, of_size = joint.sum(axis=(0, 2)) / len(sample), joint.sum(axis=(0, 1)) / len(sample)
    prior: Floats = of_profile[:, None] * of_size
    return prior


def _likelihoods(values: npt.NDArray[np.generic], vectors: NoisyVectors, profiles: Profiles) -> Floats:
    """Return for each owner, profile and size how likely the noise is that is left, relative to the likeliest."""
    noisy = values.astype(np.float64)
    logs = _log_likelihoods(noisy, profiles.start, profiles.cell, profiles.share, _SIZES, float(vectors.scale))
    logs -= logs.max(axis=(1, 2))[:, None, None]
    likelihood: Floats = np.exp(logs)
    return likelihood


@numba.njit(cache=True)
def _log_likelihoods(
    noisy: Floats, start: Ints, cell: npt.NDArray[np.int32], share: Floats, sizes: Floats, scale: float
) -> Floats:
    """Return minus the noise left in the cells of a profile, in scales, beyond what is left without the profile."""
    logs = np.empty((len(noisy), len(start) - 1, len(sizes)))
    for i in range(len(noisy)):
        for k in range(len(start) - 1):
            for s in range(len(sizes)):
                more = 0.0
                for at in range(start[k], start[k + 1]):
                    value = noisy[i, cell[at]]
                    more += abs(value - sizes[s] * share[at]) - abs(value)
                logs[i, k, s] = -more / scale
    return logs
