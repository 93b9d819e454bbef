"""The bench of the GPU, quick. Run by `make test-gpu`; without a GPU only its vectors are made."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from brute_force import edges_by_force

from fedgroup.lab.bench import run
from fedgroup.lab.bench.gpu import households, missing


def test_owners_of_a_household_are_similar_and_no_others():
    counts = households(400, seed=3, device="cpu").numpy()
    first, _ = edges_by_force(counts, 0.6).T
    assert np.bincount(first, minlength=400).sum() == pytest.approx(400 / 4 * 6, rel=0.05)


def test_the_same_seed_makes_the_same_households():
    assert torch.equal(households(50, seed=1, device="cpu"), households(50, seed=1, device="cpu"))
    assert not torch.equal(households(50, seed=1, device="cpu"), households(50, seed=2, device="cpu"))


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_quick_bench_tells_edges_groups_and_gpu_memory():
    report = run("gpu", quick=True)
    graph, groups = (row.as_json() for row in report.rows)
    assert graph["reference_s"] > 0
    assert (graph["threshold"], groups["edges"]) == (0.6, graph["edges"])
    assert 25_000 < graph["edges"] < 35_000
    assert 5_000 <= groups["groups"] < 6_000
    assert min(graph["gpu_mb"], graph["reference_gpu_mb"]) > 5
    assert {"python", "fedgroup", "numpy", "torch", "triton"} <= set(report.versions)
