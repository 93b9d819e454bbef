"""`fedgroup bench gpu`: the graph of all pairs on a GPU, fused kernels against plain torch blocks, and groups from it.

Needs numpy, torch and Triton, and of this package only what needs no more than they do. So it runs without any
set-up where there is a GPU:

    PYTHONPATH=src python -m fedgroup.lab.bench.gpu [--quick]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedgroup.errors import FedgroupError
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels, has_numba

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

CELLS = 128
HOUSEHOLD = 4
PLACES = 16
VISITS = 8.0
THRESHOLD = 0.6


def missing() -> str | None:
    """Return what this machine lacks for the bench, or none."""
    if find_spec("torch") is None:
        return "PyTorch is not installed; install fedgroup with the extra [gpu]"
    import torch

    if not torch.cuda.is_available():
        return "PyTorch finds no GPU"
    return "Triton is not installed" if find_spec("triton") is None else None


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for the graph of all pairs and one for the greedy groups of that graph."""
    repeats = 1 if quick else 5
    counts = households(20_000 if quick else 1_000_000)
    plain = _timed(counts, fused=False, repeats=repeats)
    fused = _timed(counts, fused=True, repeats=repeats)
    if not _same(plain.graph, fused.graph):
        raise RuntimeError("the fused kernels' graph differs from plain torch's")
    yield _graph_row(counts, fused, plain, repeats)
    yield _grouping_row(fused.graph, repeats)


def households(owners: int, *, seed: int = 1, device: str = "cuda") -> torch.Tensor:
    """Return the counts of owners in households of 4 with 16 places in common, in no order.

    Two of a household have a cosine near 0.9; two of different ones hardly ever reach 0.6.
    """
    import torch

    draw = torch.Generator(device=device).manual_seed(seed)
    homes = -(-owners // HOUSEHOLD)
    places = torch.rand(homes, CELLS, device=device, generator=draw).topk(PLACES, dim=1).indices
    rates = torch.zeros(homes, CELLS, device=device).scatter_(1, places, VISITS)
    counts = torch.poisson(rates.repeat_interleave(HOUSEHOLD, dim=0)[:owners], generator=draw).to(torch.int16)
    return counts[torch.randperm(owners, device=device, generator=draw)]


class _Timed(NamedTuple):
    """A graph, the median time it took once all was compiled, and the most GPU memory that was held for it."""

    graph: SimilarityGraph
    seconds: float
    gpu_mb: float


def _timed(counts: torch.Tensor | npt.NDArray[np.int64], *, fused: bool, repeats: int) -> _Timed:
    import torch

    from fedgroup.provider.gpu import all_pairs_graph

    def work() -> SimilarityGraph:
        return all_pairs_graph(counts, threshold=THRESHOLD, fused=fused)

    torch.cuda.reset_peak_memory_stats()
    graph = work()  # ends in host memory, so wall times hold all of it
    return _Timed(graph, median_seconds(work, repeats=repeats), torch.cuda.max_memory_allocated() / 1e6)


def _same(one: SimilarityGraph, other: SimilarityGraph) -> bool:
    return np.array_equal(one.offsets, other.offsets) and np.array_equal(one.neighbours, other.neighbours)


def _graph_row(counts: torch.Tensor, fused: _Timed, plain: _Timed, repeats: int) -> BenchRow:
    import torch

    from_host = _timed(counts.cpu().numpy().astype(np.int64), fused=True, repeats=repeats)
    return BenchRow(
        case=f"all pairs, {len(counts):,} owners, {CELLS} cells, threshold {THRESHOLD}",
        ours_s=fused.seconds,
        peak_mb=peak_mb(),
        reference="plain torch blocks, the same GPU",
        reference_s=plain.seconds,
        more={
            "threshold": THRESHOLD,
            "edges": fused.graph.edges,
            "gpu_mb": fused.gpu_mb,
            "reference_gpu_mb": plain.gpu_mb,
            "from_host_s": from_host.seconds,
            "gpu": torch.cuda.get_device_name(),
        },
    )


def _grouping_row(graph: SimilarityGraph, repeats: int) -> BenchRow:
    labels, compiled = greedy_labels(graph), has_numba()
    seconds = median_seconds(lambda: greedy_labels(graph), repeats=repeats)
    by_lists = median_seconds(lambda: greedy_labels(graph, compiled=False), repeats=1) if compiled else None
    return BenchRow(
        case=f"greedy groups of that graph, {'compiled' if compiled else 'without numba'}",
        ours_s=seconds,
        peak_mb=peak_mb(),
        reference="the same without numba" if compiled else None,
        reference_s=by_lists,
        more={"edges": graph.edges, "groups": int(labels.max()) + 1},
    )


def main() -> None:
    """Print the report as JSON, or in one line why there is none."""
    from fedgroup.lab.bench import run

    try:
        report = run("gpu", quick="--quick" in sys.argv[1:])
    except FedgroupError as error:
        sys.exit(f"fedgroup: {error}")
    sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n")


if __name__ == "__main__":
    main()
