"""Rows are kept: a cell is measured once, whatever interrupts the run."""

from __future__ import annotations

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.sheets import ResultSheet, read_rows, write_rows

CELLS = [{"method": "DP", "epsilon": 0.3}, {"method": "FG", "epsilon": 0.3}, {"method": "FG", "epsilon": 0.5}]


def opened(path) -> ResultSheet:
    return ResultSheet(path, ("method", "epsilon"), ("mae", "note"))


def test_a_run_goes_on_where_it_stopped(tmp_path):
    path, measured = tmp_path / "rows.csv", []

    def measure(cell):
        measured.append(cell)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return {"mae": 1.5}

    with pytest.raises(KeyboardInterrupt):
        list(opened(path).fill(CELLS, measure, known={}))
    list(opened(path).fill(CELLS, measure, known={}))
    assert measured == [CELLS[0], CELLS[1], CELLS[1], CELLS[2]]
    assert [row["mae"] for row in opened(path).write(CELLS)] == [1.5, 1.5, 1.5]


def test_a_row_that_was_cut_off_is_measured_again(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("method,epsilon,mae,note\nDP,0.3,2.5,\nFG,0.3")
    list(opened(path).fill(CELLS[:2], lambda _: {"mae": 3}, known={}))
    assert path.read_text() == "method,epsilon,mae,note\nDP,0.3,2.5,\nFG,0.3,3,\n"


def test_what_another_sheet_knows_is_copied(tmp_path):
    sheet = opened(tmp_path / "rows.csv")
    known = {("DP", "0.3"): {**CELLS[0], "mae": 7, "note": None}}
    told = list(sheet.fill(CELLS[:1], lambda _: pytest.fail("measured"), known=known))
    assert told == ["DP, 0.3"]
    assert sheet.write(CELLS[:1]) == [{"method": "DP", "epsilon": 0.3, "mae": 7, "note": None}]


def test_a_sheet_with_other_columns_is_refused(tmp_path):
    write_rows(tmp_path / "rows.csv", ["method", "mae"], [])
    with pytest.raises(InvalidInput, match="other columns"):
        opened(tmp_path / "rows.csv")


def test_values_come_back_as_they_were(tmp_path):
    row = {"text": "cohorts, 10 % silent", "whole": 3, "number": 0.25, "nothing": None}
    write_rows(tmp_path / "rows.csv", list(row), [row])
    assert read_rows(tmp_path / "rows.csv") == (list(row), [row])
