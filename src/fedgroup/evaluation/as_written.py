"""Files read as they are written, to tell their owner why they cannot be read as they should be.

What is told here is exact and quotes counts: it is for the owner's own eyes. Loaders never use it.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from fedgroup.data.snap import all_checkins, on_earth
from fedgroup.data.tables import GZIP, PARQUET, TableFile, first_bytes, is_number_text
from fedgroup.errors import InvalidInput

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_OTHER_KINDS = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive: export the sheet as CSV, or unpack it",
    b"SQLi": "an SQLite database: export the table as Parquet or CSV, or use it as a silo",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: export the sheet as CSV",
}
_HEAD = 1 << 20
_SAMPLE = 200
_DECIMAL_COMMA = re.compile(r"-?\d+,\d+")


@dataclass(frozen=True, eq=False, repr=False)
class AsWritten:
    """A file's kind, its table as far as it can be made out, and what is wrong with the way it is written.

    Columns that are not `named` in the file have names of no meaning.
    """

    kind: str
    table: pa.Table | None = None
    faults: tuple[str, ...] = ()
    named: bool = True

    def __repr__(self) -> str:
        return f"AsWritten({self.kind!r}, <private>)"


@dataclass(frozen=True)
class _Style:
    """How a text file is written."""

    encoding: str
    separator: str
    decimal_comma: bool
    header: bool
    unnamed: bool
    columns: int


def as_written(path: str | os.PathLike[str]) -> AsWritten:
    """Return what the file at `path` holds, whatever can be made out of it."""
    place = Path(path)
    start = first_bytes(place)
    if start == PARQUET:
        return _parquet(place)
    if start in _OTHER_KINDS:
        return AsWritten("no table", None, (f"this is {_OTHER_KINDS[start]}",))
    return _text(TableFile(place, kind="csv", gzipped=start.startswith(GZIP)))


def _parquet(place: Path) -> AsWritten:
    try:
        return AsWritten("Parquet", pq.read_table(place))
    except (pa.ArrowException, OSError, ValueError):
        with place.open("rb") as file:
            file.seek(-min(4, place.stat().st_size), os.SEEK_END)
            whole = file.read() == PARQUET
    fault = "something in the middle of it is damaged" if whole else "its end is missing, as after a broken copy"
    return AsWritten("Parquet", None, (f"{fault}; copy or write the file again",))


def _text(file: TableFile) -> AsWritten:
    try:
        with file.stream() as stream:
            head = bytes(stream.read(_HEAD))
    except (pa.ArrowException, OSError):
        return AsWritten("gzip", None, ("it cannot be unpacked; compress it again",))
    encoding = _encoding(head)
    if encoding is None:
        return AsWritten("no table", None, ("this is neither Parquet nor text",))
    lines = [line for line in head.decode(encoding, errors="ignore").splitlines() if line.strip()]
    if len(head) == _HEAD:
        lines.pop()  # it may be cut
    if not lines:
        return AsWritten("text", None, ("there is nothing but empty lines in it",))
    if len(lines[0].split("\t")) == 5 and not _is_header(lines[0].split("\t")):
        return _checkins(file)
    return _with_suffix(_separated(file, _style(lines, encoding)), file.path)


def _checkins(file: TableFile) -> AsWritten:
    try:
        everything = all_checkins(file)
    except InvalidInput as error:
        return AsWritten("SNAP check-ins", None, (str(error),))
    kept = on_earth(everything)
    lost = everything.num_rows - kept.num_rows
    faults = (f"{lost:,} of {everything.num_rows:,} rows have no place on Earth; they are left out",) if lost else ()
    return AsWritten("SNAP check-ins", kept, (*faults, *_name_faults(file.path, (".txt",))))


def _with_suffix(found: AsWritten, place: Path) -> AsWritten:
    return replace(found, faults=(*found.faults, *_name_faults(place, (".csv",))))


def _name_faults(place: Path, suffixes: Sequence[str]) -> tuple[str, ...]:
    name = place.name.lower().removesuffix(".gz")
    if name.endswith(tuple(suffixes)):
        return ()
    return (f"its name tells another kind of file: let it end in {suffixes[0]}",)


def _separated(file: TableFile, style: _Style) -> AsWritten:
    bad: list[int] = []

    def skip(_row: Any) -> str:
        bad.append(1)
        return "skip"

    try:
        with file.stream() as stream:
            table = pa_csv.read_csv(
                stream,
                read_options=pa_csv.ReadOptions(
                    encoding=style.encoding, autogenerate_column_names=not style.header, use_threads=False
                ),
                parse_options=pa_csv.ParseOptions(delimiter=style.separator, invalid_row_handler=skip),
                convert_options=pa_csv.ConvertOptions(decimal_point="," if style.decimal_comma else "."),
            )
    except (pa.ArrowException, OSError, ValueError):
        return AsWritten("CSV", None, (*_style_faults(style), "its rows cannot be told apart; are quotes left open?"))
    return AsWritten("CSV", table, (*_style_faults(style), *_row_faults(len(bad), style)), named=style.header)


def _style_faults(style: _Style) -> list[str]:
    faults = []
    if style.encoding != "utf-8":
        faults.append("its text is not UTF-8; save it as UTF-8")
    if style.separator != ",":
        faults.append(f"fields are separated by {SEPARATORS[style.separator]}; save it with commas between fields")
    if style.decimal_comma:
        faults.append("numbers have decimal commas; save them with decimal points (48.85, not 48,85)")
    if style.unnamed:
        faults.append(
            "a column has no name, as pandas writes an index; name it, or write the file without (index=False)"
        )
    if not style.header:
        faults.append("it has no header row; put the names of the columns into its first row")
    return faults


def _row_faults(bad: int, style: _Style) -> list[str]:
    if not bad:
        return []
    reason = "; are there decimal commas, or commas in texts without quotes?" if style.separator == "," else ""
    return [f"{bad:,} rows have more or fewer than {style.columns} fields{reason}"]


def _encoding(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        return None
    try:
        head[:-4].decode("utf-8")  # the last character may be cut
        return "utf-8"
    except UnicodeDecodeError:
        return "latin-1"


def _style(lines: Sequence[str], encoding: str) -> _Style:
    first = lines[0].removeprefix("\ufeff")
    separator = max(SEPARATORS, key=lambda each: len(next(csv.reader([first], delimiter=each))))
    rows = [row for row in csv.reader(lines[1:_SAMPLE], delimiter=separator) if row]
    names = next(csv.reader([first], delimiter=separator))
    comma = [sum(bool(_DECIMAL_COMMA.fullmatch(field.strip())) for field in row) for row in rows]
    return _Style(
        encoding,
        separator,
        decimal_comma=bool(rows) and sum(count > 0 for count in comma) > len(rows) / 2,
        header=_is_header(names),
        unnamed="" in names,
        columns=len(names),
    )


def _is_header(names: Sequence[str]) -> bool:
    return not any(is_number_text(name.strip().replace(",", ".")) for name in names)
