"""What an owner is told about a file of its own: how it is read, and what looks wrong with it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedgroup.data.synthetic import write_synthetic
from fedgroup.evaluation.checking import FileCheck, WantedColumns, check_file
from fedgroup.space import Box

GOOD = "owner,x,y,fare,time\na,1000,2000,3.5,2026-03-01T08:00\nb,3000,4000,,2026-03-02T09:30\n"
PLACES = "owner,x,y\n"
DEGREES = "owner,lon,lat\n"


def checked(folder: Path, text: str | bytes, name: str = "file.csv", **wanted: Any) -> FileCheck:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check_file(path, WantedColumns(**wanted))


def test_a_good_file_is_told_as_it_is_read(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, domain=Box(0, 0, 2000, 9000))
    assert (found.kind, found.loads, found.rows, found.owners) == ("CSV", True, 2, 2)
    assert found.columns is not None
    taken = (found.columns.owner, found.columns.x, found.columns.y, found.columns.time, found.columns.attributes)
    assert taken == ("owner", "x", "y", "time", ("fare",))
    assert found.coordinates is not None
    assert not found.coordinates.lonlat
    assert found.extent == (1000, 2000, 3000, 4000)
    assert (found.domain, found.outside, found.outside_share) == ((0, 0, 2000, 9000), 1, 0.5)
    assert found.time_span == ("2026-03-01T08:00:00Z", "2026-03-02T09:30:00Z")
    assert found.suspicions == ()


def test_subjects_and_texts_are_told_and_not_missed_where_there_are_none(tmp_path: Path) -> None:
    found = checked(tmp_path, "owner,car,x,y,colour\na,1,1000,2,red\nb,,3000,4,\n", subject="car")
    assert found.columns is not None
    assert (found.columns.subject, found.columns.texts, found.columns.left_out) == ("car", ("colour",), ())
    assert found.suspicions == ("1 of 2 rows (50.0%) have no subject in column car",)
    assert (found.refusal or "").startswith("column car has missing ids")


def test_a_file_that_states_its_domain_is_measured_against_it(tmp_path: Path) -> None:
    write_synthetic(tmp_path / "city.parquet", owners=30, seed=1)
    found = check_file(tmp_path / "city.parquet", WantedColumns())
    assert (found.kind, found.owners, found.domain, found.outside) == ("Parquet", 30, (0, 0, 20_000, 20_000), 0)
    assert found.coordinates is not None
    assert "metadata" in found.coordinates.why
    assert (found.loads, found.suspicions) == (True, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("owner;x;y\na;1,5;2,5\nb;3,5;4,5\n", "fields are separated by semicolons"),
        ("owner;x;y\na;1,5;2,5\nb;3,5;4,5\n", "numbers have decimal commas"),
        ("owner\tx\ty\na\t1\t2\n", "fields are separated by tabs"),
        ('owner,x,y\na,"1,5","2,5"\n', "numbers have decimal commas"),
        (PLACES + "a,1,5,2\nb,3,4\n", "1 rows have more or fewer than 3 fields; are there decimal commas"),
        ("1,2,3\n4,5,6\n", "it has no header row"),
        (",owner,x,y\n0,a,1,2\n", "a column has no name, as pandas writes an index"),
        (b"owner,x,y\nJos\xe9,1,2\n", "its text is not UTF-8"),
        ("owner,x,y\na,1,2\n".encode("utf-16"), "its text is not UTF-8"),
        (b"\0\1\2\3", "neither Parquet nor text"),
        ("\n \n", "nothing but empty lines"),
        (b"PK\3\4 and more", "an Excel workbook"),
        (b"PAR1 and more", "its end is missing"),
        (b"PAR1 and more PAR1", "in the middle of it is damaged"),
        (b"\x1f\x8b and more", "it cannot be unpacked"),
        ("a,x,y\n1,1,2\n1,1,2\n2,3,4\n", "no column has a usual name for owner: name one with --owner; it could be"),
        ("owner,x,lat,lon,y\n1,1,2,3,4\n", "several columns could be x: x is taken, not lon"),
        ("owner,x,y,fare\n1,1,2,$3.50\n", "column fare holds numbers written as text"),
        (PLACES + "a,here,2\nb,3,4\n", "1 of 2 rows (50.0%) have text where x or y should be a number"),
        (PLACES + "a,,2\nb,3,4\n", "1 of 2 rows (50.0%) have no place"),
        (PLACES + "a,0,0\nb,3,4\n", "1 of 2 rows (50.0%) lie at 0,0"),
        (PLACES + "a,5,7\nb,5,7\n", "all rows lie at the same place"),
        (PLACES + ",5,7\nb,6,7\n", "1 of 2 rows (50.0%) have no owner in column owner"),
        (PLACES + "a,5,7\na,6,7\n", "all rows belong to one owner"),
        (PLACES + "".join(f"o{i},{i},7\n" for i in range(30)), "every row has an owner of its own"),
        (PLACES + "Red,5,7\nred ,6,7\n", "1 owners differ from another in spaces or capitals only"),
        (PLACES + "a,5,7\na,5,7\nb,6,7\n", "1 of 3 rows (33.3%) are exact copies of other rows"),
        (PLACES + "a,5.5,7\nb,6,7\n", "x and y look like degrees"),
        (DEGREES + "a,48.8,102.3\nb,48.9,102.4\n", "longitude and latitude look swapped"),
        (DEGREES + "a,652000,6862000\nb,653000,6862000\n", "if they are metres, say --planar"),
        ("owner,x,y,time\na,1,2,1772352000000\n", "times look like milliseconds since 1970"),
        ("owner,x,y,time\na,1,2,1772352000000000\n", "times look like microseconds since 1970"),
        ("owner,x,y,time\na,1,2,20260301\n", "hardly seconds since 1970"),
        ("owner,x,y,time\na,1,2,noon\nb,3,4,2026-03-01\n", "1 of 2 rows (50.0%) have something in column time"),
        ("owner,x,y,time\na,1,2,\nb,3,4,2026-03-01\n", "1 of 2 rows (50.0%) have no time"),
        ("owner,x,y,seen\na,1,2,2026-03-01T08:00\n", "column seen holds times; name it with --time"),
        ("owner,x,y,seen\na,1,2,1772352000\n", "column seen looks like seconds since 1970"),
    ],
)  # fmt: skip
def test_what_looks_wrong_is_told(tmp_path: Path, text: str | bytes, told: str) -> None:
    found = checked(tmp_path, text)
    assert [suspicion for suspicion in found.suspicions if told in suspicion], found.suspicions


@pytest.mark.parametrize(
    "text", ["owner,x,y,time\na,1000,2,1772352000\nb,3000,4,1772352999\n", DEGREES + "a,2.3,48.8\nb,2,48\n"]
)
def test_what_is_right_is_not_suspected(tmp_path: Path, text: str) -> None:
    assert checked(tmp_path, text).suspicions == ()


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        (Box(40, 0, 50, 10), "x and y look swapped: exchanged, most rows would lie in the domain"),
        (Box(100, 0, 110, 10), "no row lies in the domain"),
        (Box(0, 47, 2.1, 50), "most rows lie outside the domain"),
        (Box(0, 0, 1000, 1000), "the domain does not fit these coordinates"),
    ],
)
def test_places_are_held_against_the_domain(tmp_path: Path, domain: Box, told: str) -> None:
    found = checked(tmp_path, DEGREES + "a,2.3,48.8\nb,2.4,48.9\nc,2,48\n", domain=domain)
    assert any(told in suspicion for suspicion in found.suspicions)


def test_owners_are_held_against_the_list(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, owners=np.array(["a", "c"], dtype=object))
    assert not found.loads
    assert "1 of 2 owners are not in the owner list" in found.suspicions


@pytest.mark.parametrize("name", ["file.tsv", "file.txt", "file"])
def test_a_table_under_another_name_is_recognised(tmp_path: Path, name: str) -> None:
    found = checked(tmp_path, GOOD, name)
    assert (found.loads, found.rows) == (False, 2)
    assert "its name tells another kind of file: let it end in .csv" in found.suspicions


def test_checkins_without_a_place_are_counted_and_left_out(tmp_path: Path) -> None:
    lines = "0\t2010-10-19T23:55:27Z\t30.2\t-97.8\t22\n1\t2010-10-18T22:17:43Z\t400.0\t0.0\t42\n"
    found = checked(tmp_path, gzip.compress(lines.encode()), "checkins.txt.gz")
    assert (found.kind, found.loads, found.rows, found.owners) == ("SNAP check-ins", True, 1, 1)
    assert "1 of 2 rows have no place on Earth; they are left out" in found.suspicions


def test_every_refusal_comes_with_what_loaders_say(tmp_path: Path) -> None:
    found = checked(tmp_path, PLACES + "a,1\n")
    assert found.refusal is not None
    assert "file.csv is damaged or is not a CSV file with a header row; 'fedgroup check' tells" in found.refusal


def test_names_given_are_used_and_exchanged_ones_noticed(tmp_path: Path) -> None:
    found = checked(tmp_path, "company,lon,lat\na,2.3,48.8\nb,2.4,48.9\n", x="lat", y="lon")
    assert "lat is taken for x and lon for y; they seem to be exchanged" in found.suspicions
    missing = checked(tmp_path, GOOD, x="easting")
    assert any(suspicion.startswith("no column is called easting") for suspicion in missing.suspicions)


def test_columns_of_any_kind_can_be_looked_at(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"owner": pd.Categorical(["a", "b"]), "x": [1.5, 2], "y": [3, 4], "when": pd.to_datetime([1, 2])}
    )
    table = pa.Table.from_pandas(frame).append_column("tags", pa.array([[1], [2]])).append_column("n", pa.nulls(2))
    pq.write_table(table, tmp_path / "kinds.parquet")
    found = check_file(tmp_path / "kinds.parquet", WantedColumns(planar=True))
    assert (found.rows, found.owners, found.coordinates is not None) == (2, 2, True)


def test_a_check_does_not_print_what_it_knows(tmp_path: Path) -> None:
    assert repr(checked(tmp_path, GOOD)) == f"Check({str(tmp_path / 'file.csv')!r}, <private>)"
