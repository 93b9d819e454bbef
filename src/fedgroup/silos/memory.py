"""Files that are read once: their records are in memory until the file is another one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fedgroup.errors import InvalidInput, SiloUnavailable
from fedgroup.owner.counting import Ints
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.silos.faults import asked
from fedgroup.silos.settings import Settings
from fedgroup.silos.silo import DatabaseSilo
from fedgroup.space import Grid, PublicMap

_BYTES = 8
"""What a value takes in memory."""
_PACKED = 10
"""How much longer a packed text may be, unpacked."""


class MemorySilo:
    """A file's records, read when it is opened and whenever it changed; one that does not fit is asked in its file.

    Guarantee: every answer equals, unit for unit, that of the silo on the file.
    """

    def __init__(
        self, file: DatabaseSilo, public_map: PublicMap, *, protection: Protection, fits: Callable[[], bool]
    ) -> None:
        self.attributes = file.attributes
        self.texts = file.texts
        self.has_time = file.has_time
        self._file = file
        self._map = public_map
        self._protection = protection
        self._fits = fits
        self._one_at_a_time = threading.Lock()
        self._kept: tuple[str, TableSilo | DatabaseSilo] | None = None
        self._now()

    def __repr__(self) -> str:
        return "MemorySilo(<private>)"

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]:
        """Return the exact count of records in each cell of a grid, of those inside the domain."""
        return self._now().vector(grid)

    def totals(self, query: RangeQuery) -> dict[str, Ints]:
        """Return what the records in range add to every part of the answer, exactly, in whole units."""
        self._file.require_answerable(query)
        return self._now().totals(query)

    def snapshot(self) -> str:
        """Return a text that is the same as long as the file does not change."""
        return self._file.snapshot()

    def close(self) -> None:
        """Forget the records; the next question reads them again."""
        with self._one_at_a_time:
            self._kept = None
            self._file.close()

    def _now(self) -> TableSilo | DatabaseSilo:
        """Return what answers for the file as it is."""
        with self._one_at_a_time:
            # The snapshot comes first: a change while the file is read makes the next one another.
            snapshot = self._file.snapshot()
            if self._kept is None or self._kept[0] != snapshot:
                self._kept = None  # never two tables at once
                self._kept = snapshot, self._read(snapshot)
            return self._kept[1]

    def _read(self, snapshot: str) -> TableSilo | DatabaseSilo:
        if not self._fits():
            return self._file
        table = TableSilo(self._file.records(), self._map, protection=self._protection, snapshot=snapshot)
        self._file.close()
        return table


def in_memory(file: DatabaseSilo, settings: Settings, public_map: PublicMap, *, protection: Protection) -> MemorySilo:
    """Return a file's silo in memory: a CSV file that is too large is refused, a Parquet file is asked where it is."""
    path = settings.path
    assert path is not None  # noqa: S101  required for these kinds
    if settings.kind == "csv" and not _csv_fits(path, settings.memory_mb):
        raise InvalidInput(f"{path} is too large. {_too_large(settings)}")
    return MemorySilo(file, public_map, protection=protection, fits=lambda: _fits(path, settings))


def _fits(path: Path, settings: Settings) -> bool:
    if settings.kind == "parquet":
        return asked(lambda: _parquet_fits(path, settings), foreign=(pa.ArrowException, OSError), forget=lambda: None)
    if not asked(lambda: _csv_fits(path, settings.memory_mb), foreign=(OSError,), forget=lambda: None):
        raise SiloUnavailable(f"the silo's file has grown too large. {_too_large(settings)}")
    return True


def _parquet_fits(path: Path, settings: Settings) -> bool:
    return bool(pq.read_metadata(path).num_rows * len(settings.columns) * _BYTES <= settings.memory_mb * 1e6)


def _csv_fits(path: Path, memory_mb: float) -> bool:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return path.stat().st_size * (_PACKED if packed else 1) <= memory_mb * 1e6


def _too_large(settings: Settings) -> str:
    most = settings.memory_mb
    return (
        f"A CSV file is read whole into memory and may have {most:g} MB (packed, {most / _PACKED:g} MB): convert it to "
        "Parquet or SQLite, which are asked in place, or raise memory_mb of the silo"
    )
