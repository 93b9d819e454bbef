"""The GPU's graph is the CPU's, edge by edge. Run by `make test-gpu`; without a GPU plain torch runs on the CPU.

With TRITON_INTERPRET=1 the fused kernel runs on the CPU too, slowly.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from brute_force import cases, edges_by_force, edges_of

from fedgroup.errors import InvalidInput
from fedgroup.provider.gpu import all_pairs_graph, margin, pair_filter

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FUSED = [False, True] if DEVICE == "cuda" or os.environ.get("TRITON_INTERPRET") == "1" else [False]
LARGEST = 5000 if DEVICE == "cuda" else 1100
CASES = {name: vectors[:LARGEST] for name, vectors in cases(np.random.default_rng(11)).items()}


def edges(vectors, threshold, **options):
    return edges_of(all_pairs_graph(vectors, threshold=threshold, device=DEVICE, **options))


def leave_rubbish():
    """Leave -1 in the memory that the next allocations get."""
    if DEVICE == "cuda":
        rubbish = [torch.full((1 << n,), -1, dtype=torch.int64, device=DEVICE) for n in range(8, 27)]
        torch.cuda.synchronize()
        del rubbish


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("threshold", [-0.2, 0.0, 0.3, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_the_graph_is_brute_forces(case, threshold, fused):
    vectors = CASES[case]
    leave_rubbish()
    assert np.array_equal(edges(vectors, threshold, fused=fused, block=300), edges_by_force(vectors, threshold))


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_every_kind_of_integer_gives_the_same_graph(kind, fused):
    vectors = CASES["few cells"][:200].astype(kind)
    vectors.flags.writeable = False
    expected = edges_by_force(vectors, 0.6)
    assert np.array_equal(edges(vectors, 0.6, fused=fused), expected)
    assert np.array_equal(edges(vectors.astype(">i4"), 0.6, fused=fused), expected)
    assert np.array_equal(edges(torch.tensor(vectors.astype(np.int32)), 0.6, fused=fused), expected)


@pytest.mark.parametrize("fused", FUSED)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (3, 2)])
def test_owners_without_anything_in_common_stay_apart(shape, fused):
    graph = all_pairs_graph(np.zeros(shape, dtype=np.int64), threshold=-1.0, device=DEVICE, fused=fused)
    assert (graph.owners, graph.edges) == (shape[0], 0)
    assert (graph.offsets.dtype, graph.neighbours.dtype) == (np.dtype(np.int64), np.dtype(np.int32))


@pytest.mark.parametrize("largest", [2048, 2049])
def test_the_filter_lets_every_similar_pair_pass(largest):
    vectors = np.random.default_rng(largest).integers(0, largest + 1, (400, 3))
    vectors[0] = largest, 0, 0
    values = torch.tensor(vectors)
    operand, bounds, lengths = pair_filter(values, values.double().square().sum(1), 0.9)
    passed = operand.double() @ operand.double().T > bounds.double()[:, None] * lengths.double()
    first, second = edges_by_force(vectors, 0.9).T
    assert passed[first, second].all()
    assert passed.triu(1).sum() <= len(first) * 1.05


def test_the_margin_is_small():
    assert 0.001 < margin(128, 2.0**-11) < 0.00102
    assert margin(128, 2.0**-24) < 0.0001


@pytest.mark.skipif(True not in FUSED, reason="needs a GPU, or TRITON_INTERPRET=1")
def test_pairs_beyond_the_lists_room_are_found_in_parts():
    from fedgroup.provider.gpu_kernel import Tiling, close_pairs

    vectors = torch.ones((700, 4), dtype=torch.float16, device=DEVICE)
    ones = torch.ones(700, device=DEVICE)
    for tiling in [Tiling(), Tiling(64, 128, 2, 4), Tiling(128, 64, 1, 4)]:
        parts = list(close_pairs(vectors, ones, ones, capacity=1, tiling=tiling))
        first, second = np.triu_indices(700, k=1)
        assert len(parts) > 10
        assert np.array_equal(torch.cat(parts).sort().values.cpu().numpy(), first * 700 + second)


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((2, 2)),
        np.zeros(3, dtype=np.int64),
        np.zeros((2, 2), dtype=bool),
        torch.zeros((2, 2)),
        np.full((2, 2), 1 << 27),
        np.full((2, 2), (1 << 64) - 1, dtype=np.uint64),
    ],
)
def test_what_is_no_table_of_whole_numbers_is_refused(vectors):
    with pytest.raises(InvalidInput):
        all_pairs_graph(vectors, threshold=0.5, device=DEVICE)


@pytest.mark.parametrize("options", [{"threshold": float("nan")}, {"threshold": 0.5, "block": 0}])
def test_settings_without_meaning_are_refused(options):
    with pytest.raises(InvalidInput):
        all_pairs_graph(np.ones((2, 2), dtype=np.int64), device=DEVICE, **options)
