"""SNAP check-in files read as published."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fedgroup.data.files import read
from fedgroup.errors import InvalidInput

CHECKINS = (
    "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847\n"
    "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n"
    "5\t2010-10-17T23:42:03Z\t40.5\t-73.9\tee8b88dea22411\n"
)


@pytest.mark.parametrize("name", ["checkins.txt", "checkins.txt.gz", "checkins.gz"])
def test_checkins_become_longitude_and_latitude(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(CHECKINS.encode()) if name.endswith("gz") else CHECKINS.encode())
    records = read(tmp_path / name)
    assert records.lonlat
    assert records.owners.tolist() == [0, 5]
    assert records.x.tolist() == [-97.7951395833, -97.7493953705, -73.9]
    assert records.y.tolist() == [30.2359091167, 30.2691029532, 40.5]
    assert records.time is not None
    assert records.time[0] == 1_287_532_527_000_000


def test_the_place_id_is_no_attribute(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(CHECKINS)
    assert not read(tmp_path / "c.txt").attributes
    with pytest.raises(InvalidInput, match="no column 'place'"):
        read(tmp_path / "c.txt", attributes=["place"])


def test_checkins_without_a_place_on_earth_are_left_out(tmp_path: Path) -> None:
    nowhere = "8\t\t\t\t0\n9\t2010-10-17T23:42:03Z\t405.1\t-73.9\t1\n"
    (tmp_path / "c.txt").write_text(CHECKINS + nowhere)
    records = read(tmp_path / "c.txt")
    assert len(records) == 3
    assert records.owners.tolist() == [0, 5]


@pytest.mark.parametrize("line", ["secret", "0\tsecret\t1\t2\t3", "0\t2010-10-17T23:42:03Z\tsecret\t2\t3", '"'])
def test_another_text_file_is_refused_without_quoting_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "c.txt").write_text(line + "\n")
    with pytest.raises(InvalidInput, match="SNAP check-in file") as caught:
        read(tmp_path / "c.txt")
    assert "secret" not in str(caught.value)


def test_a_cut_gzip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(CHECKINS.encode() * 5000)[:-30])
    with pytest.raises(InvalidInput, match="damaged"):
        read(tmp_path / "c.txt.gz")
