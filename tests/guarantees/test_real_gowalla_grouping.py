"""Grouping on real check-ins: lambda, false pairs and misplaced owners, as reported in docs/results.md.

New York, 500 owners with 10 records or more, 5x5 cells, threshold 0.5, epsilon 0.3; three selections here (seeds are
fixed, so the figures are too), ten in the report: fedgroup experiment grouping.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import fedgroup as fg
from fedgroup.lab.experiments.grouping import Quality, grouping_quality

NEW_YORK = fg.Box(-74.26, 40.48, -73.70, 40.92)


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str | None, float | None], Quality]:
    records = fg.read(Path(os.environ["FEDGROUP_DATA"]) / "gowalla_nyc_u7115.parquet")
    rows = grouping_quality(
        records, NEW_YORK, owners=500, min_records=10, grid=(5, 5), threshold=0.5, epsilon=0.3, selections=3
    )
    return {(row.graph, row.algorithm, row.false_cells): row for row in rows}


def test_the_exact_graph_makes_about_18_groups_and_no_mistake(found) -> None:
    exact = found["exact", "greedy", None]
    assert 14 <= exact.groups <= 24
    assert (exact.false_pair_share, exact.misplaced_share) == (0, 0)


def test_dsatur_makes_no_more_groups_than_greedy(found) -> None:
    for graph, algorithm, q in found:
        if algorithm == "greedy":
            assert found[graph, "dsatur", q].groups <= found[graph, "greedy", q].groups


def test_raw_needs_many_more_groups_than_thresholded(found) -> None:
    assert 140 <= found["raw", "greedy", None].groups <= 200
    assert 70 <= found["thresholded", "greedy", 1].groups <= 110


@pytest.mark.parametrize(
    ("q", "low", "high", "misplaced"),
    [(3, 22, 38, 0.13), (1, 50, 90, 0.12), (0.3, 130, 190, 0.07), (0.1, 220, 290, 0.03)],
)
def test_topcell_trades_groups_for_misplaced_owners(found, q: float, low: int, high: int, misplaced: float) -> None:
    row = found["topcell", None, q]
    assert low <= row.groups <= high
    assert row.misplaced_share <= misplaced
