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
_SUBJECT = ("subject", "subject_id")
_DEGREES = {"lon", "lng", "long", "longitude", "lat", "latitude"}


USUAL = {"owner": _OWNER, "x": _X, "y": _Y, "time": _TIME, "subject": _SUBJECT}
"""The names that columns of each role usually have, the likeliest first."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns that hold the owner, its subject, the place and the time, where there are such."""

    owner: str | None
    x: str
    y: str
    time: str | None
    lonlat: bool
    subject: str | None = None
    crs: str | None = None

    @property
    def taken(self) -> set[str]:
        return {name for name in (self.owner, self.x, self.y, self.time, self.subject) if name}


def choose_columns(
    names: Sequence[str],
    *,
    owner: str | None = None,
    x: str | None = None,
    y: str | None = None,
    time: str | None = None,
    subject: str | None = None,
    planar: bool = False,
    points: str | None = None,
    alone: bool = False,
) -> Columns:
    """Return the columns to read; `points` names a column of geometries that stands for x and y.

    A table of one owner `alone` need not tell whose its records are.
    """
    for role, asked in {"owner": owner, "x": x, "y": y, "time": time, "subject": subject}.items():
        if not (asked is None or isinstance(asked, str)):
            raise InvalidInput(f"{role} is the name of a column, got {written(asked)}")
    yes_or_no(planar, name="planar")
    chosen_x = points or _pick(names, x, "x")
    chosen_y = points or _pick(names, y, "y")
    lonlat = are_degrees(chosen_x, chosen_y) and not planar
    return Columns(
        owner=_found(names, "owner") if alone else _pick(names, owner, "owner"),
        x=chosen_x,
        y=chosen_y,
        lonlat=lonlat,
        time=_found(names, "time") if time is None else _pick(names, time, "time"),
        subject=_found(names, "subject") if subject is None else _pick(names, subject, "subject"),
    )


def are_degrees(x: str, y: str) -> bool:
    """Tell by their names whether two columns are longitude and latitude."""
    return {x.lower(), y.lower()} <= _DEGREES


def candidates(names: Sequence[str], role: str) -> list[str]:
    """Return the columns that by their names could have a role, the likeliest first."""
    by_lower = {name.lower(): name for name in reversed(names)}
    return [by_lower[name] for name in USUAL[role] if name in by_lower]


def _pick(names: Sequence[str], asked: str | None, role: str) -> str:
    found = _found(names, role) if asked is None else asked if asked in names else None
    if found is None:
        missing = f"no {role} column was found" if asked is None else f"there is no column {asked!r}"
        # Names that mean nothing to us may be the first record of a file without a header row.
        known = any(candidates(names, each) for each in USUAL)
        shown = f"the columns are: {', '.join(names)}" if known else "no usual name is among the columns"
        raise InvalidInput(f"{missing}; {shown}; name one with --{role} or {role}=")
    return found


def _found(names: Sequence[str], role: str) -> str | None:
    return next(iter(candidates(names, role)), None)
