"""Means and their intervals."""

from __future__ import annotations

import pytest

from fedgroup.lab.experiments.means import load_means, means, save_means


def test_selections_become_a_mean_with_a_95_percent_interval():
    rows = [{"method": "DP", "selection": i, "mae": value} for i, value in enumerate((1.0, 2.0, 3.0))]
    (found,) = means(rows, ("method", "selection"), ("mae",))
    assert found["selections"] == 3
    assert found["mae"] == 2.0
    assert found["mae_pm"] == pytest.approx(1.96 / 3**0.5)


def test_nothing_measured_is_no_mean_and_one_selection_has_no_interval():
    (found,) = means(
        [{"method": "DP", "selection": 0, "mae": 4, "share": None}], ("method", "selection"), ("mae", "share")
    )
    assert (found["mae"], found["mae_pm"], found["share"]) == (4.0, None, None)


def test_only_intervals_that_are_shown_are_kept(tmp_path):
    rows = [{"method": "DP", "selection": i, "mae": i, "seconds": i} for i in range(2)]
    save_means(tmp_path / "means.csv", means(rows, ("method", "selection"), ("mae", "seconds")), shown=("mae",))
    (found,) = load_means(tmp_path / "means.csv")
    assert "mae_pm" in found
    assert "seconds_pm" not in found
    assert load_means(tmp_path / "none.csv") == []
