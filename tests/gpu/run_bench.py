"""The all-pairs graph on a GPU: checked against brute force, then timed, plain torch and fused in the same run.

    python3 tests/gpu/run_bench.py [--owners 100000 1000000] [--tune] [--cpu]

Needs numpy and torch, and Triton for the fused kernel. With the variable OUT it writes $OUT/gpu_graph.json too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from fedgroup.provider import gpu
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping.greedy import greedy_labels

CELLS = 128
PLACES = 16
VISITS = 8.0
THRESHOLD = 0.6


def households(owners: int, seed: int, device: str) -> torch.Tensor:
    """Return counts of owners in households of 4 with 16 places in common, in no order.

    Two of a household have a cosine near 0.9; two of different ones hardly ever reach 0.6.
    """
    torch.manual_seed(seed)
    homes = -(-owners // 4)
    rates = torch.zeros(homes, CELLS, device=device)
    rates.scatter_(1, torch.rand(homes, CELLS, device=device).topk(PLACES, dim=1).indices, VISITS)
    counts = torch.poisson(rates.repeat_interleave(4, dim=0)[:owners]).to(torch.int16)
    return counts[torch.randperm(owners, device=device)]


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
    """Return vectors of every kind that the filters treat in their own way, owners of whole and broken tiles."""
    triples = np.array([[3, 4, 0], [5, 0, 0], [0, 5, 0], [4, 3, 0], [0, 0, 0], [8, 6, 0], [0, 0, 7]])
    return {
        "one owner": rng.poisson(1, (1, 128)),
        "at the threshold": np.tile(triples, (100, 1)),
        "at it, rounded": np.tile(triples * 4001, (100, 1)),
        "few cells": rng.poisson(0.5, (1000, 9)),
        "households": households(4000, int(rng.integers(1 << 30)), "cpu").numpy(),
        "empty owners": rng.poisson(0.2, (1537, 100)) * (rng.random((1537, 1)) < 0.8),
        "negative": rng.integers(-9, 10, (2049, 16)),
        "largest exact": rng.integers(0, 2, (1500, 3)) * 2048,
        "just too large": rng.integers(0, 3, (1500, 12)) * 2049,
        "large": (rng.pareto(1.0, (2000, 64)) * 50).astype(np.int64),
        "many cells": rng.poisson(0.05, (1500, 400)),
        "many large cells": rng.poisson(0.05, (1500, 333)) * rng.integers(1, 9999, (1500, 333)),
    }


def poison(device: str) -> None:
    """Leave -1 in the memory that the next allocations get."""
    if device != "cpu":
        rubbish = [torch.full((1 << n,), -1, dtype=torch.int64, device=device) for n in range(8, 27)]
        torch.cuda.synchronize()
        del rubbish


def check(device: str, paths: dict[str, bool], seed: int) -> int:
    """Compare every path with brute force on fresh vectors and return how many graphs agreed."""
    agreed = 0
    for name, vectors in cases(np.random.default_rng(seed)).items():
        for threshold in (0.0, 0.3, 0.6, 0.95):
            expected = edges_by_force(vectors, threshold)
            for path, fused in paths.items():
                poison(device)
                graph = gpu.all_pairs_graph(vectors, threshold=threshold, device=device, block=1000, fused=fused)
                if not np.array_equal(edges_of(graph), expected):
                    sys.exit(f"WRONG: {path}, {name}, threshold {threshold}: {graph.edges} for {len(expected)} edges")
                agreed += 1
    return agreed


def labels_by_lists(graph: SimilarityGraph, limits: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return what `greedy._labels_by_numpy` returns, with lists instead of small arrays: 20 times as fast.

    A group is known by its founder's turn until the end; groups are numbered as they are founded, so the lowest
    founder is the lowest group. Only owners with a neighbour before them have a choice.
    """
    turn = np.full(graph.owners, graph.owners, dtype=np.int64)
    turn[order] = np.arange(len(order))
    later = np.repeat(turn, np.diff(graph.offsets))
    earlier = turn[graph.neighbours]
    chosen = np.flatnonzero((earlier < later) & (later < graph.owners))
    chosen = chosen[np.argsort(later[chosen], kind="stable")]
    choosing, starts = np.unique(later[chosen], return_index=True)
    near = earlier[chosen].tolist()
    stops = [*starts[1:].tolist(), len(near)]
    limit = limits[order].tolist()
    tightest = list(limit)
    founder = list(range(len(order)))
    size = [1] * len(order)
    for u, start, stop in zip(choosing.tolist(), starts.tolist(), stops, strict=True):
        best = u
        seen: dict[int, int] = {}
        for v in near[start:stop]:
            group = founder[v]
            met = seen[group] = seen.get(group, 0) + 1
            if met == size[group] and group < best and met < tightest[group] and met < limit[u]:
                best = group
        if best != u:
            founder[u] = best
            size[best] += 1
            tightest[best] = min(tightest[best], limit[u])
    found = np.asarray(founder, dtype=np.int64)
    number = np.cumsum(found == np.arange(len(order))) - 1
    labels = np.full(graph.owners, -1, dtype=np.int32)
    labels[order] = number[found]
    return labels


def seconds(work: Callable[[], object], device: str, repeats: int) -> float:
    """Return the median time of `work` after a warm-up, by device events where there are any."""
    work()
    taken = []
    for _ in range(repeats):
        if device == "cpu":
            before = time.perf_counter()
            work()
            taken.append(time.perf_counter() - before)
            continue
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        taken.append(start.elapsed_time(stop) / 1000)
    return statistics.median(taken)


