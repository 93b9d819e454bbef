"""Graphs by looking at every pair, and vectors of every kind that the GPU's filters treat in their own way."""

from __future__ import annotations

import numpy as np

from fedgroup.lab.bench.gpu import households
from fedgroup.provider.graph import SimilarityGraph


def edges_by_force(vectors: np.ndarray, threshold: float) -> np.ndarray:
    """Return all edges i < j, in order, by the rule of `provider.similarity` on the matrix of all pairs."""
    values = vectors.astype(np.float64)
    squares = np.einsum("ij,ij->i", values, values)
    joined = values @ values.T > threshold * np.sqrt(squares[:, None] * squares[None, :])
    return np.argwhere(np.triu(joined, k=1))


def edges_of(graph: SimilarityGraph) -> np.ndarray:
    """Return all edges i < j of a graph, in order."""
    source = np.repeat(np.arange(graph.owners), np.diff(graph.offsets))
    once = source < graph.neighbours
    return np.stack([source[once], graph.neighbours[once]], axis=1)


def cases(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return vectors of every kind, owners of whole and broken tiles."""
    triples = np.array([[3, 4, 0], [5, 0, 0], [0, 5, 0], [4, 3, 0], [0, 0, 0], [8, 6, 0], [0, 0, 7]])
    return {
        "one owner": rng.poisson(1, (1, 128)),
        "at the threshold": np.tile(triples, (100, 1)),
        "at it, rounded": np.tile(triples * 4001, (100, 1)),
        "few cells": rng.poisson(0.5, (1000, 9)),
        "households": households(4000, seed=int(rng.integers(1 << 30)), device="cpu").numpy(),
        "empty owners": rng.poisson(0.2, (1537, 100)) * (rng.random((1537, 1)) < 0.8),
        "negative": rng.integers(-9, 10, (2049, 16)),
        "largest exact": rng.integers(0, 2, (1500, 3)) * 2048,
        "just too large": rng.integers(0, 3, (1500, 12)) * 2049,
        "large": (rng.pareto(1.0, (2000, 64)) * 50).astype(np.int64),
        "many cells": rng.poisson(0.05, (1500, 400)),
        "many large cells": rng.poisson(0.05, (1500, 333)) * rng.integers(1, 9999, (1500, 333)),
    }
