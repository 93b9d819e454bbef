"""Files are read once and asked in memory, until they change; what does not fit is refused, or asked in its file."""

from __future__ import annotations

import gzip
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from silo_kinds import csv_file, opened, parquet
from silo_worlds import NOON, PLANE, Row

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput, SiloUnavailable
from fedgroup.questions.query import RangeQuery
from fedgroup.silos import open_silo
from fedgroup.silos.duck import DuckDatabase
from fedgroup.space import Circle

QUERY = RangeQuery("count", Circle(0, 0, 5), Epsilon.of(1))
ROWS = [Row(float(i % 3), 1.0, 2.5 * i, NOON + i) for i in range(8)]
MANY = ROWS * 1_000
"""About 300 KB as a CSV file, and 256 KB in memory."""

both = pytest.mark.parametrize("write", [parquet, csv_file], ids=["parquet", "csv"])


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SELECTs for rows so far."""
    usual, found = DuckDatabase.columns, list[str]()

    def noted(self: DuckDatabase, text: str, parameters: Any) -> Any:
        found.append(text)
        return usual(self, text, parameters)

    monkeypatch.setattr(DuckDatabase, "columns", noted)
    return found


@both
def test_a_file_is_read_when_it_is_opened_and_when_it_changed_and_never_else(
    write: Any, tmp_path: Path, reads: list[str]
) -> None:
    said, other = write(ROWS, tmp_path), write(MANY, tmp_path)
    with opened(said, PLANE) as silo:
        for _ in range(5):
            assert (silo.totals(QUERY)["count"].tolist(), silo.vector(PLANE.grid(1, 1)).tolist()) == ([8], [8])
        assert len(reads) == 1
        os.replace(other["path"], said["path"])
        assert [silo.totals(QUERY)["count"] for _ in range(3)] == [8_000] * 3
        assert len(reads) == 2


@both
def test_many_who_ask_at_once_read_a_file_once(write: Any, tmp_path: Path, reads: list[str]) -> None:
    said, other = write(ROWS, tmp_path), write(MANY, tmp_path)
    with opened(said, PLANE) as silo, ThreadPoolExecutor(8) as pool:
        os.replace(other["path"], said["path"])
        assert list(pool.map(lambda _: silo.totals(QUERY)["count"], range(40))) == [8_000] * 40
    assert len(reads) == 2


def test_no_connection_is_kept_to_a_file_in_memory(tmp_path: Path) -> None:
    with opened(csv_file(ROWS, tmp_path), PLANE) as silo:
        assert silo._file._table._database._connection is None  # type: ignore[attr-defined]


def test_a_csv_file_that_is_too_large_is_refused_with_what_to_do(tmp_path: Path) -> None:
    said = csv_file(MANY, tmp_path)
    with pytest.raises(InvalidInput, match=r"may have 0\.1 MB .* convert it to Parquet or SQLite.* raise memory_mb"):
        open_silo(said | {"memory_mb": 0.1}, PLANE)
    with opened(said | {"memory_mb": 1}, PLANE) as silo:
        assert silo.totals(QUERY) == {"count": 8_000}


def test_a_packed_csv_file_may_have_a_tenth(tmp_path: Path) -> None:
    said = csv_file(MANY, tmp_path)
    path = Path(said["path"] + ".gz")
    path.write_bytes(gzip.compress(Path(said["path"]).read_bytes()))
    most = path.stat().st_size / 1e6 * 10
    with opened(said | {"path": str(path), "memory_mb": most}, PLANE) as silo:
        assert silo.totals(QUERY) == {"count": 8_000}
    with pytest.raises(InvalidInput, match="too large"):
        open_silo(said | {"path": str(path), "memory_mb": most * 0.99}, PLANE)


def test_a_csv_file_that_grows_too_large_is_missed_until_it_is_small_again(tmp_path: Path) -> None:
    said, large, small = csv_file(ROWS, tmp_path), csv_file(MANY, tmp_path), csv_file(ROWS[1:], tmp_path)
    with opened(said | {"memory_mb": 0.1}, PLANE) as silo:
        os.replace(large["path"], said["path"])
        for ask in (lambda: silo.totals(QUERY), lambda: silo.vector(PLANE.grid(1, 1))):
            with pytest.raises(SiloUnavailable, match="grown too large"):
                ask()
        os.replace(small["path"], said["path"])
        assert silo.totals(QUERY) == {"count": 7}


def test_a_parquet_file_that_does_not_fit_is_asked_where_it_is(tmp_path: Path, reads: list[str]) -> None:
    said, small = parquet(MANY, tmp_path), parquet(ROWS, tmp_path)
    with opened(said | {"memory_mb": 0.2}, PLANE) as silo:
        assert reads == []
        assert [silo.totals(QUERY)["count"] for _ in range(2)] == [8_000] * 2
        assert len(reads) == 2
        os.replace(small["path"], said["path"])
        assert [silo.totals(QUERY)["count"] for _ in range(3)] == [8] * 3
        assert len(reads) == 3


@pytest.mark.parametrize("wrong", [0, -1, True, "much", 1e7])
def test_memory_is_a_number_of_megabytes(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="memory_mb"):
        open_silo(csv_file(ROWS, tmp_path) | {"memory_mb": wrong}, PLANE)
