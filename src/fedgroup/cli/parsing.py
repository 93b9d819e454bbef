"""Numbers and places as they are written on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fedgroup.errors import InvalidInput, InvalidQuery

if TYPE_CHECKING:
    from fedgroup.cli.options import RangeOptions
    from fedgroup.space import Box, Range


def parse_numbers(text: str, count: int, *, name: str, form: str) -> list[float]:
    """Return `count` numbers separated by commas."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise InvalidInput(f"{name} takes {form}, got {text!r}")
    return numbers


def parse_domain(text: str | None, *, lonlat: bool) -> Box | None:
    """Return the domain; in degrees, one across the antimeridian has an east side above 180."""
    from fedgroup.space import Box

    if text is None:
        return None
    west, south, east, north = parse_numbers(text, 4, name="--domain", form="W,S,E,N")
    if not (west < east and south < north):
        across = "; across the antimeridian the east side is above 180, as in 170,-20,190,20" if lonlat else ""
        raise InvalidInput(f"--domain takes W,S,E,N with W < E and S < N, got {text}{across}")
    return Box(west, south, east, north)


def parse_grid(text: str) -> tuple[int, int]:
    """Return columns and rows of a grid written 10x10."""
    parts = re.fullmatch(r"([0-9]{1,9})[xX]([0-9]{1,9})", text)
    if parts is None:
        raise InvalidInput(f"--grid takes COLUMNSxROWS such as 10x10, got {text!r}")
    return int(parts[1]), int(parts[2])


def parse_range(options: RangeOptions, *, lonlat: bool) -> Range:
    """Return the one range that was asked for."""
    from fedgroup.space import Circle

    circle = options.near is not None or options.within is not None
    if [circle, options.rectangle is not None, options.polygon is not None].count(True) != 1:
        raise InvalidQuery("ask about one range: --near X,Y --within R, or --rectangle W,S,E,N, or --polygon FILE")
    if options.across_antimeridian and not (options.rectangle and lonlat):
        raise InvalidQuery("--across-antimeridian goes with a --rectangle in degrees")
    if options.rectangle is not None:
        return _rectangle(options.rectangle, lonlat=lonlat, across=options.across_antimeridian)
    if options.polygon is not None:
        return _polygon(options.polygon)
    if options.near is None or options.within is None:
        raise InvalidQuery("a circle needs both --near X,Y and --within R")
    x, y = parse_numbers(options.near, 2, name="--near", form="X,Y")
    return Circle(x, y, options.within)


def _rectangle(text: str, *, lonlat: bool, across: bool) -> Range:
    from fedgroup.space import Rectangle

    west, south, east, north = parse_numbers(text, 4, name="--rectangle", form="W,S,E,N")
    if across:
        if not (-180 <= east < west <= 180 and south < north):
            form = "W,S,E,N with W > E and S < N, such as 170,-20,-170,20"
            raise InvalidQuery(f"with --across-antimeridian, --rectangle takes {form}; got {text}")
        return Rectangle.across_antimeridian(west, south, east, north)
    if not (west < east and south < north):
        hint = "; if it crosses the antimeridian, say --across-antimeridian" if lonlat and east < west else ""
        raise InvalidQuery(f"--rectangle takes W,S,E,N with W < E and S < N, got {text}{hint}")
    return Rectangle(west, south, east, north)


def parse_time(text: str | None) -> str | float | None:
    """Return a time as text, or as seconds since 1970 where it is a number."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _polygon(path: Path) -> Range:
    from fedgroup.space.ranges import range_from_geojson

    try:
        return range_from_geojson(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise InvalidQuery(f"the polygon file {path} cannot be read; give a GeoJSON file") from None
