"""`fedgroup bench grouping`: str 2 on the sparse graph, against colouring the complement with networkx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.secure_sum import bench_stream
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels

DENSITY = 0.05


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row against networkx, and one for a large graph, which networkx could not hold."""
    yield _against_networkx(random_graph(200 if quick else 2_000, DENSITY), repeats=1 if quick else 9)
    owners, edges = (2_000, 20_000) if quick else (100_000, 10_000_000)
    graph = random_graph(owners, 2 * edges / owners**2)
    greedy_labels(graph)
    seconds = median_seconds(lambda: greedy_labels(graph), repeats=1 if quick else 5)
    more = {"owners": owners, "edges": graph.edges, "edges_per_s": graph.edges / seconds}
    yield BenchRow(case="greedy, a large graph", ours_s=seconds, peak_mb=peak_mb(), more=more)


def random_graph(owners: int, density: float) -> SimilarityGraph:
    """Return a graph that holds about `density` of all pairs, the same every time."""
    wanted = int(density * owners * (owners - 1) / 2)
    words = bench_stream(b"graph").words(2 * wanted, np.uint32).reshape(2, -1) % np.uint32(owners)
    first, second = np.minimum(*words).astype(np.int64), np.maximum(*words).astype(np.int64)
    keys = np.unique((first * owners + second)[first != second])
    return SimilarityGraph.from_edges(owners, keys // owners, keys % owners)


def _against_networkx(graph: SimilarityGraph, *, repeats: int) -> BenchRow:
    import networkx

    plain = _as_networkx(graph)
    colours: dict[int, int] = {}

    def colour() -> None:
        complement = networkx.complement(plain)
        colours.update(networkx.greedy_color(complement, strategy=lambda nodes, _: sorted(nodes)))

    reference = median_seconds(colour, repeats=1)
    labels = greedy_labels(graph)
    if [colours[owner] for owner in range(graph.owners)] != labels.tolist():
        raise RuntimeError("the groups differ from networkx's colours")
    return BenchRow(
        case=f"greedy, {graph.owners:,} owners, density {DENSITY}",
        ours_s=median_seconds(lambda: greedy_labels(graph), repeats=repeats),
        peak_mb=peak_mb(),
        reference="networkx complement and greedy_color, as the paper does it",
        reference_s=reference,
        more={"owners": graph.owners, "edges": graph.edges, "groups": int(labels.max()) + 1},
    )


def _as_networkx(graph: SimilarityGraph) -> Any:
    import networkx

    plain: Any = networkx.Graph()
    plain.add_nodes_from(range(graph.owners))
    plain.add_edges_from((i, int(j)) for i in range(graph.owners) for j in graph.neighbours_of(i))
    return plain