def timed(owners: int, device: str, paths: dict[str, bool], repeats: int) -> dict[str, object]:
    """Return the times of every path and of grouping, and whether the paths agree."""
    vectors = households(owners, seed=owners + 1, device=device)
    row: dict[str, object] = {"owners": owners, "cells": CELLS, "threshold": THRESHOLD}
    graphs = {}
    for path, fused in paths.items():
        work = lambda fused=fused: gpu.all_pairs_graph(vectors, threshold=THRESHOLD, device=device, fused=fused)
        row[f"{path}_s"] = seconds(work, device, repeats)
        row[f"{path}_again_s"] = seconds(work, device, repeats)
        graphs[path] = work()
    host = vectors.cpu().numpy().astype(np.int64)
    last = list(paths)[-1]
    row["from_numpy_int64_s"] = seconds(
        lambda: gpu.all_pairs_graph(host, threshold=THRESHOLD, device=device, fused=paths[last]), device, repeats
    )
    graph = graphs[last]
    row["edges"] = graph.edges
    row["same_graph"] = all(
        np.array_equal(one.offsets, graph.offsets) and np.array_equal(one.neighbours, graph.neighbours)
        for one in graphs.values()
    )
    before = time.perf_counter()
    labels = labels_by_lists(graph, np.full(owners, owners, np.int32), np.arange(owners, dtype=np.int32))
    row["greedy_s"] = time.perf_counter() - before
    row["groups"] = int(labels.max()) + 1
    if device != "cpu":
        row["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    return row


def greedy_agrees(device: str) -> bool:
    """Tell whether the grouping on lists equals the package's own, with limits and in any order too."""
    graph = gpu.all_pairs_graph(households(20_000, 5, device), threshold=0.3, device=device)
    rng = np.random.default_rng(6)
    no_limit, in_turn = np.full(20_000, 20_000, np.int32), np.arange(20_000, dtype=np.int32)
    order = rng.permutation(20_000).astype(np.int32)
    return np.array_equal(labels_by_lists(graph, no_limit, in_turn), greedy_labels(graph)) and np.array_equal(
        labels_by_lists(graph, no_limit, order), greedy_labels(graph, order=order)
    )


def tune(owners: int, device: str) -> list[dict[str, object]]:
    """Return the first kernel's time for several ways to cut the work; one that does not fit the chip is named."""
    from fedgroup.provider.gpu_kernel import Tiling, padded_to_tiles, tiles_with_pairs

    vectors = households(owners, seed=7, device=device)
    squares = vectors.double().square().sum(1)
    chosen = gpu.pair_filter(vectors, squares, THRESHOLD)
    rows: list[dict[str, object]] = []
    for shape in [(128, 128, 64, 8, 2), (128, 128, 64, 8, 3), (128, 128, 16, 8, 2), (128, 128, 64, 4, 2),
                  (128, 256, 32, 8, 2), (128, 256, 32, 8, 3), (256, 128, 64, 8, 2), (256, 128, 64, 8, 3),
                  (64, 256, 32, 4, 2), (128, 128, 256, 8, 2)]:  # fmt: skip
        tiling = Tiling(*shape)
        try:
            padded = padded_to_tiles(*chosen, tiling)
            taken = seconds(lambda padded=padded, tiling=tiling: tiles_with_pairs(padded, tiling), device, 5)
        except Exception as error:
            rows.append({"tiling": str(tiling), "error": repr(error)[:200]})
            continue
        rate = owners**2 * CELLS / taken / 1e12
        rows.append({"tiling": str(tiling), "seconds": taken, "tflops": rate})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="check and time the all-pairs graph on a GPU")
    parser.add_argument("--owners", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tune", action="store_true", help="also time other ways to cut the first kernel's work")
    parser.add_argument("--cpu", action="store_true", help="plain torch on the CPU, to try this script")
    parser.add_argument("--seed", type=int, default=None, help="of the checked vectors; by default a fresh one")
    options = parser.parse_args()
    device = "cpu" if options.cpu else "cuda"
    paths = {"plain": False} if options.cpu else {"plain": False, "fused": True}
    seed = options.seed if options.seed is not None else time.time_ns() % (1 << 31)
    report: dict[str, object] = {"seed": seed, "torch": torch.__version__}
    report["device"] = "cpu" if options.cpu else torch.cuda.get_device_name()
    report["graphs_checked"] = check(device, paths, seed)
    print(f"{report['device']}, torch {torch.__version__}: {report['graphs_checked']} graphs right (seed {seed})")
    report["greedy_agrees"] = greedy_agrees(device)
    print(f"grouping on lists equals the package's: {report['greedy_agrees']}")
    report["tilings"] = tune(262_144, device) if options.tune else []
    for row in report["tilings"]:
        print(*(f"{one:.4g}" if isinstance(one, float) else one for one in row.values()))
    report["rows"] = [timed(owners, device, paths, options.repeats) for owners in options.owners]
    for row in report["rows"]:
        print(*(f"{key} {one:.4g}" if isinstance(one, float) else f"{key} {one}" for key, one in row.items()), sep="\n")
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "gpu_graph.json").write_text(json.dumps(report, indent=1))
    if not (report["greedy_agrees"] and all(row["same_graph"] for row in report["rows"])):
        sys.exit("WRONG: see above")


if __name__ == "__main__":
    main()
