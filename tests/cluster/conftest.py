"""Noisy vectors of many owners, cut into many strips, and two workers that are processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from fractions import Fraction

import numpy as np
import pytest

from fedgroup.cluster import vector_files
from fedgroup.cluster.opening import opened
from fedgroup.epsilon import Epsilon
from fedgroup.messages import NoisyVectors
from fedgroup.space import Box, Grid

OWNERS = 1_200
SCALE = Fraction(10, 3)


@pytest.fixture(scope="session")
def vectors() -> NoisyVectors:
    """Counts in a few cells, of which some are everybody's, and noise in all of them."""
    random = np.random.default_rng(5)
    counts = np.zeros((OWNERS, 100), dtype=np.int16)
    for _ in range(3):
        counts[np.arange(OWNERS), random.zipf(1.5, OWNERS) % 100] += random.integers(5, 40, OWNERS).astype(np.int16)
    noise = random.laplace(0, float(SCALE), counts.shape).round().astype(np.int16)
    return NoisyVectors(counts + noise, Grid(Box(0, 0, 1, 1), 10, 10), SCALE, Epsilon.of(0.3))


@pytest.fixture(autouse=True)
def _short_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut files into strips of 90 owners; workers take them as they come."""
    monkeypatch.setattr(vector_files, "LEAST_ROWS", 90)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Executor]:
    with opened("local", workers=2) as executor:
        yield executor
