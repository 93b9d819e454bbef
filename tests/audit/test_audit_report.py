"""The report in the documents is of the rows that there are, and every row of it is below its charge."""

from __future__ import annotations

from pathlib import Path

from fedgroup.lab.audit.documents import DATA, PAGE, filled, noticed_from, rows_of
from fedgroup.lab.audit.rows import AuditRow, every_row

ROOT = Path(__file__).parents[2]
FACTOR = 2
"""A sensitivity that is wrong by so much must be noticed in every row that drew as often as it should."""


def named(row: AuditRow) -> tuple[str, ...]:
    return row.release, row.bins, row.how, str(row.protection), "" if row.price.rho is None else f"{row.price.rho:.4g}"


def kept() -> dict[tuple[str, ...], dict[str, str]]:
    names = ("release", "bins", "how", "protection", "rho")
    return {tuple(row[name] for name in names): row for row in rows_of(ROOT / DATA)}


def test_the_report_is_of_these_rows_but_for_those_that_the_page_names() -> None:
    told = (ROOT / PAGE).read_text()
    rows = every_row()
    assert set(kept()) <= {named(row) for row in rows}
    assert [row.name for row in rows if named(row) not in kept() and row.name not in told] == []


def test_no_row_exceeds_its_charge_and_whole_ones_would_have_noticed() -> None:
    found = kept()
    assert [row for row in found.values() if float(row["shown"]) > float(row["charged"])] == []
    whole = [found[named(row)] for row in every_row() if int(found.get(named(row), {}).get("draws", 0)) == row.draws]
    assert len(whole) > len(found) / 2
    assert [row for row in whole if not 1 < noticed_from(row) < FACTOR] == []


def test_the_page_shows_the_report() -> None:
    page = (ROOT / PAGE).read_text()
    assert filled(page, rows_of(ROOT / DATA)) == page
