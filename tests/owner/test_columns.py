"""Columns are chosen by name, or found by their usual names."""

from __future__ import annotations

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.owner.columns import Columns, choose_columns


def test_usual_names_are_found() -> None:
    assert choose_columns(["fare", "X", "y", "User_ID", "timestamp"]) == Columns(
        "User_ID", "X", "y", "timestamp", False
    )


def test_a_time_is_optional() -> None:
    assert choose_columns(["owner", "x", "y"]).time is None


@pytest.mark.parametrize(("x", "y"), [("lon", "lat"), ("Longitude", "Latitude"), ("lng", "lat")])
def test_names_of_degrees_mean_degrees_unless_planar(x: str, y: str) -> None:
    assert choose_columns(["owner", x, y]).lonlat
    assert not choose_columns(["owner", x, y], planar=True).lonlat


def test_a_column_that_is_asked_for_wins() -> None:
    chosen = choose_columns(["owner", "x", "y", "a", "b", "c", "d"], owner="a", x="b", y="c", time="d")
    assert chosen == Columns("a", "b", "c", "d", False)
    assert chosen.taken == {"a", "b", "c", "d"}


@pytest.mark.parametrize("role", ["owner", "x", "y", "time"])
def test_a_column_that_is_not_there_is_refused(role: str) -> None:
    with pytest.raises(InvalidInput, match=f"no column 'nope'; .*name one with --{role}"):
        choose_columns(["owner", "x", "y"], **{role: "nope"})


@pytest.mark.parametrize("names", [["x", "y"], ["owner", "y"], ["owner", "x"], []])
def test_a_role_without_a_column_is_refused(names: list[str]) -> None:
    with pytest.raises(InvalidInput, match="column was found"):
        choose_columns(names)


def test_points_stand_for_both_coordinates() -> None:
    assert choose_columns(["owner", "geometry"], points="geometry") == Columns(
        "owner", "geometry", "geometry", None, False
    )
