"""Points in a GeoParquet file: which column they are in, and whether they are degrees, as the file's metadata tells."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from fedgroup.errors import InvalidInput

_DEGREES = {("OGC", "CRS84"), ("EPSG", "4326")}


@dataclass(frozen=True)
class PointColumn:
    """A column of points. `crs` is what the file says: None where it says that it does not know."""

    name: str
    encoding: str
    crs: Any

    @classmethod
    def of(cls, schema: pa.Schema) -> PointColumn | None:
        """Return the column of points that a file tells of; None where it tells of none."""
        told = (schema.metadata or {}).get(b"geo")
        if told is None:
            return None
        try:
            geo = json.loads(told)
            name = geo["primary_column"]
            about = geo["columns"][name]
            found = cls(name, str(about["encoding"]), about.get("crs", "OGC:CRS84"))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise InvalidInput("the file's GeoParquet metadata are damaged; write the file again") from None
        if name not in schema.names:
            raise InvalidInput(f"the file's GeoParquet metadata tell of a column {name!r} that it does not have")
        return found

    def unpacked(self, table: pa.Table, *, planar: bool) -> tuple[pa.Table, str, str, bool]:
        """Return the table with two columns of numbers in place of the points, their names, and if they are degrees."""
        x, y = self._coordinates(table[self.name])
        x, y, lonlat = self._read(x, y, planar=planar)
        names = f"{self.name}.x", f"{self.name}.y"
        table = table.drop_columns([self.name])
        return table.append_column(names[0], pa.array(x)).append_column(names[1], pa.array(y)), *names, lonlat

    def _coordinates(self, column: pa.ChunkedArray) -> tuple[Any, Any]:
        if column.null_count:
            raise InvalidInput(f"column {self.name} has missing values; drop those records")
        if self.encoding.lower() == "point":
            points = column.combine_chunks()
            return points.field("x").to_numpy(), points.field("y").to_numpy()
        if self.encoding != "WKB":
            raise InvalidInput(f"column {self.name} has shapes that are not points; use their centroids")
        try:
            shapes = shapely.from_wkb(column.to_numpy())
        except (shapely.errors.GEOSException, TypeError, ValueError):
            raise InvalidInput(f"column {self.name} has values that are not shapes") from None
        if not (shapely.get_type_id(shapes) == 0).all():
            raise InvalidInput(f"column {self.name} has shapes that are not points; use their centroids")
        return shapely.get_x(shapes), shapely.get_y(shapes)

    def _read(self, x: Any, y: Any, *, planar: bool) -> tuple[Any, Any, bool]:
        if self.crs is None:
            if not planar:
                raise InvalidInput(
                    "the file does not tell its coordinate system; say planar (--planar) if it is a plane, or write it "
                    "with a CRS"
                )
            return x, y, False
        degrees = self._known_degrees or self._system.is_geographic
        if degrees and planar:
            raise InvalidInput("the file is in degrees, which are no plane; leave planar out, or project it first")
        if not degrees or self._known_degrees:
            return x, y, degrees
        from pyproj import Transformer

        turned = Transformer.from_crs(self._system, "EPSG:4326", always_xy=True).transform(x, y)
        return np.asarray(turned[0]), np.asarray(turned[1]), True

    @property
    def _known_degrees(self) -> bool:
        told = self.crs.get("id", {}) if isinstance(self.crs, dict) else {}
        return self.crs == "OGC:CRS84" or (str(told.get("authority")), str(told.get("code"))) in _DEGREES

    @property
    def _system(self) -> Any:
        try:
            from pyproj import CRS
            from pyproj.exceptions import CRSError
        except ImportError:
            raise InvalidInput("this file's coordinate system needs pyproj: pip install 'fedgroup[maps]'") from None
        try:
            return CRS.from_user_input(self.crs)
        except CRSError:
            raise InvalidInput(
                "the file's coordinate system is unknown; write it with another, or as x and y"
            ) from None
