"""Which columns of a file are taken for what, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from fedgroup.data.facts import PublicFacts
from fedgroup.owner.columns import USUAL, are_degrees, candidates

_ROLES = ("owner", "x", "y", "time", "subject")
_NEEDED = ("owner", "x", "y")


@dataclass(frozen=True)
class Taken:
    """The column of each role, those of numbers and of texts that are kept, and those that are left out."""

    owner: str | None
    x: str | None
    y: str | None
    time: str | None
    subject: str | None
    attributes: tuple[str, ...]
    texts: tuple[str, ...]
    left_out: tuple[str, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coordinates:
    """Whether x and y are degrees, and why that is so."""

    lonlat: bool
    why: str


def taken_columns(table: pa.Table, named: Mapping[str, str | None], *, kind: str) -> Taken:
    """Return the columns that loaders take, and every doubt about their choice."""
    names = table.column_names
    usual = {role: candidates(names, role) for role in _ROLES}
    chosen = {role: _chosen(names, named[role], usual[role]) for role in _ROLES}
    roles = {name for name in chosen.values() if name is not None}
    numeric = [field.name for field in table.schema if field.name not in roles and _is_numeric(field.type)]
    texts = [field.name for field in table.schema if field.name not in roles and _is_text(field.type)]
    others = tuple(name for name in names if name not in roles and name not in numeric and name not in texts)
    doubts = [_several(role, usual[role]) for role in _ROLES if named[role] is None and len(usual[role]) > 1]
    doubts += [_none(role, named[role], table, roles) for role in _NEEDED if chosen[role] is None]
    doubts += _exchanged(chosen["x"], chosen["y"])
    doubts += [] if kind == "SNAP check-ins" else _numbers_as_text(table, texts)
    return Taken(**chosen, attributes=tuple(numeric), texts=tuple(texts), left_out=others, doubts=tuple(doubts))


def coordinates_of(taken: Taken, facts: PublicFacts, *, planar: bool) -> Coordinates | None:
    """Return how x and y are read, as loaders decide it."""
    if taken.x is None or taken.y is None:
        return None
    if planar:
        return Coordinates(False, "--planar says so")
    if facts.lonlat is not None:
        return Coordinates(facts.lonlat, "the file's own metadata says so")
    degrees = are_degrees(taken.x, taken.y)
    meaning = "name degrees" if degrees else "do not name degrees (lon and lat, or longitude and latitude, do)"
    return Coordinates(degrees, f"the columns {taken.x} and {taken.y} {meaning}")


def _chosen(names: Sequence[str], asked: str | None, usual: Sequence[str]) -> str | None:
    return next(iter(usual), None) if asked is None else asked if names.count(asked) == 1 else None


def _several(role: str, usual: Sequence[str]) -> str:
    others = ", ".join(usual[1:])
    return f"several columns could be {role}: {usual[0]} is taken, not {others}; name the right one with --{role}"


def _exchanged(x: str | None, y: str | None) -> list[str]:
    if x is None or y is None or x.lower() not in USUAL["y"] or y.lower() not in USUAL["x"]:
        return []
    return [f"{x} is taken for x and {y} for y; they seem to be exchanged"]


def _none(role: str, asked: str | None, table: pa.Table, roles: set[str]) -> str:
    missing = f"no column is called {asked}" if asked else f"no column has a usual name for {role}"
    fitting = [name for name in table.column_names if name not in roles and _fits(role, table[name])]
    hint = f"; it could be one of: {', '.join(fitting)}" if fitting else ""
    return f"{missing}: name one with --{role}{hint}"


def _fits(role: str, column: pa.ChunkedArray) -> bool:
    if role != "owner":
        return bool(pt.is_floating(column.type) or pt.is_integer(column.type))
    whole = pt.is_integer(column.type) or pt.is_string(column.type) or pt.is_dictionary(column.type)
    return bool(whole) and 1 < len(column.unique()) < max(2, len(column))


def _numbers_as_text(table: pa.Table, names: Sequence[str]) -> list[str]:
    found = [name for name in names if table.column_names.count(name) == 1 and _holds_numbers(table[name])]
    return [
        f"column {name} holds numbers written as text; they cannot be summed until they are plain" for name in found
    ]


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    if not (pt.is_string(column.type) or pt.is_large_string(column.type)) or len(column) == column.null_count:
        return False
    digits = pc.match_substring_regex(column, r"^\s*[^\d\s-]{0,3}\s*-?\d[\d.,' ]*\s*\S{0,3}\s*$")
    return bool(pc.mean(pc.fill_null(digits, False).cast(pa.int8())).as_py() > 0.9)


def _is_text(kind: pa.DataType) -> bool:
    whole = pt.is_string(kind) or pt.is_large_string(kind)
    return bool(whole or (pt.is_dictionary(kind) and _is_text(kind.value_type)))


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_decimal(kind))
