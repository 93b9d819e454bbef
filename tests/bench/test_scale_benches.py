"""The benches of scale run at small sizes; times are not judged."""

from __future__ import annotations

import pytest

from fedgroup.cli import bench
from fedgroup.lab.bench import run

FIELDS = {"case", "ours_s", "reference", "reference_s", "ratio", "peak_mb"}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("noise", 3),
        ("grouping", 2),
        ("comparing", 4),
        ("graph", 2),
        ("query", 5),
        ("map", 6),
        ("setup", 2),
        ("growth", 4),
    ],
)
def test_a_bench_runs_and_tells_its_reference(name: str, rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    measured = run(name, quick=True)
    report = measured.as_json()
    assert (report["name"], report["quick"], len(report["rows"])) == (name, True, rows)
    assert all(set(row) >= FIELDS and row["ours_s"] > 0 for row in report["rows"])
    assert any(row["reference_s"] for row in report["rows"])
    bench._show(measured)
    told = capsys.readouterr().out
    assert [row["case"] for row in report["rows"] if row["case"] not in told] == []
