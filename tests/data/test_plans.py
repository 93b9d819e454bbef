"""A plan survives its file, and fits data whose owners differ from its own."""

from __future__ import annotations

import json
import tempfile
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.data.plans import Plan
from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.messages import Grouping, Partition
from fedgroup.owner.identity import as_ids, ascending

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
id_lists = st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1) | st.sets(texts, min_size=1)


def plan_of(owners: Any, groups: list[int]) -> Plan:
    partition = Partition(np.array(groups, dtype=np.int32))
    grouping = Grouping(
        partition,
        {"graph": "topcell", "grid": [10, 10], "protection": "one record, add-remove"},
        Epsilon.of(0.3),
        "0.3-DP",
        True,
        edges=4,
        notes=("a note",),
    )
    return Plan(ascending(as_ids(owners, name="owner")), grouping, id="f00d")


def rewritten(path: Path, columns: dict[str, Any], **header: Any) -> Path:
    stated = json.loads(pq.read_schema(path).metadata[b"fedgroup"]) | header
    table = pa.table(columns).replace_schema_metadata({b"fedgroup": json.dumps(stated).encode()})
    pq.write_table(table, path)
    return path


@given(ids=id_lists, data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_plan_comes_back_from_its_file_as_it_was(ids: set[Any], data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(0, 5), min_size=len(ids), max_size=len(ids)))
    plan = plan_of(list(ids), np.unique(groups, return_inverse=True)[1].tolist())
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder) / "plan.parquet")
        again = Plan.load(Path(folder) / "plan.parquet")
    assert again.owners.tolist() == plan.owners.tolist()
    assert again.partition.labels.tolist() == plan.partition.labels.tolist()


def test_the_story_of_a_plan_comes_back_too(tmp_path: Path) -> None:
    plan = plan_of([5, 7, 9], [0, 1, 0])
    plan.save(tmp_path / "plan.parquet")
    again = Plan.load(tmp_path / "plan.parquet")
    assert (again.id, again.epsilon, again.guarantee, again.private) == ("f00d", 0.3, "0.3-DP", True)
    assert again.settings == plan.settings
    assert (again.groups, again.largest_group, again.grouping.edges, again.grouping.notes) == (2, 2, 4, ("a note",))
    assert [path.name for path in tmp_path.iterdir()] == ["plan.parquet"]


def test_a_plan_does_not_print_its_members() -> None:
    assert repr(plan_of(["ann", "bob"], [0, 0])) == "Plan(id='f00d', owners=2, groups=1)"


def test_rows_of_a_plan_file_may_come_in_any_order(tmp_path: Path) -> None:
    plan_of([1, 2, 3], [0, 1, 0]).save(tmp_path / "p.parquet")
    plan = Plan.load(rewritten(tmp_path / "p.parquet", {"group": [1, 0, 0], "owner": [2, 3, 1]}))
    assert plan.owners.tolist() == [1, 2, 3]
    assert plan.partition.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "columns",
    [
        {"owner": [1, 1, 2], "group": [0, 0, 1]},
        {"owner": [1, 2, 3], "group": [0, 2, 2]},
        {"owner": [1, 2, 3], "group": [0, -1, 1]},
        {"owner": [1, 2, 3], "group": [0, None, 1]},
        {"owner": [1, None, 3], "group": [0, 0, 1]},
        {"owner": [1, 2, 3], "group": ["a", "b", "c"]},
        {"owner": [1, 2, 3], "group": [0, 2**31 - 1, 1]},
        {"owner": [1, 2, 3]},
    ],
)
def test_a_plan_file_that_is_no_partition_is_refused(tmp_path: Path, columns: dict[str, Any]) -> None:
    plan_of([1, 2, 3], [0, 1, 0]).save(tmp_path / "p.parquet")
    with pytest.raises(InvalidInput):
        Plan.load(rewritten(tmp_path / "p.parquet", columns))


@pytest.mark.parametrize(
    "header",
    [
        {"format": "records"},
        {"version": 2},
        {"epsilon_nano": "0.3"},
        {"epsilon_nano": -1},
        {"settings": None},
        {"private": "yes"},
        {"notes": 5},
        {"edges": "many"},
        {"id": 5},
    ],
)
def test_a_plan_file_with_damaged_metadata_is_refused(tmp_path: Path, header: dict[str, Any]) -> None:
    plan_of([1, 2], [0, 1]).save(tmp_path / "p.parquet")
    with pytest.raises(InvalidInput):
        Plan.load(rewritten(tmp_path / "p.parquet", {"owner": [1, 2], "group": [0, 1]}, **header))


