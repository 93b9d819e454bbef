"""Check-in files as SNAP publishes them: user, time, latitude, longitude and place, tab-separated, without a header."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from fedgroup.data.tables import TableFile
from fedgroup.errors import InvalidInput

_COLUMNS = ["user", "time", "latitude", "longitude", "place"]
_TYPES = {"time": pa.timestamp("us", "UTC"), "latitude": pa.float64(), "longitude": pa.float64()}


def read_checkins(file: TableFile) -> pa.Table:
    """Return the check-ins that have a place on Earth.

    The published files hold check-ins without one. They are left out one by one, which costs no privacy: refusing
    the file would tell of them.
    """
    return on_earth(all_checkins(file))


def on_earth(checkins: pa.Table) -> pa.Table:
    """Return the check-ins that have a place."""
    return checkins.filter(pc.and_(_within(checkins["latitude"], 90), _within(checkins["longitude"], 180)))


def all_checkins(file: TableFile) -> pa.Table:
    """Return the check-ins, with a place or without."""
    try:
        with file.stream() as stream:
            return pa_csv.read_csv(
                stream,
                read_options=pa_csv.ReadOptions(column_names=_COLUMNS),
                parse_options=pa_csv.ParseOptions(delimiter="\t", quote_char=False),
                convert_options=pa_csv.ConvertOptions(column_types=_TYPES, include_columns=_COLUMNS[:4]),
            )
    except (pa.ArrowException, OSError, ValueError):
        expected = "user, ISO time, latitude, longitude, place, separated by tabs"
        raise InvalidInput(f"{file.path} is damaged or is not a SNAP check-in file ({expected})") from None


def _within(degrees: pa.ChunkedArray, limit: int) -> pa.ChunkedArray:
    return pc.fill_null(pc.less_equal(pc.abs(degrees), float(limit)), False)
