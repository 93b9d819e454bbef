"""Maps as tables: pandas and GeoPandas frames, and GeoJSON. A row is a bin, in the order of the map's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fedgroup.errors import InvalidInput
from fedgroup.given import written
from fedgroup.space import Grid
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import Districts, Hexagons
from fedgroup.space.shapes import WGS84, geometry_of

if TYPE_CHECKING:
    import pandas as pd

    from fedgroup.maps.private_map import Array, PrivateMap
    from fedgroup.questions.bins import Categories, Value

_EXTRA = "this needs {}: pip install 'fedgroup[maps]'"


def columns_of(made: PrivateMap) -> dict[str, Array]:
    """Return the columns of a map's table.

    place       the number of the place, from 0
    h3          its H3 id; or `name`, its district; or `row` and `column` of its cell, from the south-west; `across`
                tells, where cells differ in size, how many rows and columns there would be if all were as large
    time        when its step of time begins, in UTC, where there are steps
    category    its category, where there are some
    value, low, high
                the noisy value and its interval; no value where there is no mean
    noisy, shown, density
                of a published map: what was released in whole units, whether it is more than noise alone explains
                anywhere in the map, and the value per square kilometre (1,000 x 1,000 units)
    true_value  for evaluation
    """
    places, steps, categories = made.shape
    place = np.repeat(np.arange(places), steps * categories)
    columns: dict[str, Array] = {"place": place} | {name: of[place] for name, of in _names(made).items()}
    if made.query.every is not None:
        starts = np.array([None if at is None else at.replace(tzinfo=None) for at in made.starts()], "datetime64[us]")
        columns["time"] = np.tile(np.repeat(starts, categories), places)
    if made.query.by is not None:
        columns["category"] = np.tile(_categories(made.query.by), places * steps)
    columns |= {"value": made.values, "low": made.low, "high": made.high} | dict(made.more_columns())
    return columns if made.true_values is None else columns | {"true_value": made.true_values}


def to_frame(made: PrivateMap) -> pd.DataFrame:
    """Return a map as a pandas frame."""
    pandas = needed(_pandas, "pandas")
    frame: pd.DataFrame = pandas.DataFrame(columns_of(made))
    if "time" in frame:
        frame["time"] = frame["time"].dt.tz_localize("UTC")
    return frame


def to_geodataframe(made: PrivateMap) -> Any:
    """Return a map as a GeoPandas frame: in EPSG:4326 where it is in degrees, without a CRS on a plane."""
    geopandas = needed(_geopandas, "GeoPandas")
    frame = to_frame(made)
    shapes = np.array(made.geometries(), dtype=object)[frame["place"].to_numpy()]
    return geopandas.GeoDataFrame(frame, geometry=shapes, crs=WGS84 if made.public_map.lonlat else None)


def explore(made: PrivateMap, *, step: int | None, category: Value | None, tiles: str | None) -> Any:
    """Return a map to look around in: a shape and a value for every place; what noise may explain is grey."""
    from fedgroup.maps.pictures import drawable, painted, seen

    folium = needed(_folium, "folium")
    made = drawable(made)
    chosen, degrees = seen(made, step=step, category=category), made.public_map.lonlat
    columns = _names(made) | {"value": chosen.values, "low": chosen.low, "high": chosen.high}
    told = {name: _json_values(column) for name, column in columns.items()} | {"fill": painted(made, chosen)}
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    shapes = (geometry_of(shape) for shape in made.geometries())
    features = [{"type": "Feature", "properties": p, "geometry": g} for p, g in zip(rows, shapes, strict=True)]
    west, south, east, north = made.public_map.domain.sides
    shown = folium.Map(tiles=tiles if degrees else None, crs="EPSG3857" if degrees else "Simple")
    shown.fit_bounds([(south, west), (north, east)])
    folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        style_function=lambda feature: {"fillColor": feature["properties"]["fill"], "fillOpacity": 0.7, "weight": 0.3},
        tooltip=folium.GeoJsonTooltip(list(columns)),
    ).add_to(shown)
    return shown


def feature_collection(made: PrivateMap) -> dict[str, Any]:
    """Return a map as a GeoJSON collection; one on a plane says that its coordinates are no degrees: `crs` is null."""
    plane = {} if made.public_map.lonlat else {"crs": None}
    return {"type": "FeatureCollection", **plane, "features": list(_features(made))}


def _features(made: PrivateMap) -> Iterator[dict[str, Any]]:
    columns = {name: _json_values(column) for name, column in columns_of(made).items()}
    shapes = [geometry_of(shape) for shape in made.geometries()]
    for row in zip(*columns.values(), strict=True):
        told = dict(zip(columns, row, strict=True))
        yield {"type": "Feature", "properties": told, "geometry": shapes[told["place"]]}


def _json_values(column: Array) -> list[Any]:
    if column.dtype.kind == "M":
        return [f"{each}Z" for each in np.datetime_as_string(column, unit="us").tolist()]
    return [None if each != each else each for each in column.tolist()]


def _categories(by: Categories) -> Array:
    """Return the categories as one column: numbers, or texts where `other` is among them."""
    if by.of_texts or not by.other:
        return np.array(by.names, dtype=object if by.of_texts else float)
    return np.array([each if isinstance(each, str) else written(each) for each in by.names], dtype=object)


def _names(made: PrivateMap) -> dict[str, Array]:
    """Return what places are called, a column each."""
    match made.places:
        case Hexagons() as hexagons:
            return {"h3": np.array(hexagons.names, dtype=object)}
        case Districts(names):
            return {"name": np.array(names, dtype=object)}
        case Grid(_, columns, rows):
            return {
                "row": np.repeat(np.arange(rows), columns),
                "column": np.tile(np.arange(columns), rows),
            }
        case Blocks() as blocks:
            return dict(zip(("row", "column", "across"), blocks.places, strict=True))
        case _:
            return {}


def needed(load: Callable[[], Any], what: str) -> Any:
    """Return a package that is optional, or say which extra brings it."""
    try:
        return load()
    except ImportError:
        raise InvalidInput(_EXTRA.format(what)) from None


def _pandas() -> Any:
    import pandas

    return pandas


def _geopandas() -> Any:
    import geopandas

    return geopandas


def _folium() -> Any:
    import folium

    return folium
