"""The list of owners is public, or every answer and plan says what it costs that it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.federation.fitting import UNLISTED

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)
UNITS: list[dict[str, Any]] = [{}, {"unit": "owner", "max_records": 2}]


def federation(owners: Any = None, **settings: Any) -> fg.Federation:
    return fg.Federation(fg.Records(owner=[1, 2], x=[5, 6], y=[5, 6], owners=owners), DOMAIN, **settings)


@pytest.mark.parametrize("unit", UNITS)
def test_an_unlisted_table_is_told_in_answers_expectations_and_plans_of_every_unit(unit: dict[str, Any]) -> None:
    asked = federation(**unit)
    plan = asked.group(epsilon=0.1, grid=(2, 2))
    told: list[Any] = [
        asked.count(ALL, epsilon=0.1),
        asked.count(ALL, epsilon=0.1, plan=plan),
        *asked.count_many([ALL], epsilon=1),
    ]
    for each in (*told, asked.expect("count", ALL, epsilon=0.1), plan):
        assert each.notes.count(UNLISTED) == 1


@pytest.mark.parametrize("unit", UNITS)
def test_a_listed_table_has_nothing_to_say(unit: dict[str, Any]) -> None:
    asked = federation([1, 2, 3], **unit)
    plan = asked.group(epsilon=0.1, grid=(2, 2))
    for each in (asked.count(ALL, epsilon=0.1), asked.expect("count", ALL, epsilon=0.1), plan):
        assert UNLISTED not in each.notes


def test_with_a_list_removing_an_owners_only_record_changes_no_public_number() -> None:
    whole = federation([1, 2]).count(ALL, epsilon=1)
    less = fg.Federation(fg.Records(owner=[1], x=[5], y=[5], owners=[1, 2]), DOMAIN).count(ALL, epsilon=1)
    for name in ("owners", "groups", "noises", "heard", "missing", "notes"):
        assert getattr(whole, name) == getattr(less, name)


def test_owners_without_records_are_on_the_list() -> None:
    assert list(federation([1, 2, 3]).owners) == [1, 2, 3]


def test_an_answer_from_the_store_tells_of_the_table_that_asks() -> None:
    ledger = fg.Federation(fg.Records(owner=[1], x=[5], y=[5]), DOMAIN).ledger
    listed, unlisted = federation([1, 2], ledger=ledger), federation(ledger=ledger)
    assert UNLISTED not in listed.count(ALL, epsilon=0.1).notes
    again = unlisted.count(ALL, epsilon=0.1)
    assert again.stored
    assert UNLISTED in again.notes


def test_a_plan_file_keeps_its_notes(tmp_path: Path) -> None:
    federation().group(epsilon=0.1, grid=(2, 2)).save(tmp_path / "plan.parquet")
    assert UNLISTED in fg.Plan.load(tmp_path / "plan.parquet").notes


def test_a_file_lists_the_owners_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("owner,x,y\n007,5,5\nann,6,6\n")
    (tmp_path / "owners.txt").write_text("007\nann\n12\n")
    records = fg.read(tmp_path / "data.csv", owners=tmp_path / "owners.txt")
    assert (records.listed, records.owners.tolist()) == (True, ["007", "12", "ann"])
