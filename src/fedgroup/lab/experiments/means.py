"""Means over selections of owners, with the half-width of their 95 % interval: what tables and figures are made of."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from fedgroup.lab.experiments.sheets import Row, Value, read_rows, write_rows

REPEATED = "selection"
_Z = 1.96
_SUFFIX = "_pm"


def means(rows: Sequence[Row], keys: Sequence[str], measures: Sequence[str]) -> list[Row]:
    """Return one row for all selections of a cell: each measure's mean, and `NAME_pm`, the half-width around it."""
    kept = [name for name in keys if name != REPEATED]
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in kept), []).append(row)
    return [_mean(dict(zip(kept, key, strict=True)), found, measures) for key, found in groups.items()]


def _mean(cell: Row, rows: Sequence[Row], measures: Sequence[str]) -> Row:
    result: dict[str, Value] = {**cell, "selections": len(rows)}
    for name in measures:
        values = [float(value) for row in rows if isinstance(value := row.get(name), int | float)]
        result[name] = statistics.fmean(values) if values else None
        result[name + _SUFFIX] = _half_width(values)
    return result


def _half_width(values: Sequence[float]) -> float | None:
    return _Z * statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def save_means(path: Path, rows: Sequence[Row], *, shown: Sequence[str]) -> None:
    """Write means; half-widths of `shown` measures only, so that the file stays small."""
    columns = [name for name in rows[0] if not name.endswith(_SUFFIX) or name.removesuffix(_SUFFIX) in shown]
    write_rows(path, columns, ({name: row[name] for name in columns} for row in rows))


def load_means(path: Path) -> list[Row]:
    """Return the means of an experiment, or nothing where it was not run."""
    return read_rows(path)[1] if path.exists() else []


def number(row: Row, name: str) -> float:
    """Return a measure that is there."""
    value = row.get(name)
    if not isinstance(value, int | float):
        raise KeyError(name)
    return float(value)


def maybe(row: Row, name: str) -> float | None:
    """Return a measure, or None where it means nothing."""
    value = row.get(name)
    return float(value) if isinstance(value, int | float) else None


def pick(rows: Iterable[Row], **wanted: Value) -> list[Row]:
    """Return the rows that agree with what is wanted."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def distinct(rows: Iterable[Row], name: str) -> list[Value]:
    """Return a column's values, each once, in the order of the rows."""
    return list(dict.fromkeys(row.get(name) for row in rows))
