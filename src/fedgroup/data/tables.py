"""Files as Arrow tables, and every fault of a file as one sentence that quotes none of its contents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from fedgroup.data.facts import PublicFacts, facts_in, header_in
from fedgroup.errors import InvalidInput
from fedgroup.given import path_like

Kind = Literal["parquet", "csv", "text"]

PARQUET = b"PAR1"
GZIP = b"\x1f\x8b"
_KINDS: dict[str, Kind] = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".txt": "text", "": "text"}
_SHAPES = {".gpkg", ".geojson", ".shp", ".fgb", ".kml"}


@dataclass(frozen=True)
class TableFile:
    """A file that exists, is not empty and is of a kind that can be read."""

    path: Path
    kind: Kind
    gzipped: bool

    @property
    def described(self) -> str:
        """What the file should be, for a sentence that says it is not."""
        name = {"parquet": "a Parquet file", "csv": "a CSV file with a header row", "text": "a text file"}[self.kind]
        return f"gzip of {name}" if self.gzipped else name

    def schema(self) -> pa.Schema:
        """Return the columns' names and types; those of a CSV file are a guess from its beginning."""
        with self.faults_named():
            schema = self._parquet_schema() if self.kind == "parquet" else self._csv_schema()
        self._require_usable(schema.names)
        return schema

    def header(self) -> dict[str, Any]:
        """Return what fedgroup wrote into the file's metadata."""
        return header_in(self.schema().metadata)

    def facts(self) -> PublicFacts:
        """Return the public facts the file states about itself."""
        return facts_in(self.schema().metadata)

    def read(self, columns: Sequence[str], *, as_text: Sequence[str] = ()) -> pa.Table:
        """Return these columns; a CSV file's `as_text` are not guessed to be numbers."""
        with self.faults_named():
            if self.kind == "parquet":
                with pq.ParquetFile(self.path) as file:
                    return file.read(columns=list(columns))
            texts = dict.fromkeys(as_text, pa.string())
            options = pa_csv.ConvertOptions(include_columns=list(columns), column_types=texts)
            with self.stream() as stream:
                return pa_csv.read_csv(stream, convert_options=options)

    def stream(self) -> Any:
        """Open the file for reading from its beginning, unpacked."""
        return pa.input_stream(str(self.path), compression="gzip" if self.gzipped else None)

    @contextmanager
    def faults_named(self) -> Iterator[None]:
        """Turn the reader's errors into one that quotes nothing: theirs repeat whole rows."""
        try:
            yield
        except (pa.ArrowException, OSError, ValueError):
            told = "'fedgroup check' tells its owner more"
            raise InvalidInput(f"{self.path} is damaged or is not {self.described}; {told}") from None

    def _parquet_schema(self) -> pa.Schema:
        with pq.ParquetFile(self.path) as file:
            return file.schema_arrow

    def _csv_schema(self) -> pa.Schema:
        with self.stream() as stream, pa_csv.open_csv(stream) as reader:
            return reader.schema

    def _require_usable(self, names: Sequence[str]) -> None:
        # the first row of a file without a header is a record, and a sentence that lists the columns would quote it
        if self.kind == "csv" and any(is_number_text(name) for name in names):
            raise InvalidInput(f"{self.path} has no header row; put the names of the columns in its first row")
        if self.kind == "csv" and "" in names:
            raise InvalidInput(f"{self.path} has a column without a name; name it, or leave it out")
        if len(set(names)) < len(names):
            raise InvalidInput(f"{self.path} has two columns of the same name; rename one")


def table_file(path: str | os.PathLike[str]) -> TableFile:
    """Return the file at `path`, its kind told by its first bytes or else by its name."""
    place = Path(path_like(path, name="a file of records, owners or groups"))
    start = first_bytes(place)
    suffix = place.suffix.lower()
    gzipped = suffix == ".gz" or start.startswith(GZIP)
    kind = "parquet" if start == PARQUET else _KINDS.get(Path(place.stem).suffix.lower() if suffix == ".gz" else suffix)
    if suffix in _SHAPES:
        raise InvalidInput(f"{place} holds shapes: load it with geopandas (extra [frames]) and use Records.from_frame")
    if kind is None or (kind == "text" and not suffix and not gzipped):
        raise InvalidInput(f"{place} is of no kind that can be read; use Parquet, .csv, .csv.gz, .txt or .txt.gz")
    return TableFile(place, kind=kind, gzipped=gzipped and kind != "parquet")


def first_bytes(place: Path) -> bytes:
    """Return the first four bytes of a file that can be opened and is not empty."""
    if place.is_dir():
        raise InvalidInput(f"{place} is a folder; give one file")
    try:
        with place.open("rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        raise InvalidInput(f"there is no file {place}") from None
    except (OSError, ValueError):
        raise InvalidInput(f"{place} cannot be opened; are you allowed to read it?") from None
    if not start:
        raise InvalidInput(f"{place} is empty")
    return start


def is_number_text(text: str) -> bool:
    """Tell whether a text is a number, which the name of a column is not."""
    try:
        float(text)
    except ValueError:
        return False
    return True
