"""The public map: boxes, grids, ranges and distances. Nothing here knows a record."""

from fedgroup.space.box import Box, Grid
from fedgroup.space.publicmap import PublicMap
from fedgroup.space.ranges import Circle, MultiPolygon, Polygon, Range, Rectangle

__all__ = ["Box", "Circle", "Grid", "MultiPolygon", "Polygon", "PublicMap", "Range", "Rectangle"]
