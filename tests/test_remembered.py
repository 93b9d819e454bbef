"""What was found out about a value stays with it, and only as long as it is true."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import pytest

from fedgroup.remembered import remembered


@dataclass(frozen=True)
class Value:
    number: int


def test_it_is_found_out_once_for_one_value_and_the_same_facts() -> None:
    looked: list[int] = []
    value = Value(3)

    def twice(by: int) -> int:
        return remembered(value, "twice", lambda: looked.append(by) or value.number * by, given=by)

    assert [twice(2), twice(2), twice(5), twice(2)] == [6, 6, 15, 6]
    assert looked == [2, 5, 2]


def test_other_values_know_nothing_of_it() -> None:
    value = Value(3)
    remembered(value, "it", lambda: 3)
    assert remembered(replace(value, number=4), "it", lambda: 4) == 4
    assert remembered(value, "another", lambda: 5) == 5
    assert value == Value(3) == pickle.loads(pickle.dumps(value))
    assert hash(value) == hash(Value(3))


def test_an_error_is_not_kept() -> None:
    value = Value(3)
    with pytest.raises(ZeroDivisionError):
        remembered(value, "it", lambda: 1 // 0)
    assert remembered(value, "it", lambda: 1) == 1
