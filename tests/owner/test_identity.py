"""Ids of any type become positions in one ascending list."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput
from fedgroup.owner.identity import as_ids, ascending, enrol, positions

one_type = (
    st.lists(st.integers(-(2**70), 2**70))
    | st.lists(st.text())
    | st.lists(st.binary())
    | st.lists(st.uuids())
    | st.lists(st.floats(allow_nan=False, allow_infinity=False))
)
mixed = st.lists(st.integers() | st.text() | st.uuids())


@given(one_type)
def test_ids_of_any_type_come_back_from_their_positions(ids: list[Any]) -> None:
    owners, codes = enrol(ids, None)
    assert owners.tolist() == sorted(set(ids))
    assert [owners[code] for code in codes] == ids


@given(mixed)
def test_ids_of_several_types_stay_apart(ids: list[Any]) -> None:
    owners, codes = enrol(ids, None)
    assert len(owners) == len(set(ids))
    assert [owners[code] for code in codes] == ids


@given(st.lists(st.integers(0, 50)), st.sets(st.integers(0, 50)))
def test_positions_are_those_in_the_list(ids: list[int], listed: set[int]) -> None:
    ascending_list = np.array(sorted(listed), dtype=np.int64)
    expected = [sorted(listed).index(one) if one in listed else -1 for one in ids]
    assert positions(np.array(ids, dtype=np.int64), ascending_list).tolist() == expected
    assert positions(np.array(ids, dtype=object), ascending_list).tolist() == expected


def test_a_public_list_keeps_owners_without_records() -> None:
    owners, codes = enrol(["b", "b"], ["c", "b", "a"])
    assert owners.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 1]


def test_a_record_of_an_unlisted_owner_is_refused_without_naming_it() -> None:
    with pytest.raises(InvalidInput, match="not in the public owner list") as caught:
        enrol(["mallory"], ["ann", "bob"])
    assert "mallory" not in str(caught.value)


@pytest.mark.parametrize(
    "ids",
    [
        [1.0, float("nan")],
        [None, "a"],
        np.array(["a", None], dtype=object),
        np.array(["2026-01-05", "NaT"], dtype="datetime64[s]"),
        pd.array([1, None], dtype="Int64"),
        pd.Series(["a", None]),
    ],
)
def test_missing_ids_are_refused(ids: Any) -> None:
    with pytest.raises(InvalidInput, match="missing ids"):
        as_ids(ids, name="owner")


@pytest.mark.parametrize("ids", [5, "ann", np.zeros((2, 2)), [[1, 2], [3, 4]], [{}, {}]])
def test_what_is_not_a_column_of_ids_is_refused(ids: Any) -> None:
    with pytest.raises(InvalidInput):
        enrol(ids, None)


def test_whole_numbers_agree_wherever_they_come_from() -> None:
    sources: list[Any] = [
        [3, 1],
        np.array([3, 1], dtype=np.int32),
        np.array([3, 1], dtype=object),
        list(np.array([3, 1])),
    ]
    for source in sources:
        assert enrol(source, [1, 2, 3])[1].tolist() == [2, 0]


def test_ids_far_apart_are_ranked() -> None:
    assert ascending(np.array([2**63 - 1, -(2**63), 0])).tolist() == [-(2**63), 0, 2**63 - 1]
    assert ascending(np.array([2**64 - 1, 1], dtype=np.uint64)).tolist() == [1, 2**64 - 1]


def test_uuids_are_ids() -> None:
    ids = [uuid.UUID(int=2), uuid.UUID(int=1), uuid.UUID(int=2)]
    assert enrol(ids, None)[1].tolist() == [1, 0, 1]
