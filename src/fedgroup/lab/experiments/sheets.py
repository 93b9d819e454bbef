"""Finished cells as rows of a CSV file: written one by one, never measured twice."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedgroup.data.drafts import replacing
from fedgroup.errors import InvalidInput

Value = str | int | float | None
Row = Mapping[str, Value]
Key = tuple[str, ...]
Measure = Callable[[Row], Row]


@dataclass(eq=False)
class ResultSheet:
    """The rows of one experiment: `keys` name a cell, `measures` what was found there."""

    path: Path
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    rows: dict[Key, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.path.exists():
            return
        header, rows = read_rows(self.path)
        if header != [*self.keys, *self.measures]:
            raise InvalidInput(f"{self.path} has other columns; remove it, or give another folder with --out")
        self.rows = {self.key(row): row for row in rows}

    def key(self, row: Row) -> Key:
        """Return what a cell is found by."""
        return tuple(_written(row[name]) for name in self.keys)

    def fill(self, cells: Sequence[Row], measure: Measure, *, known: Mapping[Key, Row]) -> Iterator[str]:
        """Measure the cells that have no row yet and write each row when it is found; `known` rows are copied.

        Yields each cell in words when its row is there.
        """
        columns = [*self.keys, *self.measures]
        write_rows(self.path, columns, self.rows.values())  # without a last row that an interrupt cut off
        with _Appending(self.path, columns) as append:
            for cell in cells:
                key = self.key(cell)
                if key not in self.rows:
                    found = known.get(key) or {**cell, **measure(cell)}
                    self.rows[key] = {name: found.get(name) for name in columns}
                    append(self.rows[key])
                yield ", ".join(key)

    def write(self, cells: Sequence[Row]) -> list[Row]:
        """Write the rows of these cells anew, in their order, and return them as they will be read."""
        write_rows(self.path, [*self.keys, *self.measures], (self.rows[self.key(cell)] for cell in cells))
        return read_rows(self.path)[1]


class _Appending:
    """A CSV file open at its end; a row is on disk before the next is measured."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self._file = path.open("a", newline="", encoding="utf-8")
        self._writer = csv.DictWriter(self._file, columns, lineterminator="\n")

    def __enter__(self) -> Callable[[Row], None]:
        return self._append

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _append(self, row: Row) -> None:
        self._writer.writerow({name: _written(value) for name, value in row.items()})
        self._file.flush()


def read_rows(path: Path) -> tuple[list[str], list[Row]]:
    """Return the columns and rows of a CSV file, numbers as numbers; a last row that was cut off is left out."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        columns = list(reader.fieldnames or [])
        rows: list[Row] = [
            {name: _read(text) for name, text in row.items()} for row in reader if None not in row.values()
        ]
    return columns, rows


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write a CSV file, whole or not at all."""
    with replacing(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _written(value) for name, value in row.items()} for row in rows)


def _written(value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else repr(value) if isinstance(value, int) else f"{value:.6g}"


def _read(text: str) -> Value:
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
