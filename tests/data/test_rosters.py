"""Owner lists and limits come from small files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedgroup.data.rosters import read_owner_limits, read_owner_list
from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import as_ids


def test_a_text_file_lists_one_id_a_line(tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("3\n\n 12 \r\n-1\n")
    (tmp_path / "names.txt").write_text("ann\n12\nbob smith\n")
    assert read_owner_list(tmp_path / "numbers.txt").tolist() == [3, 12, -1]
    assert read_owner_list(tmp_path / "names.txt").tolist() == ["ann", "12", "bob smith"]


def test_a_table_lists_ids_in_its_first_column(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("company,city\nb,X\na,Y\n")
    pq.write_table(pa.table({"id": [4, 2], "x": [0.0, 1.0]}), tmp_path / "list.parquet")
    assert read_owner_list(tmp_path / "list.csv").tolist() == ["b", "a"]
    assert read_owner_list(tmp_path / "list.parquet").tolist() == [4, 2]


@pytest.mark.parametrize(("name", "head"), [("list.txt", ""), ("list.csv", "owner\n")])
@pytest.mark.parametrize(
    ("like", "found"), [(["a"], ["007", "12"]), ([1, 2], [7, 12]), ([0.5], [7.0, 12.0]), ([], [7, 12])]
)
def test_a_list_comes_in_the_type_of_the_datas_ids(
    tmp_path: Path, name: str, head: str, like: list[object], found: list[object]
) -> None:
    (tmp_path / name).write_text(f"{head}007\n12\n")
    ids = read_owner_list(tmp_path / name, like=as_ids(like, name="owner"))
    assert ids.tolist() == found
    assert [type(each) for each in ids.tolist()] == [type(each) for each in found]


def test_a_parquet_list_of_numbers_serves_data_with_the_same_ids_as_text_and_the_other_way(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [4, 2]}), tmp_path / "numbers.parquet")
    pq.write_table(pa.table({"id": ["4", "2"]}), tmp_path / "texts.parquet")
    assert read_owner_list(tmp_path / "numbers.parquet", like=as_ids(["4"], name="owner")).tolist() == ["4", "2"]
    assert read_owner_list(tmp_path / "texts.parquet", like=as_ids([4], name="owner")).tolist() == [4, 2]


def test_a_list_of_names_for_data_with_numbers_is_refused_by_types_alone(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_text("ann\nbob\n")
    with pytest.raises(InvalidInput, match="are text, but the data's are whole numbers") as refusal:
        read_owner_list(tmp_path / "names.txt", like=as_ids([1], name="owner"))
    assert "ann" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "text"), [("a.txt", "\n \n"), ("a.csv", "owner\n"), ("a.csv", "1\n2\n"), ("a.txt", "")]
)
def test_a_list_without_owners_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput):
        read_owner_list(tmp_path / name)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="damaged"):
        read_owner_list(tmp_path / "a.txt")


def test_limits_come_with_their_owners(tmp_path: Path) -> None:
    (tmp_path / "limits.csv").write_text("limit,owner\n5,ann\n1,bob\n")
    ids, limits = read_owner_limits(tmp_path / "limits.csv")
    assert ids.tolist() == ["ann", "bob"]
    assert limits.tolist() == [5, 1]


@pytest.mark.parametrize(
    "text",
    [
        "owner,limit\n1,0\n",
        "owner,limit\n1,2.5\n",
        "owner,limit\n1,\n2,3\n",
        "owner,limit\n1,many\n",
        "owner,limit\n,3\n",
        "owner,most\n1,2\n",
        "owner,limit\n1,2\n1,3\n",
    ],
)
def test_limits_that_are_not_one_whole_number_per_owner_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "limits.csv").write_text(text)
    with pytest.raises(InvalidInput):
        read_owner_limits(tmp_path / "limits.csv")
