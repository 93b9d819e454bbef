"""Tables of records are valid from birth, do not change and do not print."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from shapely import LineString, Point

from fedgroup.errors import InvalidInput
from fedgroup.owner.records import Records
from fedgroup.owner.times import NO_TIME


def table(**changes: Any) -> Records:
    columns: dict[str, Any] = {"owner": [4, 2, 4], "x": [0.0, 1.0, 2.0], "y": [3.0, 4.0, 5.0]}
    return Records(**(columns | changes))


def frame(**changes: Any) -> pd.DataFrame:
    columns: dict[str, Any] = {"user": ["b", "a"], "lon": [1.0, 2.0], "lat": [3.0, 4.0]}
    return pd.DataFrame(columns | changes)


def test_owners_are_positions_in_an_ascending_list() -> None:
    records = table()
    assert records.owners.tolist() == [2, 4]
    assert records.code.tolist() == [1, 0, 1]
    assert len(records) == 3


def test_records_do_not_print() -> None:
    assert repr(table()) == str(table()) == "Records(<private>)"


def test_a_table_does_not_change_under_a_question() -> None:
    x = np.array([0.0, 1.0, 2.0])
    records = table(x=x)
    x[0] = 99.0
    assert records.x.tolist() == [0.0, 1.0, 2.0]
    for column in (records.x, records.y, records.code, records.owners):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"x": [0.0, np.nan, 1.0]}, "column x has values that are NaN or infinite"),
        ({"y": [0.0, np.inf, 1.0]}, "column y has values that are NaN or infinite"),
        ({"y": ["a", "b", "c"]}, "column y has values that are not numbers"),
        ({"x": [0.0]}, "owner and x must have the same length"),
        ({"x": [[0.0], [1.0], [2.0]]}, "one-dimensional"),
        ({"attributes": {"fare": [1.0]}}, "owner and fare must have the same length"),
        ({"attributes": {"fare": [1.0, 2.0, np.inf]}}, "column fare has values that are infinite"),
        ({"time": [0, 1]}, "owner and time must have the same length"),
        ({"owner": [], "x": [], "y": []}, "no records and no owners"),
        ({"owners": [2, 3]}, "not in the public owner list"),
        ({"lonlat": True, "y": [0, 91, 0]}, "latitude"),
        ({"lonlat": True, "x": [0, 5000, 0]}, "longitude"),
    ],
)
def test_a_faulty_table_cannot_exist(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        table(**changes)


def test_an_owner_may_have_no_records() -> None:
    records = table(owner=[], x=[], y=[], owners=["a", "b"])
    assert len(records) == 0
    assert records.owners.tolist() == ["a", "b"]
    assert len(records.keep(np.zeros(0, dtype=np.int64))) == 0


def test_keeping_rows_keeps_the_owners() -> None:
    records = table(attributes={"fare": [1.0, np.nan, 3.0]}, time=[10, 20, 30])
    kept = records.keep(np.array([True, False, True]))
    assert kept.owners.tolist() == [2, 4]
    assert kept.code.tolist() == [1, 1]
    assert kept.attribute("fare").tolist() == [1.0, 3.0]
    assert kept.time is not None
    assert kept.time.tolist() == [10_000_000, 30_000_000]


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no numeric column 'tip'; the numeric columns are: fare"):
        table(attributes={"fare": [1, 2, 3]}).attribute("tip")


def test_another_table_has_another_digest() -> None:
    others = [
        table(x=[0.0, 1.0, 2.5]),
        table(owner=[4, 3, 4]),
        table(owners=[2, 4, 9]),
        table(time=[1, 2, 3]),
        table(attributes={"fare": [1, 2, 3]}),
        table(lonlat=True),
    ]
    assert table().snapshot == table().snapshot
    assert len({one.snapshot for one in [table(), *others]}) == 1 + len(others)


def test_a_pandas_frame_becomes_a_table() -> None:
    records = Records.from_frame(frame(n=[1, 2], ok=[True, False], name=["p", "q"], time=["2026-01-05", "2026-01-06"]))
    assert records.owners.tolist() == ["a", "b"]
    assert records.lonlat
    assert sorted(records.attributes) == ["n", "ok"]
    assert records.time is not None
    assert np.diff(records.time).tolist() == [86_400_000_000]


def test_nullable_columns_of_a_frame_have_nan_and_no_time() -> None:
    when = pd.to_datetime(pd.Series(["2026-01-05T01:00+01:00", None]), utc=True)
    records = Records.from_frame(frame(n=pd.array([7, None], dtype="Int64"), time=when.dt.tz_convert("Asia/Tokyo")))
    np.testing.assert_array_equal(records.attribute("n"), [7.0, np.nan])
    assert records.time is not None
    assert records.time.tolist() == [1_767_571_200_000_000, NO_TIME]


def test_seconds_in_a_frame_may_be_missing() -> None:
    records = Records.from_frame(frame(t=pd.array([5, None], dtype="Int64")))
    assert records.time is not None
    assert records.time.tolist() == [5_000_000, NO_TIME]


def test_columns_of_a_frame_can_be_named() -> None:
    other = frame().rename(columns={"user": "who", "lon": "e", "lat": "n"})
    records = Records.from_frame(other, owner="who", x="e", y="n", owners=["a", "b", "c"])
    assert records.owners.tolist() == ["a", "b", "c"]
    assert not records.lonlat


def points(crs: str | None) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"owner": [1, 2]}, geometry=[Point(5, 6), Point(7, 8)], crs=crs)


@pytest.mark.parametrize(("crs", "lonlat"), [("EPSG:4326", True), ("EPSG:3857", False)])
def test_a_geopandas_frame_gives_its_points(crs: str, lonlat: bool) -> None:
    records = Records.from_frame(points(crs))
    assert (records.x.tolist(), records.y.tolist()) == ([5.0, 7.0], [6.0, 8.0])
    assert records.lonlat == lonlat


def test_degrees_of_another_datum_are_turned_to_wgs84() -> None:
    records = Records.from_frame(points("EPSG:4258").to_crs("EPSG:4314"))
    assert records.lonlat
    assert np.abs(records.x - [5, 7]).max() < 0.01
    assert (records.x != [5, 7]).all()


@pytest.mark.parametrize(("said", "lonlat"), [({"planar": True}, False), ({"lonlat": True}, True)])
def test_points_without_a_crs_need_a_word(said: dict[str, bool], lonlat: bool) -> None:
    with pytest.raises(InvalidInput, match="say frame"):
        Records.from_frame(points(None))
    assert Records.from_frame(points(None), **said).lonlat == lonlat


@pytest.mark.parametrize(
    ("crs", "said", "told"),
    [
        ("EPSG:4326", {"planar": True}, "degrees, which are no plane"),
        ("EPSG:4326", {"lonlat": False}, "degrees, which are no plane"),
        ("EPSG:3857", {"lonlat": True}, "projected"),
        (None, {"lonlat": True, "planar": True}, "not both"),
    ],
)
def test_a_crs_is_not_talked_over(crs: str | None, said: dict[str, bool], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        Records.from_frame(points(crs), **said)


@pytest.mark.parametrize("shape", [LineString([(0, 0), (1, 1)]), None, Point()])
def test_shapes_without_one_place_are_refused(shape: Any) -> None:
    shapes = gpd.GeoDataFrame({"owner": [1, 2]}, geometry=[Point(5, 6), shape], crs="EPSG:3857")
    with pytest.raises(InvalidInput):
        Records.from_frame(shapes)


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="two columns"):
        Records.from_frame(pd.DataFrame([[1, 2, 3, 4]], columns=["owner", "x", "x", "y"]))
