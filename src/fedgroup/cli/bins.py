"""The bins of a map as they are said on the command line: places, steps of time, categories."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.options import BINS, WHAT, File, Name, RangeOptions, flag, option
from fedgroup.cli.parsing import parse_grid, parse_range, parse_time
from fedgroup.errors import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Collection

_OTHER = "other"


@dataclass(frozen=True)
class BinOptions:
    """The places of a map: a grid, H3 cells, districts or one range; and maybe steps of time and categories."""

    grid: Annotated[Name, option(BINS, "--grid", "cells that cover the domain, such as 64x64", "COLUMNSxROWS")] = None
    h3: Annotated[int | None, option(BINS, "--h3", "lon/lat: H3 cells of this resolution, 0 to 15", "N")] = None
    districts: Annotated[File, option(BINS, "--districts", "GeoJSON file with polygons that have names", "FILE")] = None
    district_names: Annotated[
        Name, option(BINS, "--district-names", "the property that has their names; default: name", "PROPERTY")
    ] = None
    every: Annotated[
        Name, option(BINS, "--every", "steps of time from --since to --until: 15min, 1h, 1d, 1w", "LENGTH")
    ] = None
    by: Annotated[
        Name,
        option(BINS, "--by", "a bin for each of these values of a column; 'other' for the rest", "COLUMN=A,B,other"),
    ] = None


@dataclass(frozen=True)
class MapMeasureOptions:
    """What is counted or summed in every bin."""

    kind: Annotated[str, option(WHAT, "--kind", "count (records), people, sum or avg", "KIND")] = "count"
    attribute: Annotated[Name, option(WHAT, "--attribute", "for sum and avg: numeric column", "COLUMN")] = None
    clip: Annotated[
        float | None,
        option(WHAT, "--clip", "for sum and avg: values are cut to 0..CLIP before they are summed", "CLIP"),
    ] = None
    signed: Annotated[bool, flag(WHAT, "--signed", "cut to -CLIP..CLIP instead")] = False
    resolution: Annotated[
        float | None,
        option(WHAT, "--resolution", "values are rounded to multiples of U; default about CLIP/1000", "U"),
    ] = None


def parse_bins(
    bins: BinOptions, where: RangeOptions, *, lonlat: bool, texts: Collection[str] | None = None
) -> dict[str, Any]:
    """Return what was said about the bins of a map; `texts` are the columns of words, where they are known."""
    ranged = any((where.near, where.within, where.rectangle, where.polygon))
    return {
        "grid": None if bins.grid is None else parse_grid(bins.grid),
        "h3": bins.h3,
        "districts": None if bins.districts is None else parse_districts(bins.districts),
        "district_names": bins.district_names,
        "range": parse_range(where, lonlat=lonlat) if ranged else None,
        "since": parse_time(where.since),
        "until": parse_time(where.until),
        "every": bins.every,
        "by": None if bins.by is None else parse_by(bins.by, texts=texts),
    }


def parse_districts(path: Path) -> dict[str, Any]:
    """Return the GeoJSON collection in a file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise InvalidQuery(f"the districts file {path} cannot be read; give a GeoJSON file") from None
    except (ValueError, RecursionError):
        raise InvalidQuery(f"{path} is not a GeoJSON file") from None
    if not isinstance(found, dict) or found.get("type") != "FeatureCollection":
        raise InvalidQuery(f"{path} is not a GeoJSON collection of districts")
    return found


def parse_by(text: str, *, texts: Collection[str] | None = None) -> dict[str, list[str | float]]:
    """Return the categories in COLUMN=A,B,other; numbers if all are, unless the column has words."""
    attribute, sign, listed = text.partition("=")
    values = [value.strip() for value in listed.split(",")]
    if not sign or not attribute or not all(values):
        raise InvalidQuery(f"--by takes COLUMN=A,B,other, got {text!r}")
    if texts is None or attribute not in texts:
        numbers = [value if value == _OTHER else _number(value) for value in values]
        if None not in numbers:
            return {attribute: [value for value in numbers if value is not None]}
    return {attribute: list(values)}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
