"""Maps of real check-ins against other implementations: GeoPandas' spatial joins, H3's own cells, pandas' groups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import geopandas as gpd
import h3
import numpy as np
import pandas as pd
import pytest
import shapely

import fedgroup as fg
from fedgroup.space.places import Districts

NEW_YORK = fg.Box(-74.26, 40.48, -73.70, 40.92)
SINCE, UNTIL = "2010-03-01", "2010-03-08"


@pytest.fixture(scope="module")
def frame() -> Any:
    columns = pd.read_parquet(Path(os.environ["FEDGROUP_DATA"]) / "gowalla_nyc_u7115.parquet")
    west, south, east, north = NEW_YORK.sides
    inside = columns.lon.between(west, east, inclusive="left") & columns.lat.between(south, north, inclusive="left")
    return columns[inside]


@pytest.fixture(scope="module")
def federation() -> fg.Federation:
    records = fg.read(Path(os.environ["FEDGROUP_DATA"]) / "gowalla_nyc_u7115.parquet")
    return fg.Federation(records, NEW_YORK, evaluation=True)


def exact(federation: fg.Federation, **said: Any) -> fg.PrivateMap:
    return federation.map(method="exact", **said)


def test_h3_counts_are_those_of_h3_itself(federation: fg.Federation, frame: Any) -> None:
    made = exact(federation, h3=8)
    cells = [h3.latlng_to_cell(lat, lon, 8) for lat, lon in zip(frame.lat, frame.lon, strict=True)]
    counts = pd.Series(cells).value_counts()
    found = {name: value for name, value in zip(made.names(), made.values.tolist(), strict=True) if value}
    assert found == counts.to_dict()


def triangles(count: int) -> dict[str, fg.Polygon]:
    """Disjoint districts with slanted borders: a fan around the middle of the domain."""
    middle = np.array([-73.98, 40.7])
    angle = np.linspace(0, 2 * np.pi, count + 1)
    rim = middle + np.stack([0.2 * np.cos(angle), 0.15 * np.sin(angle)], axis=1)
    corners = [tuple(point) for point in rim[:-1].tolist()]
    around = zip(corners, [*corners[1:], corners[0]], strict=True)
    return {f"ward {at}": fg.Polygon([tuple(middle.tolist()), one, other]) for at, (one, other) in enumerate(around)}


def test_districts_are_those_of_a_spatial_join(federation: fg.Federation, frame: Any) -> None:
    wards = triangles(24)
    made = exact(federation, districts=wards)
    points = gpd.GeoDataFrame(geometry=gpd.points_from_xy(frame.lon, frame.lat))
    shapes = gpd.GeoDataFrame({"ward": list(wards)}, geometry=[each.shape for each in wards.values()])
    joined = gpd.sjoin(points, shapes, predicate="within").ward.value_counts()
    assert (
        dict(zip(made.names(), made.values.tolist(), strict=True))
        == joined.reindex(list(wards), fill_value=0).to_dict()
    )
    assert made.values.sum() > 50_000


def test_a_grid_by_days_is_what_pandas_counts(federation: fg.Federation, frame: Any) -> None:
    made = exact(federation, grid=(7, 5), every="1d", since=SINCE, until=UNTIL)
    x_edges, y_edges = (np.linspace(*ends) for ends in ((-74.26, -73.70, 8), (40.48, 40.92, 6)))
    time = pd.to_datetime(frame.t, unit="s", utc=True)
    chosen = (time >= pd.Timestamp(SINCE, tz="UTC")) & (time < pd.Timestamp(UNTIL, tz="UTC"))
    rows = frame[chosen]
    place = (np.digitize(rows.lat, y_edges) - 1) * 7 + np.digitize(rows.lon, x_edges) - 1
    day = (time[chosen] - pd.Timestamp(SINCE, tz="UTC")).dt.days
    counts = np.zeros((35, 7), dtype=int)
    np.add.at(counts, (place, day), 1)
    assert made.shape == (35, 7, 1)
    assert np.array_equal(made.at(made.values)[:, :, 0], counts)


def test_people_are_users_that_were_there(federation: fg.Federation, frame: Any) -> None:
    made = exact(federation, h3=6, kind="people")
    cells = [h3.latlng_to_cell(lat, lon, 6) for lat, lon in zip(frame.lat, frame.lon, strict=True)]
    people = frame.assign(cell=cells).groupby("cell").owner.nunique()
    found = {name: value for name, value in zip(made.names(), made.values.tolist(), strict=True) if value}
    assert found == people.to_dict()


def test_the_hexagons_of_a_domain_hold_every_record_of_it(federation: fg.Federation, frame: Any) -> None:
    for resolution in (4, 7, 9):
        assert exact(federation, h3=resolution).values.sum() == len(frame)


def test_a_record_in_a_sliver_of_two_districts_counts_once(federation: fg.Federation) -> None:
    west, east = (shapely.box(-74.2, 40.5, -73.98, 40.9), shapely.box(-73.98 - 1e-12, 40.5, -73.8, 40.9))
    both = Districts.of({name: fg.Polygon(list(each.exterior.coords)) for name, each in (("w", west), ("e", east))})
    whole = federation.count(fg.Rectangle(-74.2, 40.5, -73.8, 40.9), method="exact")
    assert exact(federation, districts=both).values.sum() <= whole.value
