"""A live owner's own file of records: nothing in it has to say whose they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.running import open_silo
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, PublicMap

MAP = PublicMap(Box(0, 0, 10, 10))
FARES = RangeQuery("sum", Circle(5, 5, 3), Epsilon.of(1), Measure("fare", 50, resolution=1))


def silo(folder: Path, *lines: str, name: str = "trips.csv"):
    (folder / name).write_text("\n".join(lines) + "\n")
    return open_silo({"kind": "records", "path": str(folder / name)}, MAP, protection=Protection())


def test_places_are_enough(tmp_path: Path) -> None:
    found = silo(tmp_path, "x,y", "5,5", "5.5,5", "9,9")
    assert found.vector(MAP.grid(1, 1)).tolist() == [3]
    assert (tuple(found.attributes), found.has_time) == ((), False)


def test_times_and_numbers_are_found_without_an_owner(tmp_path: Path) -> None:
    found = silo(tmp_path, "lon,lat,time,fare", "5,5,2026-01-05T08:00:00Z,7", "5,4,2026-01-05T09:00:00Z,8")
    assert (found.attributes, found.has_time, found.totals(FARES)) == (("fare",), True, {"sum": 15})


def test_a_column_of_owners_is_neither_read_nor_summed(tmp_path: Path) -> None:
    plain = silo(tmp_path, "x,y,fare", "5,5,7", "5,4,8")
    named = silo(tmp_path, "owner,x,y,fare", ",5,5,7", "3,5,4,8", name="named.csv")
    assert (named.attributes, named.totals(FARES)) == (("fare",), {"sum": 15})
    assert named.snapshot() == plain.snapshot()


def test_a_file_without_places_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no y column was found"):
        silo(tmp_path, "x,fare", "5,5")
