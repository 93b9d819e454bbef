"""A plan made by an executor's workers is the plan made here; what workers cannot do is refused before it costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.provider.settings import require_blocks


@pytest.mark.parametrize("estimate", ["thresholded", "raw", "debiased"])
def test_workers_make_the_same_plan(estimate: str, tmp_path: Path) -> None:
    records = fg.synthesize(300, seed=2)
    settings: dict[str, Any] = {"epsilon": 1, "graph": "noisy", "estimate": estimate}
    here = fg.Federation(records, seed=3).group(**settings)
    with ThreadPoolExecutor(2) as pool:
        there = fg.Federation(records, seed=3).group(**settings, executor=pool, shared=tmp_path)
    assert there.grouping.edges == here.grouping.edges > 0
    assert np.array_equal(there.partition.labels, here.partition.labels)
    assert there.settings == here.settings
    assert not list(tmp_path.iterdir())


def test_private_plans_are_made_by_workers_too() -> None:
    with ThreadPoolExecutor(2) as pool:
        plan = fg.Federation(fg.synthesize(50), budget=1).group(epsilon=0.5, graph="noisy", executor=pool)
    assert plan.private
    assert plan.guarantee.startswith("epsilon-DP")


@pytest.mark.parametrize("graph", ["topcell", "hybrid", "secure", "exact"])
def test_graphs_without_blocks_are_refused_and_cost_nothing(graph: str) -> None:
    federation = fg.Federation(fg.synthesize(20), budget=1)
    with ThreadPoolExecutor(1) as pool, pytest.raises(fg.InvalidInput, match=f"{graph} has no blocks"):
        federation.group(epsilon=0.5, graph=graph, executor=pool)
    assert federation.spent == 0


def test_a_graph_is_computed_by_workers_or_on_a_gpu() -> None:
    with pytest.raises(fg.InvalidInput, match="cuda"):
        require_blocks("noisy", "cuda")


def test_a_folder_that_cannot_be_shared_costs_nothing(tmp_path: Path) -> None:
    federation = fg.Federation(fg.synthesize(20), budget=1)
    with ThreadPoolExecutor(1) as pool, pytest.raises(fg.InvalidInput, match="no folder"):
        federation.group(epsilon=0.5, graph="noisy", executor=pool, shared=tmp_path / "nowhere")
    assert federation.spent == 0
