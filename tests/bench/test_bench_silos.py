"""The bench of silos starts a server of its own, and says what is missing where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedgroup.lab.bench import obstacle, postgres_server, run


def test_silos_are_measured_against_postgis_itself() -> None:
    report = run("silos", quick=True).as_json()
    *circles, snapshot = report["rows"]
    assert [row["case"] for row in circles] == ["points, GiST, 20,000 rows", "numbers, B-tree, 20,000 rows"]
    for row in circles:
        assert row["added_s"] == pytest.approx(row["ours_s"] - row["select_1_s"])
        assert row["records_in_circle"] > 0
        assert row["reference_s"] > 0
    assert circles[0]["records_in_circle"] == circles[1]["records_in_circle"]
    assert snapshot["reference"] == "the same, after no change"


def test_without_a_server_the_bench_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres_server, "_programs", lambda: None)
    assert obstacle("silos") == "PostgreSQL is not installed; see make services"
