"""Which column is which: chosen by name, or found by the names people usually give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedgroup.errors import InvalidInput
from fedgroup.given import written, yes_or_no

_OWNER = ("owner", "owner_id", "user", "user_id", "userid", "uid", "company", "device", "device_id", "vehicle_id")
_X = ("x", "lon", "lng", "long", "longitude", "easting")
_Y = ("y", "lat", "latitude", "northing")
_TIME = ("time", "t", "timestamp", "datetime", "when")
_DEGREES = {"lon", "lng", "long", "longitude", "lat", "latitude"}


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold the owner, the place and the time; one owner's own table may name none."""

    owner: str | None
    x: str
    y: str
    time: str | None
    lonlat: bool

    @property
    def taken(self) -> set[str]:
        return {name for name in (self.owner, self.x, self.y, self.time) if name}


def choose_columns(
    names: Sequence[str],
    *,
    owner: str | None = None,
    x: str | None = None,
    y: str | None = None,
    time: str | None = None,
    planar: bool = False,
    points: str | None = None,
    alone: bool = False,
) -> Columns:
    """Return the columns to read; `points` names a column of geometries that stands for x and y.

    A table of one owner `alone` need not tell whose its records are.
    """
    for role, asked in {"owner": owner, "x": x, "y": y, "time": time}.items():
        if not (asked is None or isinstance(asked, str)):
            raise InvalidInput(f"{role} is the name of a column, got {written(asked)}")
    yes_or_no(planar, name="planar")
    chosen_x = points or _pick(names, x, _X, "x")
    chosen_y = points or _pick(names, y, _Y, "y")
    lonlat = {chosen_x.lower(), chosen_y.lower()} <= _DEGREES and not planar
    return Columns(
        owner=_find(names, _OWNER) if alone else _pick(names, owner, _OWNER, "owner"),
        x=chosen_x,
        y=chosen_y,
        lonlat=lonlat,
        time=_find(names, _TIME) if time is None else _pick(names, time, _TIME, "time"),
    )


def _pick(names: Sequence[str], asked: str | None, usual: Sequence[str], role: str) -> str:
    found = _find(names, usual) if asked is None else asked if asked in names else None
    if found is None:
        missing = f"no {role} column was found" if asked is None else f"there is no column {asked!r}"
        # Names that mean nothing to us may be the first record of a file without a header row.
        known = any(_find(names, names_of_role) for names_of_role in (_OWNER, _X, _Y, _TIME))
        shown = f"the columns are: {', '.join(names)}" if known else "no usual name is among the columns"
        raise InvalidInput(f"{missing}; {shown}; name one with --{role} or {role}=")
    return found


def _find(names: Sequence[str], usual: Sequence[str]) -> str | None:
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)
