"""Files become tables, and a faulty file gets one sentence that quotes nothing of it."""

from __future__ import annotations

import decimal
import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedgroup.data.files import read
from fedgroup.errors import InvalidInput
from fedgroup.owner.times import NO_TIME
from fedgroup.space import Box

CSV = "owner,x,y,fare,note,time\n7,1.5,2.5,9.25,a,2026-01-05T00:00:01Z\n3,4,5,,b,\n"


def parquet(path: Path, columns: dict[str, object], facts: dict[str, object] | None = None) -> Path:
    table = pa.table(columns)
    if facts is not None:
        table = table.replace_schema_metadata({b"fedgroup": json.dumps(facts).encode()})
    pq.write_table(table, path)
    return path


def places(**more: object) -> dict[str, object]:
    return {"owner": [1, 2], "x": [0.5, 1.5], "y": [2.0, 3.0], **more}


def test_a_csv_file_becomes_a_table(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(CSV)
    records = read(tmp_path / "trips.csv")
    assert records.owners.tolist() == [3, 7]
    assert records.x.tolist() == [1.5, 4.0]
    assert list(records.attributes) == ["fare"]
    np.testing.assert_array_equal(records.attribute("fare"), [9.25, np.nan])
    assert records.time is not None
    assert records.time.tolist() == [1_767_571_201_000_000, NO_TIME]


def test_a_packed_csv_file_reads_like_the_plain_one(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text(CSV)
    (tmp_path / "trips.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "misnamed.csv").write_bytes(gzip.compress(CSV.encode()))
    digests = {read(tmp_path / name).snapshot for name in ("trips.csv", "trips.csv.gz", "misnamed.csv")}
    assert len(digests) == 1


def test_every_numeric_column_of_parquet_becomes_an_attribute(tmp_path: Path) -> None:
    price = [decimal.Decimal("1.25"), None]
    path = parquet(tmp_path / "t.parquet", places(n=[1, None], flag=[True, False], price=price, name=["a", "b"]))
    records = read(path)
    assert sorted(records.attributes) == ["flag", "n", "price"]
    np.testing.assert_array_equal(records.attribute("n"), [1.0, np.nan])
    np.testing.assert_array_equal(records.attribute("price"), [1.25, np.nan])
    assert records.attribute("flag").tolist() == [1.0, 0.0]


def test_only_the_asked_attributes_are_kept(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", places(a=[1, 2], b=[3, 4], name=["p", "q"]))
    assert list(read(path, attributes=["b"]).attributes) == ["b"]
    assert list(read(path, attributes=[]).attributes) == []
    with pytest.raises(InvalidInput, match="no column 'c'"):
        read(path, attributes=["c"])
    assert list(read(path, attributes=["name"]).texts) == ["name"]
    assert (list(read(path).attributes), read(path).texts["name"].values) == (["a", "b"], ("p", "q"))


def test_columns_can_be_named(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet", {"who": ["b", "a"], "lon": [1.0, 2.0], "lat": [3.0, 4.0], "at": [0, 1]})
    records = read(path, owner="who", time="at")
    assert records.owners.tolist() == ["a", "b"]
    assert records.lonlat
    assert not read(path, owner="who", planar=True).lonlat
    assert records.time is not None
    assert records.time.tolist() == [0, 1_000_000]
    with pytest.raises(InvalidInput, match="no column 'whom'"):
        read(path, owner="whom")


@pytest.mark.parametrize(
    "time",
    [
        pa.array([1_767_571_200, None]),
        pa.array([1_767_571_200.0, None]),
        pa.array(["2026-01-05T00:00:00Z", None]),
        pa.array(["2026-01-05T01:00+01:00", ""]),
        pa.array(["2026-01-05", None]).dictionary_encode(),
        pa.array([datetime(2026, 1, 5, tzinfo=UTC), None], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([datetime(2026, 1, 5), None], pa.date32()),
    ],
)
def test_times_of_every_kind_agree(tmp_path: Path, time: pa.Array) -> None:
    records = read(parquet(tmp_path / "t.parquet", places(time=time)))
    assert records.time is not None
    assert records.time.tolist() == [1_767_571_200_000_000, NO_TIME]


@pytest.mark.parametrize("ids", [["b", "a"], [2**40, -5], [b"x", b"w"], [0.5, 0.25]])
def test_owner_ids_keep_their_type(tmp_path: Path, ids: list[object]) -> None:
    plain = read(parquet(tmp_path / "t.parquet", places(owner=pa.array(ids))))
    encoded = read(parquet(tmp_path / "u.parquet", places(owner=pa.array(ids).dictionary_encode())))
    assert plain.owners.tolist() == encoded.owners.tolist() == sorted(ids)  # type: ignore[type-var]
    assert plain.code.tolist() == [1, 0]


def test_public_facts_are_taken_over(tmp_path: Path) -> None:
    facts = {"domain": [0, 0, 10, 10], "lonlat": True, "owners": 5}
    path = parquet(tmp_path / "t.parquet", places(), facts)
    records = read(path)
    assert records.domain == Box(0, 0, 10, 10)
    assert records.lonlat
    assert records.owners.tolist() == [0, 1, 2, 3, 4]
    assert read(path, owners=[1, 2, 9]).owners.tolist() == [1, 2, 9]
    assert not read(path, planar=True).lonlat


@pytest.mark.parametrize("facts", [{"domain": [0, 0, 1]}, {"domain": "city"}, {"lonlat": "yes"}, {"owners": -1}, []])
def test_damaged_facts_are_refused(tmp_path: Path, facts: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        read(parquet(tmp_path / "t.parquet", places(), facts))


@pytest.mark.parametrize("column", ["owner", "x", "y"])
def test_a_missing_id_or_place_is_refused_by_column(tmp_path: Path, column: str) -> None:
    path = parquet(tmp_path / "t.parquet", places(**{column: [1, None]}))
    with pytest.raises(InvalidInput, match=f"column {column} has missing"):
        read(path)


def test_an_empty_text_is_a_missing_id(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("owner,x,y\nann,1,2\n,3,4\n")
    with pytest.raises(InvalidInput, match="column owner has missing ids"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "text",
    [
        "owner,x,y\n1,2,3\n4,secret,6\n",
        "owner,x,y\n1,2,3\nsecret,5\n",
        "owner,x,y\n1,2,inf\n",
        "owner,x,y,time\n1,2,3,secret\n",
        "4711,secret,3.5\n1,2,3\n",
        "owner,lon,lat\n1,4711,3\n",
        "owner,x,y\n\xff\xfe,1,2,3\n",
    ],
)
def test_no_error_quotes_a_value(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)
    assert "4711" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("empty.parquet", b""),
        ("no.parquet", b"hello, world"),
        ("cut.parquet", b"PAR1 and nothing more"),
        ("cut.csv.gz", gzip.compress(CSV.encode() * 999)[:-40]),
        ("no.csv.gz", CSV.encode()),
        ("a.xlsx", b"PK"),
        ("noname", b"owner,x,y\n1,2,3\n"),
        ("blank.txt", b"\n\n"),
        ("only_header.csv", b"owner,x,y\n"),
        ("twice.csv", b"owner,x,x,y\n1,2,3,4\n"),
    ],
)
def test_an_unusable_file_gets_one_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_parquet_is_known_by_its_content(tmp_path: Path) -> None:
    assert len(read(parquet(tmp_path / "table.data", places()))) == 2


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no file"):
        read(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="is a folder"):
        read(tmp_path)


def test_shapes_are_sent_to_geopandas(tmp_path: Path) -> None:
    (tmp_path / "a.gpkg").write_bytes(b"SQLite")
    with pytest.raises(InvalidInput, match=r"Records\.from_frame"):
        read(tmp_path / "a.gpkg")


def test_a_csv_column_that_turns_to_text_late_is_no_attribute(tmp_path: Path) -> None:
    rows = "".join(f"{i},1,2,{i}\n" for i in range(150_000))
    (tmp_path / "t.csv").write_text("owner,x,y,label\n" + rows + "1,1.5,2,text\n")
    records = read(tmp_path / "t.csv")
    assert len(records) == 150_001
    assert not records.attributes