def test_a_foreign_or_cut_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"owner": [1], "group": [0]}), tmp_path / "foreign.parquet")
    plan_of([1, 2], [0, 1]).save(tmp_path / "p.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "p.parquet").read_bytes()[:-9])
    (tmp_path / "p.csv").write_text("owner,group\n1,0\n")
    for name in ("foreign.parquet", "cut.parquet", "p.csv", "none.parquet"):
        with pytest.raises(InvalidInput):
            Plan.load(tmp_path / name)


@pytest.mark.parametrize("ids", [[uuid.UUID(int=1)], [b"x"], [1, "a"], [2**70], ["\ud800"], [True]])
def test_ids_that_a_file_cannot_hold_are_refused_and_nothing_is_left(tmp_path: Path, ids: list[Any]) -> None:
    with pytest.raises(InvalidInput, match="whole numbers"):
        plan_of(ids, [0] * len(ids)).save(tmp_path / "p.parquet")
    assert not list(tmp_path.iterdir())


def test_a_plan_cannot_be_saved_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        plan_of([1], [0]).save(tmp_path / "none" / "p.parquet")


@pytest.mark.parametrize(("owners", "groups"), [([1, 2], [0]), ([2, 1], [0, 0]), ([1, 1], [0, 0])])
def test_a_plan_gives_each_owner_one_group(owners: list[int], groups: list[int]) -> None:
    grouping = Grouping(Partition(np.array(groups, dtype=np.int32)), {}, Epsilon.of(1), "", True)
    with pytest.raises(InvalidInput):
        Plan(np.array(owners), grouping, id="")


def test_new_owners_are_alone_and_planned_ones_keep_their_groups() -> None:
    plan = plan_of([10, 20, 30], [1, 0, 1])
    owners, partition = plan.aligned(np.array([5, 10, 25, 30]))
    assert owners.tolist() == [5, 10, 20, 25, 30]
    assert partition.labels.tolist() == [0, 1, 2, 3, 1]


@given(planned=st.sets(st.integers(0, 30), min_size=1), present=st.sets(st.integers(0, 30)), data=st.data())
def test_alignment_changes_no_pair_of_the_plan(planned: set[int], present: set[int], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.integers(0, 4), min_size=len(planned), max_size=len(planned)))
    plan = plan_of(sorted(planned), np.unique(drawn, return_inverse=True)[1].tolist())
    owners, partition = plan.aligned(np.array(sorted(present), dtype=np.int64))
    assert owners.tolist() == sorted(planned | present)
    before = dict(zip(plan.owners.tolist(), plan.partition.labels.tolist(), strict=True))
    after = dict(zip(owners.tolist(), partition.labels.tolist(), strict=True))
    assert all((before[a] == before[b]) == (after[a] == after[b]) for a in planned for b in planned)
    assert partition.groups == plan.groups + len(present - planned)


def test_the_plans_own_owners_keep_its_partition() -> None:
    plan = plan_of(["a", "b"], [0, 0])
    assert plan.aligned(as_ids(["a", "b"], name="owner")) == (plan.owners, plan.partition)


def test_signed_and_unsigned_numbers_align() -> None:
    owners, partition = plan_of([1, 2], [0, 0]).aligned(np.array([2, 2**63 + 1], dtype=np.uint64))
    assert owners.tolist() == [1, 2, 2**63 + 1]
    assert partition.labels.tolist() == [0, 0, 1]


def test_text_against_numbers_is_refused() -> None:
    with pytest.raises(InvalidInput, match="ids are whole numbers but the data's are text"):
        plan_of([1, 2], [0, 1]).aligned(as_ids(["1", "2"], name="owner"))


def test_ids_that_no_file_holds_still_align() -> None:
    ids = [uuid.UUID(int=i) for i in range(3)]
    owners, partition = plan_of(ids[:2], [0, 0]).aligned(as_ids(ids[1:], name="owner"))
    assert owners.tolist() == ids
    assert partition.labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("labels", "share", "total"), [([0, 0, 0, 0], 0.5, 1.0), ([0, 1, 2, 3], 1.0, None)])
def test_a_plan_tells_from_which_total_on_it_beats_plain_dp(labels, share, total):
    grouping = Grouping(Partition(np.array(labels)), {}, Epsilon.of(0.5), "none", False)
    plan = Plan(np.arange(4), grouping, "id")
    assert (plan.error_share, plan.pays_off_above) == (share, total)
