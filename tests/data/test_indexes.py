"""A saved index answers as the one it was saved from; anything else is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedgroup.data.indexes import HEADER, is_index, load_index, save_index
from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import NOTHING
from fedgroup.errors import InvalidInput
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.space import Box, Circle, Polygon, PublicMap, Rectangle

CITY = synthesize(200)
INDEX = RecordIndex.build(CITY, PublicMap(Box(0, 0, 20_000, 20_000)), most=400, snapshot=CITY.snapshot)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_index(INDEX, tmp_path / "city")
    return tmp_path / "city"


def edit(folder: Path, **facts: Any) -> None:
    header = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text(json.dumps(header | facts))


def test_a_loaded_index_holds_what_was_saved(folder: Path) -> None:
    found = load_index(folder)
    for name in ("x", "y", "code", "time", "owners"):
        np.testing.assert_array_equal(getattr(found.records, name), getattr(INDEX.records, name))
    np.testing.assert_array_equal(found.records.attributes["fare"], INDEX.records.attributes["fare"])
    np.testing.assert_array_equal(found.offsets, INDEX.offsets)
    assert (found.public_map, found.columns, found.rows) == (INDEX.public_map, INDEX.columns, INDEX.rows)
    assert (found.most, found.records.listed, found.records.domain) == (400, True, INDEX.public_map.domain)


def test_a_loaded_index_counts_as_the_table_it_came_from(folder: Path) -> None:
    assert load_index(folder).records.snapshot == CITY.snapshot


def test_a_loaded_index_answers_alike(folder: Path) -> None:
    found = load_index(folder)
    measure = Measure("fare", 30)
    window = (1_767_600_000_000_000, 1_768_600_000_000_000)
    for asked in (Circle(9_000, 9_000, 3_000), Rectangle(0, 0, 9e3, 9e3), Polygon([(0, 0), (2e4, 0), (0, 2e4)])):
        for query in (RangeQuery("count", asked, NOTHING), RangeQuery("avg", asked, NOTHING, measure, *window)):
            (code, units), (expected, values) = (
                (p.code, p.units) for p in (found.partials(query), INDEX.partials(query))
            )
            np.testing.assert_array_equal(code, expected)
            assert all(np.array_equal(units[part], values[part]) for part in query.parts)


def test_loaded_columns_stay_in_their_files_and_cannot_be_changed(folder: Path) -> None:
    records = load_index(folder).records
    for column in (records.x, records.code, records.attributes["fare"]):
        assert isinstance(column.base, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


@pytest.mark.parametrize("owners", [["Ängström", "", "bob"], [1.5, 2.5], [3, 4, 2**62], [True, False]])
def test_owner_ids_come_back_as_they_were(tmp_path: Path, owners: list[Any]) -> None:
    records = Records(owner=owners[:1], x=[-179.0], y=[-17.0], owners=owners, lonlat=True)
    save_index(RecordIndex.build(records, PublicMap(Box(177, -20, 182, -15), lonlat=True)), tmp_path / "index")
    found = load_index(tmp_path / "index")
    assert found.records.owners.tolist() == records.owners.tolist()
    assert (found.records.owners.dtype, found.records.lonlat) == (records.owners.dtype, True)
    assert found.partials(RangeQuery("count", Circle(181, -17, 5), NOTHING)).code.tolist() == records.code.tolist()


def test_an_index_without_records_comes_back(tmp_path: Path) -> None:
    empty = Records(owner=[], x=[], y=[], attributes={"a/b": []}, owners=["ann"])
    save_index(RecordIndex.build(empty, PublicMap(Box(0, 0, 1, 1))), tmp_path / "empty")
    found = load_index(tmp_path / "empty")
    assert (len(found), list(found.records.attributes), found.records.time) == (0, ["a/b"], None)
    assert len(found.partials(RangeQuery("count", Circle(0, 0, 1), NOTHING)).code) == 0


def test_owner_ids_that_cannot_be_kept_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    for owners in ([("a", 1)], ["a", 1], ["\ud800"]):
        ids = np.fromiter(owners, dtype=object, count=len(owners))
        records = Records(owner=ids, x=[0.5] * len(ids), y=[0.5] * len(ids))
        with pytest.raises(InvalidInput, match="numbers or text"):
            save_index(RecordIndex.build(records, PublicMap(Box(0, 0, 1, 1)), snapshot="x"), tmp_path / "index")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="exists already"):
        save_index(INDEX, folder)
    assert len(load_index(folder)) == len(INDEX)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        save_index(INDEX, tmp_path / "nowhere" / "city")


def test_an_index_is_known_by_its_header(folder: Path, tmp_path: Path) -> None:
    assert is_index(folder)
    assert not is_index(tmp_path)
    assert not is_index(folder / "x.npy")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "fedgroup plan"}', "\x00"])
def test_a_foreign_folder_is_no_index(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="is not an index"):
        load_index(tmp_path)
    (tmp_path / HEADER).write_text(text)
    with pytest.raises(InvalidInput, match="is not an index"):
        load_index(tmp_path)


def test_an_index_of_another_version_is_refused(folder: Path) -> None:
    edit(folder, version=1)
    with pytest.raises(InvalidInput, match="another version"):
        load_index(folder)


@pytest.mark.parametrize(
    "fact",
    [
        {"records": 3},
        {"records": True},
        {"owners": 3},
        {"owners": 0},
        {"columns": 0},
        {"rows": -1},
        {"rows": 10**9},
        {"columns": 2.0},
        {"domain": [0, 0, 0, 0]},
        {"domain": None},
        {"lonlat": True},
        {"listed": None},
        {"attributes": ["fare", "more"]},
        {"attributes": "fare"},
        {"most": 0},
        {"snapshot": None},
    ],
    ids=str,
)
def test_a_header_that_does_not_fit_is_refused(folder: Path, fact: dict[str, Any]) -> None:
    edit(folder, **fact)
    with pytest.raises(InvalidInput, match="is damaged; make the index again"):
        load_index(folder)


@pytest.mark.parametrize("name", ["x", "code", "time", "offsets", "owners", "attribute-0"])
@pytest.mark.parametrize("kept", [None, 0, 60, 1_000])
def test_a_column_that_is_lost_or_cut_is_refused(folder: Path, name: str, kept: int | None) -> None:
    column = folder / f"{name}.npy"
    whole = column.read_bytes()
    column.unlink()
    if kept is not None:
        column.write_bytes(whole[:kept])
    with pytest.raises(InvalidInput, match="is damaged"):
        load_index(folder)


@pytest.mark.parametrize(("name", "place", "value"), [("code", 5, -1), ("code", 5, 200), ("offsets", 1, 10**6)])
def test_numbers_that_lead_out_of_the_arrays_are_refused(folder: Path, name: str, place: int, value: int) -> None:
    column = np.load(folder / f"{name}.npy")
    column[place] = value
    np.save(folder / f"{name}.npy", column)
    with pytest.raises(InvalidInput, match="is damaged"):
        load_index(folder)


def test_a_column_of_another_type_is_refused(folder: Path) -> None:
    np.save(folder / "x.npy", np.load(folder / "x.npy").astype(np.float32))
    with pytest.raises(InvalidInput, match="is damaged"):
        load_index(folder)
