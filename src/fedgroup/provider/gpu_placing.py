"""The likeliest cells of a million owners on a GPU: what `likelihood.Likelihoods.best_cells` computes, in blocks.

Sums, exponentials and products are in 32-bit floats, as there. Needs numpy and torch only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NUMBERS = 1 << 28
"""How many numbers a block of owners takes: 1 GB."""


def best_cells(
    values: npt.NDArray[Any],
    *,
    start: Ints,
    cell: npt.NDArray[np.int32],
    means: npt.NDArray[np.float32],
    prior: Floats,
    belonging: Floats,
    scale: float,
    device: str = "cuda",
) -> tuple[Ints, Floats]:
    """Return each owner's likeliest cell and how likely it is.

    `means` are the expected counts of profiles' cells over the scale at every size: rows as `start` and `cell` have
    them, a column for each column of `prior`.
    """
    profiles, sizes = prior.shape
    on_device: dict[str, Any] = {"device": device, "dtype": torch.float32}
    entries = [_entries(start, position) for position in range(int(np.diff(start).max(initial=0)))]
    tables = [
        (
            torch.as_tensor(which, device=device),
            torch.as_tensor(cell[at].astype(np.int64), device=device),
            torch.as_tensor(means[at, :sizes], **on_device),
        )
        for which, at in entries
    ]
    probable, belongs = torch.as_tensor(prior, **on_device), torch.as_tensor(belonging, **on_device)
    best, chance = np.empty(len(values), dtype=np.int64), np.empty(len(values))
    rows = max(1, _NUMBERS // max(1, profiles * sizes))
    for at in range(0, len(values), rows):
        noisy = torch.as_tensor(np.ascontiguousarray(values[at : at + rows]), device=device).to(torch.float32) / scale
        logs = torch.zeros((len(noisy), profiles, sizes), **on_device)
        for which, cells, mean in tables:
            value = noisy[:, cells, None]
            logs[:, which] += value.abs() - (value - mean).abs()
        logs -= logs.amax(dim=(1, 2), keepdim=True)
        posterior = torch.einsum("iks,ks->ik", logs.exp_(), probable)
        chances = (posterior.to(torch.float64) @ belongs.to(torch.float64)) / posterior.sum(dim=1, keepdim=True)
        highest = chances.max(dim=1)
        best[at : at + rows] = highest.indices.cpu().numpy()
        chance[at : at + rows] = highest.values.cpu().numpy()
    return best, chance


def _entries(start: Ints, position: int) -> tuple[Ints, Ints]:
    """Return the profiles that have more than so many cells, and where the next of each stands."""
    which = np.flatnonzero(np.diff(start) > position)
    return which, start[which] + position
