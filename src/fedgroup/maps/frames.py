"""Maps as tables: pandas and GeoPandas frames, and GeoJSON. A row is a bin, in the order of the map's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from fedgroup.errors import InvalidInput
from fedgroup.given import written
from fedgroup.space import Grid
from fedgroup.space.blocks import Blocks
from fedgroup.space.places import Districts, Hexagons
from fedgroup.space.shapes import geometry_of
from fedgroup.space.systems import WGS84, moved

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
    time, end   when its step of time begins and when it is over, in UTC, where there are steps
    category    its category, where there are some
    value, low, high
                the noisy value and its interval; no value where there is no mean
    noisy, shown, density
                of a published map: what was released in whole units, whether it is more than noise alone explains
                anywhere in the map, and the value per square kilometre (1,000 x 1,000 units)
    true_value, true_value_clipped
                for evaluation: what the data say, and what noise is added to
    """
    places, steps, categories = made.shape
    place = np.repeat(np.arange(places), steps * categories)
    columns: dict[str, Array] = {"place": place} | {name: of[place] for name, of in _names(made).items()}
    if made.query.every is not None:
        for name, times in (("time", made.starts()), ("end", made.ends())):
            column = np.array([None if at is None else at.replace(tzinfo=None) for at in times], "datetime64[us]")
            columns[name] = np.tile(np.repeat(column, categories), places)
    if made.query.by is not None:
        columns["category"] = np.tile(_categories(made.query.by), places * steps)
    columns |= {"value": made.values, "low": made.low, "high": made.high} | dict(made.more_columns())
    truths = {"true_value": made.true_values, "true_value_clipped": made.true_values_clipped}
    return columns | {name: column for name, column in truths.items() if column is not None}


def to_frame(made: PrivateMap) -> pd.DataFrame:
    """Return a map as a pandas frame."""
    pandas = needed(_pandas, "pandas")
    frame: pd.DataFrame = pandas.DataFrame(columns_of(made))
    for name in {"time", "end"} & set(frame):
        frame[name] = frame[name].dt.tz_localize("UTC")
    return frame


def to_geodataframe(made: PrivateMap) -> Any:
    """Return a map as a GeoPandas frame: in EPSG:4326 where it is in degrees, on a plane in its CRS if it is known."""
    geopandas = needed(_geopandas, "GeoPandas")
    frame = to_frame(made)
    shapes = np.array(made.geometries(), dtype=object)[frame["place"].to_numpy()]
    return geopandas.GeoDataFrame(frame, geometry=shapes, crs=system_of(made))


def explore(made: PrivateMap, *, step: int | None, category: Value | None, tiles: str | None) -> Any:
    """Return a map to look around in: a shape and a value for every place; what noise may explain is grey."""
    from fedgroup.maps.pictures import drawable, painted, seen

    folium = needed(_folium, "folium")
    made = drawable(made)
    chosen, degrees = seen(made, step=step, category=category), system_of(made) is not None
    columns = _names(made) | {"value": chosen.values, "low": chosen.low, "high": chosen.high}
    told = {name: _json_values(column) for name, column in columns.items()} | {"fill": painted(made, chosen)}
    rows = [dict(zip(told, row, strict=True)) for row in zip(*told.values(), strict=True)]
    shapes = (geometry_of(shape) for shape in _on_earth(made, made.geometries()))
    features = [{"type": "Feature", "properties": p, "geometry": g} for p, g in zip(rows, shapes, strict=True)]
    (domain,) = _on_earth(made, [shapely.box(*made.public_map.domain.sides)])
    west, south, east, north = domain.bounds
    shown = folium.Map(tiles=tiles if degrees else None, crs="EPSG3857" if degrees else "Simple")
    shown.fit_bounds([(south, west), (north, east)])
    folium.GeoJson(
        {"type": "FeatureCollection", "features": features},
        style_function=lambda feature: {"fillColor": feature["properties"]["fill"], "fillOpacity": 0.7, "weight": 0.3},
        tooltip=folium.GeoJsonTooltip(list(columns)),
    ).add_to(shown)
    return shown


def system_of(made: PrivateMap) -> str | None:
    """Return the name of the coordinate system that a map's shapes are in; None for a plane that nobody named."""
    return WGS84 if made.public_map.lonlat else made.public_map.crs


def feature_collection(made: PrivateMap, *, degrees: bool = False) -> dict[str, Any]:
    """Return a map as a GeoJSON collection; one on a plane says that its coordinates are no degrees: `crs` is null.

    With `degrees`, a plane whose system is known is turned to longitude and latitude, as GeoJSON has it.
    """
    earth = made.public_map.lonlat or (degrees and made.public_map.crs is not None)
    shapes = _on_earth(made, made.geometries()) if degrees else made.geometries()
    return {"type": "FeatureCollection", **({} if earth else {"crs": None}), "features": list(_features(made, shapes))}


def _on_earth(made: PrivateMap, shapes: Sequence[Any]) -> Sequence[Any]:
    """Return shapes in degrees, if it is known where on the Earth they are."""
    system = system_of(made)
    return shapes if system is None else moved(shapes, system, WGS84)


def _features(made: PrivateMap, on_map: Sequence[Any]) -> Iterator[dict[str, Any]]:
    columns = {name: _json_values(column) for name, column in columns_of(made).items()}
    shapes = [geometry_of(shape) for shape in on_map]
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
