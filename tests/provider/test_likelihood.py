"""Likeliest cells: what 64-bit floats say of every owner whose best two cells differ by more than rounding."""

from __future__ import annotations

import numpy as np
import pytest

from fedgroup.provider import likelihood
from fedgroup.provider.likelihood import Likelihoods, distinct_rows

CELLS, SIZES, SCALE = 30, np.array([1.0, 3.0, 10.0, 40.0, 200.0]), 10 / 3


class Model:
    """Profiles with a few cells each, how probable they are, and to which cells they belong."""

    def __init__(self, profiles: int = 60, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        cells = rng.integers(1, 6, profiles)
        self.start = np.concatenate(([0], np.cumsum(cells)))
        self.cell = np.concatenate([rng.choice(CELLS, n, replace=False) for n in cells]).astype(np.int32)
        self.share = np.concatenate([rng.dirichlet(np.ones(n)) for n in cells])
        self.prior = rng.dirichlet(np.ones(profiles * len(SIZES))).reshape(profiles, -1)
        self.belonging = rng.random((profiles, CELLS)) ** 8
        self.likelihoods = Likelihoods.of(self.start, self.cell, self.share, sizes=SIZES, scale=SCALE)

    def owners(self, count: int, seed: int = 2) -> np.ndarray:
        rng = np.random.default_rng(seed)
        dense = np.zeros((len(self.prior), CELLS))
        dense[np.repeat(np.arange(len(dense)), np.diff(self.start)), self.cell] = self.share
        exact = rng.poisson(rng.choice(SIZES, (count, 1)) * dense[rng.integers(0, len(dense), count)])
        return (exact + np.rint(rng.laplace(0, SCALE, exact.shape))).astype(np.int16)

    def chances(self, values: np.ndarray, without: np.ndarray | None = None) -> np.ndarray:
        """By the formula, in 64-bit floats, all numbers held."""
        noisy = values[:, self.cell, None] / SCALE
        gained = np.abs(noisy) - np.abs(noisy - self.share[:, None] * SIZES / SCALE)
        logs = np.add.reduceat(gained, self.start[:-1], axis=1)
        if without is not None:
            left_out = np.flatnonzero(without >= 0)
            logs[left_out, without[left_out]] = -np.inf
        likely = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        posterior = np.einsum("iks,ks->ik", likely, self.prior)
        return posterior @ self.belonging / posterior.sum(axis=1, keepdims=True)


def require_same(found: tuple[np.ndarray, np.ndarray], chances: np.ndarray) -> None:
    cell, chance = found
    first, second = np.sort(chances, axis=1)[:, :-3:-1].T
    clear = first - second > 1e-5
    assert clear.mean() > 0.95
    assert (cell[clear] == chances.argmax(axis=1)[clear]).all()
    assert np.abs(chance - first).max() < 1e-5


def test_cells_and_chances_are_those_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "_ROWS", 64)
    model = Model()
    values = model.owners(1_000)
    require_same(model.likelihoods.best_cells(values, model.prior, model.belonging), model.chances(values))


def test_a_profile_can_be_left_out_for_an_owner() -> None:
    model = Model()
    values = model.owners(300)
    without = np.where(np.arange(300) % 3 == 0, -1, np.arange(300) % 60)
    found = model.likelihoods.best_cells(values, model.prior, model.belonging, without=without)
    require_same(found, model.chances(values, without))


def test_equal_owners_are_looked_at_once_and_get_the_same() -> None:
    model = Model()
    values = np.tile(model.owners(50), (4, 1))
    firsts, kind = distinct_rows(values)
    assert len(firsts) == 50
    assert (values[firsts][kind] == values).all()
    cell, chance = model.likelihoods.best_cells(values, model.prior, model.belonging)
    assert (cell.reshape(4, 50) == cell[:50]).all()
    assert (chance.reshape(4, 50) == chance[:50]).all()
    require_same((cell, chance), model.chances(values))


def test_rows_that_only_share_a_hash_are_not_taken_for_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "_hashes", lambda values: np.zeros(len(values), dtype=np.uint64))
    firsts, kind = distinct_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    assert firsts.tolist() == kind.tolist() == [0, 1, 2]


def test_likelihoods_are_relative_to_the_likeliest() -> None:
    model = Model()
    found = model.likelihoods.relative(model.owners(20))
    assert found.shape == (20, 60, len(SIZES))
    assert (found.max(axis=(1, 2)) == 1).all()
    assert found.min() >= 0
