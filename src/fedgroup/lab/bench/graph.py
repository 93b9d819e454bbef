"""`fedgroup bench graph`: similarity graphs of noisy vectors, against scikit-learn's cosine neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.messages import NoisyVectors
from fedgroup.owner.counting import count_vectors
from fedgroup.privacy.noise import SeededNoise
from fedgroup.privacy.release import release_vectors
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.similarity import kept_cells, noisy_graph
from fedgroup.space import PublicMap

THRESHOLD = 0.5
FALSE_CELLS = 0.1


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for the sparse vectors of `thresholded` and one for the dense ones of `raw`."""
    owners = 1_000 if quick else 20_000
    vectors = noisy_vectors(owners)
    references = {
        "thresholded": np.asarray(kept_cells(vectors, FALSE_CELLS).todense()),
        "raw": vectors.values,
    }
    for estimate, rows in references.items():
        yield _row(vectors, estimate, rows, repeats=1 if quick else 3)


def noisy_vectors(owners: int) -> NoisyVectors:
    """Return the noisy vectors of a synthetic city, 10x10 cells, epsilon 0.3; the same every time."""
    records = synthesize(owners, seed=1)
    assert records.domain is not None  # noqa: S101  synthetic records state theirs
    public_map = PublicMap(records.domain)
    grid = public_map.grid(10, 10)
    return release_vectors(
        count_vectors(records, grid, public_map),
        grid=grid,
        epsilon=Epsilon.of(0.3),
        protection=Protection(),
        noise=SeededNoise(1),
    )


def _row(vectors: NoisyVectors, estimate: str, rows: Any, *, repeats: int) -> BenchRow:
    from sklearn.neighbors import radius_neighbors_graph

    def ours() -> int:
        return noisy_graph(vectors, threshold=THRESHOLD, estimate=estimate, false_cells=FALSE_CELLS).edges

    edges = ours()
    kept = rows[(rows != 0).any(axis=1)].astype(np.float64)
    reference = median_seconds(
        lambda: radius_neighbors_graph(kept, 1 - THRESHOLD, metric="cosine", mode="connectivity"), repeats=1
    )
    seconds = median_seconds(ours, repeats=repeats)
    pairs = vectors.owners * (vectors.owners - 1) // 2
    return BenchRow(
        case=f"{estimate}, {vectors.owners:,} owners, {vectors.grid.cells} cells",
        ours_s=seconds,
        peak_mb=peak_mb(),
        reference="scikit-learn radius_neighbors_graph, cosine, of the owners with any cell",
        reference_s=reference,
        more={"edges": edges, "pairs_per_s": pairs / seconds},
    )
