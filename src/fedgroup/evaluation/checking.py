"""What a file of records holds and what may be wrong with it, told exactly: for the eyes of the records' owner only."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fedgroup.data.facts import PublicFacts, facts_in
from fedgroup.data.files import read
from fedgroup.errors import InvalidInput
from fedgroup.evaluation.as_written import AsWritten, as_written
from fedgroup.evaluation.columns_taken import Coordinates, Taken, coordinates_of, taken_columns
from fedgroup.evaluation.suspicions import (
    Places,
    owner_suspicions,
    owners_of,
    place_suspicions,
    places_of,
    row_suspicions,
    subject_suspicions,
    times_of,
    unnamed_times,
)
from fedgroup.owner.identity import OwnerIds
from fedgroup.space import Box, PublicMap

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WantedColumns:
    """What is said about a file when it is read."""

    owner: str | None = None
    x: str | None = None
    y: str | None = None
    time: str | None = None
    subject: str | None = None
    planar: bool = False
    domain: Box | None = None
    owners: OwnerIds | None = None

    @property
    def names(self) -> dict[str, str | None]:
        """The column that was named for each role."""
        return {"owner": self.owner, "x": self.x, "y": self.y, "time": self.time, "subject": self.subject}


@dataclass(frozen=True)
class FileCheck:
    """The facts of a file; `refusal` is what loaders say of it, and None where they take it."""

    file: str
    kind: str
    refusal: str | None
    rows: int | None = None
    owners: int | None = None
    columns: Taken | None = None
    coordinates: Coordinates | None = None
    domain: tuple[float, ...] | None = None
    extent: tuple[float, ...] | None = None
    outside: int | None = None
    outside_share: float | None = None
    time_span: tuple[str, str] | None = None
    suspicions: tuple[str, ...] = ()

    @property
    def loads(self) -> bool:
        return self.refusal is None

    def __repr__(self) -> str:
        return f"Check({self.file!r}, <private>)"


def check_file(path: str | os.PathLike[str], wanted: WantedColumns) -> FileCheck:
    """Return what the file at `path` holds, whether or not it can be read."""
    written = as_written(path)
    refusal = _refusal(path, wanted)
    if written.table is None or not written.named:
        rows = None if written.table is None else written.table.num_rows
        return FileCheck(str(path), written.kind, refusal or written.faults[0], rows, suspicions=written.faults)
    return _checked(str(path), written, refusal, wanted)


def _refusal(path: str | os.PathLike[str], wanted: WantedColumns) -> str | None:
    try:
        read(path, **wanted.names, planar=wanted.planar, owners=wanted.owners)
    except InvalidInput as error:
        return str(error)
    return None


def _checked(file: str, written: AsWritten, refusal: str | None, wanted: WantedColumns) -> FileCheck:
    table: pa.Table = written.table
    taken = taken_columns(table, wanted.names, kind=written.kind)
    facts = _public_facts(table)
    coordinates = coordinates_of(taken, facts, planar=wanted.planar)
    domain = wanted.domain or facts.domain
    places = places_of(table, taken)
    times = times_of(table, taken)
    outside = _outside(places, domain, coordinates)
    owners = owners_of(table, taken)
    return FileCheck(
        file=file,
        kind=written.kind,
        refusal=refusal,
        rows=table.num_rows,
        owners=None if owners is None else len(owners),
        columns=taken,
        coordinates=coordinates,
        domain=None if domain is None else domain.sides,
        extent=places.extent if places else None,
        outside=outside,
        outside_share=None if outside is None or places is None else outside / max(1, len(places.x)),
        time_span=None if times is None else times.span,
        suspicions=(
            *written.faults,
            *taken.doubts,
            *(() if places is None else place_suspicions(places, coordinates, domain)),
            *(unnamed_times(table, taken) if times is None else times.faults),
            *_owner_suspicions(table, taken, owners, wanted),
            *([] if taken.subject is None else subject_suspicions(table[taken.subject], taken.subject)),
            *row_suspicions(table),
        ),
    )


def _owner_suspicions(table: pa.Table, taken: Taken, owners: list[Any] | None, wanted: WantedColumns) -> list[str]:
    if taken.owner is None or owners is None:
        return []
    listed = None if wanted.owners is None else set(wanted.owners.tolist())
    return owner_suspicions(table[taken.owner], taken.owner, owners, listed)


def _public_facts(table: pa.Table) -> PublicFacts:
    try:
        return facts_in(table.schema.metadata)
    except InvalidInput:  # the refusal tells it
        return PublicFacts()


def _outside(places: Places | None, domain: Box | None, coordinates: Coordinates | None) -> int | None:
    if places is None or domain is None or coordinates is None:
        return None
    try:
        public_map = PublicMap(domain, coordinates.lonlat)
    except InvalidInput:
        return None
    return int(np.count_nonzero(~public_map.inside(places.x, places.y)))
