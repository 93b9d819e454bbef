"""Likeliest cells on a GPU are those of the processor. Run by `make test-gpu`; without a GPU: on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

from fedgroup.provider import gpu_placing
from fedgroup.provider.likelihood import Likelihoods

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def test_cells_and_chances_are_the_processors(monkeypatch):
    monkeypatch.setattr(gpu_placing, "_NUMBERS", 1 << 16)
    rng = np.random.default_rng(1)
    cells = rng.integers(1, 6, 80)
    start = np.concatenate(([0], np.cumsum(cells)))
    cell = np.concatenate([rng.choice(40, n, replace=False) for n in cells]).astype(np.int32)
    share = np.concatenate([rng.dirichlet(np.ones(n)) for n in cells])
    sizes = np.array([1.0, 5.0, 30.0, 150.0])
    prior, belonging = rng.dirichlet(np.ones(320)).reshape(80, 4), rng.random((80, 40)) ** 8
    values = np.rint(rng.laplace(0, 3, (3_000, 40)) + rng.poisson(2, (3_000, 40))).astype(np.int16)
    model = Likelihoods.of(start, cell, share, sizes=sizes, scale=10 / 3)
    here, chance = model.best_cells(values, prior, belonging)
    there, other = gpu_placing.best_cells(
        values, start=start, cell=cell, means=model.means, prior=prior, belonging=belonging, scale=10 / 3, device=DEVICE
    )
    assert np.abs(chance - other).max() < 1e-5
    assert (here == there).mean() > 0.999


def test_the_module_needs_numpy_and_torch_only():
    path = Path(gpu_placing.__file__)
    code = (
        f"import runpy, sys; runpy.run_path({str(path)!r}); print([m for m in sys.modules if m in ('numba', 'scipy')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
