"""How likely each profile is for each of a million owners, in one pass that keeps nothing: what `placing` computes by.

An owner's noisy vector is held against every profile at every size, in 32-bit floats, sizes beside each other. What is
far less likely than the best counts for nothing and is left out, so few exponentials are taken; chances of cells are
added up at once, and only the best is kept. Owners with equal vectors are looked at once. Threads share the owners.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_LANES = 16
"""Sizes come in multiples of what a processor computes together."""
_NEGLIGIBLE = np.float32(-25.0)
"""Whatever is e^25 times less likely than the best changes no 32-bit number, all of it together neither."""
_ROWS = 4_096
"""Owners that a thread takes at a time."""
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Profiles, as sparse rows of expected counts over the noise's scale at every size, padded to whole lanes."""

    start: Ints
    cell: npt.NDArray[np.int32]
    means: Singles
    scale: float
    sizes: int

    @classmethod
    def of(cls, start: Ints, cell: npt.NDArray[np.int32], share: Floats, *, sizes: Floats, scale: float) -> Likelihoods:
        """Return the profiles with these shares of records, at these sizes."""
        padded = -(-len(sizes) // _LANES) * _LANES
        several = np.concatenate((sizes, np.full(padded - len(sizes), sizes[-1])))
        means = (share[:, None] * several / scale).astype(np.float32)
        return cls(start, cell, means, scale, len(sizes))

    def relative(self, values: npt.NDArray[Any]) -> Singles:
        """Return for each owner, profile and size how likely the noise is that is left, relative to the likeliest."""
        logs = np.empty((len(values), len(self.start) - 1, self.means.shape[1]), dtype=np.float32)
        in_threads(
            lambda part: _logs(self._scaled(values[part]), self.start, self.cell, self.means, logs[part]), len(values)
        )
        logs = np.ascontiguousarray(logs[:, :, : self.sizes])
        logs -= logs.max(axis=(1, 2))[:, None, None]
        likelihood: Singles = np.exp(logs, out=logs)
        return likelihood

    def best_cells(
        self,
        values: npt.NDArray[Any],
        prior: Floats,
        belonging: Floats,
        *,
        without: Ints | None = None,
        device: str = "cpu",
    ) -> tuple[Ints, Floats]:
        """Return each owner's likeliest cell and how likely it is: by how probable profiles are, and belong to cells.

        `without` names the profile left out for an owner, -1: none.
        """
        if device != "cpu":
            return self._on_gpu(values, prior, belonging, device)
        if without is None:
            firsts, everyone = distinct_rows(values)
            if len(firsts) < len(values):
                cell, chance = self.best_cells(values[firsts], prior, belonging, without=np.full(len(firsts), -1))
                return cell[everyone], chance[everyone]
            without = np.full(len(values), -1)
        cell, chance = np.zeros(len(values), dtype=np.int64), np.zeros(len(values))
        padded = np.zeros((len(prior), self.means.shape[1]), dtype=np.float32)
        padded[:, : self.sizes] = prior
        belongs = belonging.astype(np.float32)

        def look(part: slice) -> None:
            _best(
                self._scaled(values[part]), self.start, self.cell, self.means, padded, belongs, without[part],
                cell[part], chance[part],
            )  # fmt: skip

        in_threads(look, len(values))
        return cell, chance

    def _on_gpu(self, values: npt.NDArray[Any], prior: Floats, belonging: Floats, device: str) -> tuple[Ints, Floats]:
        from fedgroup.provider.gpu_placing import best_cells

        return best_cells(
            values,
            start=self.start,
            cell=self.cell,
            means=self.means,
            prior=prior,
            belonging=belonging,
            scale=self.scale,
            device=device,
        )

    def _scaled(self, values: npt.NDArray[Any]) -> Singles:
        return (values / self.scale).astype(np.float32)


def in_threads(work: Any, count: int) -> None:
    """Do some work for all parts of so many, in as many threads as there are processors."""
    parts = [slice(at, at + _ROWS) for at in range(0, count, _ROWS)]
    if len(parts) < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(min(len(parts), numba.get_num_threads())) as threads:
        list(threads.map(work, parts))


def distinct_rows(values: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the first of every kind of equal rows, and for each row which kind it is; or all rows as they are."""
    hashes = _hashes(values)
    _, firsts, kind = np.unique(hashes, return_index=True, return_inverse=True)
    if len(firsts) < len(values) and not _all_equal(values, firsts[kind]):
        return np.arange(len(values)), np.arange(len(values))  # two rows with one hash: not worth more care
    return firsts, kind


@numba.njit(cache=True, nogil=True)
def _hashes(values: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    hashes = np.zeros(len(values), dtype=np.uint64)
    for i in range(len(values)):
        total = np.uint64(0)
        for c in range(values.shape[1]):
            total = (total ^ np.uint64(np.int64(values[i, c]))) * _MIX
            total ^= total >> np.uint64(29)
        hashes[i] = total
    return hashes


@numba.njit(cache=True, nogil=True)
def _all_equal(values: npt.NDArray[Any], like: Ints) -> bool:
    for i in range(len(values)):
        for c in range(values.shape[1]):
            if values[i, c] != values[like[i], c]:
                return False
    return True


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _logs(noisy: Singles, start: Ints, cell: npt.NDArray[np.int32], means: Singles, logs: Singles) -> None:
    """Write minus the noise left in the cells of each profile, in scales, beyond what is left without the profile."""
    for i in range(len(noisy)):
        _logs_of(noisy[i], start, cell, means, logs[i])


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _logs_of(noisy: Singles, start: Ints, cell: npt.NDArray[np.int32], means: Singles, logs: Singles) -> None:
    for k in range(len(start) - 1):
        row = logs[k]
        row[:] = np.float32(0)
        for at in range(start[k], start[k + 1]):
            value = noisy[cell[at]]
            without = abs(value)
            mean = means[at]
            for s in range(len(row)):
                row[s] += without - abs(value - mean[s])


@numba.njit(cache=True, nogil=True)
def _best(
    noisy: Singles,
    start: Ints,
    cell: npt.NDArray[np.int32],
    means: Singles,
    prior: Singles,
    belonging: Singles,
    without: Ints,
    best: Ints,
    chance: Floats,
) -> None:
    """Write each owner's likeliest cell and how likely it is."""
    profiles, sizes = prior.shape
    logs = np.empty((profiles, sizes), dtype=np.float32)
    chances = np.empty(belonging.shape[1], dtype=np.float64)
    for i in range(len(noisy)):
        _logs_of(noisy[i], start, cell, means, logs)
        if without[i] >= 0:
            logs[without[i]] = -np.inf
        likeliest = logs.max()
        total = 0.0
        chances[:] = 0.0
        for k in range(profiles):
            row = logs[k]
            if row.max() - likeliest < _NEGLIGIBLE:
                continue
            probable = 0.0
            for s in range(sizes):
                below = row[s] - likeliest
                if below > _NEGLIGIBLE and prior[k, s] > 0:
                    probable += np.exp(below) * prior[k, s]
            total += probable
            for c in range(len(chances)):
                chances[c] += probable * belonging[k, c]
        at = np.argmax(chances)
        best[i] = at
        chance[i] = chances[at] / max(total, 1e-300)
