"""SecretFlow SPU, a second implementation of other protocols, finds the same bits. Run by `make test-spu`."""

from __future__ import annotations

import numpy as np
import pytest

from fedgroup.lab.bench.secure_similarity import require_right, spu_comparison, spu_python
from fedgroup.lab.bench.two_owners import compare_in_two_processes
from fedgroup.secure.comparison import SecureComparison
from fedgroup.secure.similarity import opened

PAIRS = 256


def random_counts(comparison: SecureComparison, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors with much in common, some of them empty, some of one cell only."""
    rng = np.random.default_rng(seed)
    shape = (PAIRS, comparison.cells)
    shared = rng.poisson(rng.uniform(0.2, 1.5, (PAIRS, 1)), shape)
    first, second = (np.minimum(shared + rng.poisson(0.4, shape), 2**comparison.width - 1) for _ in range(2))
    first[0] = second[1] = 0
    first[2:4, 1:] = second[3:5, 1:] = 0
    return first, second


@pytest.mark.parametrize("threshold", [0, 0.5, 0.8])
@pytest.mark.parametrize(("cells", "width"), [(25, 8), (100, 4), (100, 8), (400, 4)])
def test_spu_and_ours_agree_outside_the_margin(cells, width, threshold):
    python = spu_python()
    assert python is not None, "no SPU here; run make test-spu"
    comparison = SecureComparison(cells, threshold, width)
    first, second = random_counts(comparison, seed=cells * width)
    sides = compare_in_two_processes(comparison, first, second, sessions=0)
    ours = opened(sides[0].shares, sides[1].shares)
    theirs = spu_comparison(python, comparison, first, second).bits
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosine = np.einsum("ij,ij->i", first, second) / np.where(lengths > 0, lengths, 1)
    clear = np.abs(cosine - threshold) > comparison.margin
    assert (ours == theirs)[clear].all()
    assert clear.mean() > 0.9
    assert 0 < ours.mean() < 1
    require_right(ours, comparison, first, second)
