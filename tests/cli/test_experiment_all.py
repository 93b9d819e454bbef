"""`fedgroup experiment all --quick`: every figure, every sheet, and the order of the methods that the paper finds."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from fedgroup.lab.experiments.running import EXPERIMENTS, PARTS

COMMAND = Path(sys.executable).with_name("fedgroup")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def mean(found: list[dict[str, str]], method: str, measure: str = "mae") -> float:
    values = [float(row[measure]) for row in found if row["method"] == method]
    return sum(values) / len(values)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything, run once on a synthetic city."""
    out = tmp_path_factory.mktemp("experiments") / "out"
    command = [str(COMMAND), "experiment", "all", "--quick", "--out", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "report.md" in ran.stdout
    assert "not private" in ran.stdout
    return out


def test_every_figure_is_drawn(folder):
    for name in EXPERIMENTS:
        assert (folder / f"{name}.png").stat().st_size > 10_000
        assert (folder / f"{name}.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("name", PARTS)
def test_every_sheet_has_its_columns(folder, name):
    found = rows(folder / f"{name}.csv")
    assert found
    assert list(found[0]) == [*PARTS[name].keys, *PARTS[name].measures]


@pytest.mark.parametrize("name", ["accuracy-epsilon", "accuracy-owners", "noisy-vs-clear", "trust"])
def test_errors_are_in_the_papers_order(folder, name):
    found = rows(folder / f"{name}.csv")
    best_first = [method for method in ("MPC", "FG-C", "FG", "DP") if any(row["method"] == method for row in found)]
    errors = [mean(found, method) for method in best_first]
    assert errors == sorted(errors)
    if name == "trust":
        assert mean(found, "MPC") < mean(found, "FG likely") < mean(found, "DP")


def test_the_protocol_gives_the_groups_that_were_computed(folder):
    assert [row["agrees"] for row in rows(folder / "protocols.csv")] == ["1", "1"]


def test_the_report_has_a_section_for_each_experiment_and_names_its_data(folder):
    text = (folder / "report.md").read_text()
    for name in EXPERIMENTS:
        assert f"({name}.png)" in text
    assert "synthetic city" in text
    assert "| what | paper |" in text


def test_a_second_run_measures_nothing_anew(folder, fedgroup):
    before = {path.name: path.read_bytes() for path in folder.glob("*.csv")}
    facts = fedgroup("experiment", "noisy-vs-clear", "--quick", "--out", folder, "--json").json
    assert facts["private"] is False
    assert {path.name: path.read_bytes() for path in folder.glob("*.csv")} == before


def test_results_of_other_settings_are_not_mixed(folder, fedgroup):
    ran = fedgroup("experiment", "trust", "--quick", "--repeats", 3, "--out", folder)
    assert (ran.code, ran.out) == (2, "")
    assert "other settings (repeats)" in ran.err
