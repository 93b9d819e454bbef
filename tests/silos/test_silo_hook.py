"""An owner's own SELECT: its parameters are bound, and whatever it returns is tested again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from silo_kinds import HOOKED, opened, sqlite_hook
from silo_worlds import FIJI, NOON, PLANE, Row

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.questions.query import RangeQuery
from fedgroup.silos import open_silo
from fedgroup.silos.named_parameters import statement
from fedgroup.space import Circle

KNOWN = ("west", "since")
ROWS = [Row(float(i % 3), 1.0, 2.5 * i, NOON + i) for i in range(8)]


def spelled(text: str) -> str:
    return statement(text, known=KNOWN).written(lambda name: f"<{name}>")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("SELECT :west", "SELECT <west>"),
        ("SELECT :west::float8, x::int", "SELECT <west>::float8, x::int"),
        ("SELECT ':west', \":west\", 'it''s :west' || :since", "SELECT ':west', \":west\", 'it''s :west' || <since>"),
        ("-- :west\n/* :nobody\n */ :since", "-- :west\n/* :nobody\n */ <since>"),
        ("$$ :west $$ $a$ :west $$ $a$ :west", "$$ :west $$ $a$ :west $$ $a$ <west>"),
        ("SELECT a[1:2]", "SELECT a[1:2]"),
    ],
)
def test_parameters_are_found_outside_of_texts_and_comments(text: str, written: str) -> None:
    assert spelled(text) == written


def test_other_parameters_are_refused() -> None:
    with pytest.raises(InvalidInput, match="has the parameter :wset; the parameters are: since, west"):
        statement("SELECT :wset", known=KNOWN)


def test_a_select_that_leaves_nothing_out_is_cut_and_counts_no_row_twice(tmp_path: Path) -> None:
    rows = [Row(179.9, -17.0, 1.0, NOON), Row(-179.9, -17.0, 1.0, NOON), Row(180.1, -17.0, 1.0, NOON)]
    said = sqlite_hook(rows, tmp_path) | {"query": "SELECT lon AS x, lat AS y, t, fare FROM places"}
    with opened(said, FIJI) as silo:
        assert silo.totals(RangeQuery("count", Circle(180, -17, 20_000), Epsilon.of(1))) == {"count": 3}


@pytest.mark.parametrize("query", ["SELECT lon AS x FROM places", "SELECT 1 AS a"])
def test_a_select_without_the_columns_is_refused(query: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no column"):
        open_silo(sqlite_hook(ROWS, tmp_path) | {"query": query}, PLANE)


@pytest.mark.parametrize("url", ["mysql://h/d", "places.db", "sqlite:///nowhere.db"])
def test_other_databases_are_refused(url: str) -> None:
    said: dict[str, Any] = {"kind": "sql", "url": url, "query": "SELECT 1 AS x, 1 AS y", **HOOKED}
    with pytest.raises(InvalidInput, match=r"begins with postgresql://|there is no file"):
        open_silo(said, PLANE)
