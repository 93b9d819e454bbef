"""Shapes of other libraries are ranges and districts: holes kept, coordinate systems read or refused."""

from __future__ import annotations

from typing import Any

import geopandas as gpd
import pytest
import shapely

import fedgroup as fg
from fedgroup.space import PublicMap
from fedgroup.space.shapes import as_districts, as_range, as_ranges, drawn

PLANE = PublicMap(fg.Box(0, 0, 100, 100))
DEGREES = PublicMap(fg.Box(-10, 40, 10, 60), lonlat=True)
HOLED = shapely.Polygon([(0, 40), (8, 40), (8, 48), (0, 48)], [[(1, 41), (2, 41), (2, 42), (1, 42)]])
TWO = shapely.MultiPolygon([HOLED, shapely.box(-8, 50, -6, 52)])
FEATURE = {"type": "Feature", "properties": {}, "geometry": shapely.geometry.mapping(HOLED)}
COLLECTION = {"type": "FeatureCollection", "features": [FEATURE]}


def frame(*shapes: Any, crs: Any = "EPSG:4326", **columns: Any) -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame(columns, geometry=list(shapes), crs=crs)


class Anything:
    """A shape of a library we never heard of."""

    __geo_interface__ = FEATURE


@pytest.mark.parametrize(
    "given",
    [
        HOLED,
        shapely.geometry.mapping(HOLED),
        FEATURE,
        COLLECTION,
        Anything(),
        frame(HOLED),
        frame(HOLED).geometry,
        frame(HOLED, kind=["park"]).iloc[0],
        shapely.force_3d(HOLED, 5.0),
    ],
    ids=["shapely", "geometry", "feature", "collection", "interface", "frame", "series", "row", "heights"],
)
@pytest.mark.parametrize("public_map", [DEGREES, PLANE], ids=["degrees", "plane"])
def test_a_shape_is_a_range_with_its_holes(given: Any, public_map: PublicMap) -> None:
    if public_map is PLANE and hasattr(given, "crs"):
        given = given.set_crs(None, allow_override=True)
    asked = as_range(given, public_map)
    assert isinstance(asked, fg.Polygon)
    assert asked.shape.equals(HOLED)


def test_several_parts_stay_together() -> None:
    asked = as_range(TWO, DEGREES)
    assert isinstance(asked, fg.MultiPolygon)
    assert asked.shape.area == TWO.area


def test_a_frame_is_brought_to_degrees() -> None:
    asked = as_range(frame(HOLED).to_crs("EPSG:3857"), DEGREES)
    assert shapely.hausdorff_distance(drawn(asked, lonlat=True), HOLED) < 1e-9


@pytest.mark.parametrize(
    ("given", "public_map", "told"),
    [
        (frame(HOLED, crs=None), DEGREES, "frame.set_crs"),
        (frame(HOLED), PLANE, "frame is in degrees"),
        (shapely.box(0, 0, 500, 500), DEGREES, "give longitude and latitude"),
        (shapely.box(0, 40, 5, 95), DEGREES, "give longitude and latitude"),
        (
            {**COLLECTION, "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}},
            PLANE,
            "plane",
        ),
        ({**FEATURE, "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}}, DEGREES, "3857"),
        (frame(HOLED, HOLED), DEGREES, "one row"),
        (frame(), DEGREES, "one row"),
        (shapely.Point(1, 45), DEGREES, "must be a Polygon"),
        (shapely.Polygon(), DEGREES, "empty"),
        ({"type": "Polygon"}, DEGREES, "not a GeoJSON polygon"),
        ({"type": "FeatureCollection", "features": [FEATURE, FEATURE]}, DEGREES, "one feature"),
        (fg.Grid(PLANE.domain, 2, 2), PLANE, "a range is a Circle"),
        ("POLYGON ((0 0, 1 0, 1 1, 0 0))", PLANE, "a range is a Circle"),
        (None, PLANE, "a range is a Circle"),
        (shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)]), PLANE, "cross"),
    ],
)
def test_what_is_no_range_is_told_with_what_to_do(given: Any, public_map: PublicMap, told: str) -> None:
    with pytest.raises(fg.InvalidQuery, match=told):
        as_range(given, public_map)


def test_rows_of_a_frame_are_many_ranges() -> None:
    found = as_ranges(frame(HOLED, TWO).to_crs("EPSG:3857"), DEGREES)
    assert [type(each) for each in found] == [fg.Polygon, fg.MultiPolygon]
    assert as_ranges([1], DEGREES) == [1]


PARKS = frame(shapely.box(0, 40, 2, 42), shapely.box(4, 44, 6, 46), name=["north", "south"], code=[7, 8])


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        (PARKS, None, ("north", "south")),
        (PARKS, "code", ("7", "8")),
        (PARKS, ["a", "b"], ("a", "b")),
        (PARKS.drop(columns="name"), None, ("0", "1")),
        (PARKS.set_index("code").drop(columns="name"), None, ("7", "8")),
        (PARKS.geometry, None, ("0", "1")),
        (PARKS.to_crs("EPSG:3035"), None, ("north", "south")),
        (PARKS.__geo_interface__, None, ("north", "south")),
        (PARKS.__geo_interface__, "code", ("7", "8")),
        (dict(zip("ab", PARKS.geometry, strict=True)), None, ("a", "b")),
        ({"a": fg.Rectangle(0, 40, 2, 42), "b": FEATURE | {"geometry": shapely.box(4, 44, 6, 46)}}, None, ("a", "b")),
    ],
)
def test_districts_have_the_names_that_they_are_given(given: Any, names: Any, expected: tuple[str, ...]) -> None:
    if isinstance(given, dict) and "b" in given and isinstance(given["b"], dict):
        given["b"]["geometry"] = shapely.geometry.mapping(given["b"]["geometry"])
    districts = as_districts(given, DEGREES, names)
    assert districts.names == expected
    assert [round(shapely.area(shape), 6) for shape in districts.shapes()] == [4, 4]


@pytest.mark.parametrize(
    ("given", "names", "told"),
    [
        (PARKS.set_crs(None, allow_override=True), None, "set_crs"),
        (PARKS, "district", "no column 'district'"),
        (PARKS.__geo_interface__, "district", "no property 'district'"),
        (PARKS, ["a"], "2 districts need 2 names"),
        (frame(HOLED, HOLED, name=["one", "other"]), None, "must not overlap, but 'one' and 'other' do"),
        (frame(HOLED, TWO.geoms[1], name=["x", "x"]), None, "'x' comes twice"),
        (frame(HOLED, None, name=["a", "b"]), None, "'b' cannot be used"),
        ({"a": fg.Circle(1, 45, 3)}, None, "circle"),
        ({"a": shapely.box(0, 0, 5, 500)}, None, "'a' cannot be used"),
        ({}, None, "1 to"),
        (7, None, "polygons by their names"),
        ({"type": "FeatureCollection", "features": [1]}, None, "list of features"),
    ],
)
def test_bad_districts_are_refused_by_name(given: Any, names: Any, told: str) -> None:
    with pytest.raises(fg.InvalidQuery, match=told):
        as_districts(given, DEGREES, names)


def test_a_circle_is_drawn_where_it_is() -> None:
    assert shapely.area(drawn(fg.Circle(3, 4, 2), lonlat=False)) == pytest.approx(12.566, rel=0.01)
    turned = gpd.GeoSeries([drawn(fg.Circle(3, 45, 1000), lonlat=True)], crs=4326).to_crs(3035)
    assert turned.area.iloc[0] == pytest.approx(3.14e6, rel=0.01)
