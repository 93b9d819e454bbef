"""A plan fits its data: one for other owners is refused with numbers, one for some others says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.federation.fitting import UNLISTED, Overlap

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)


def federation(first: int, last: int, *, owners: Any = None) -> fg.Federation:
    ids = np.arange(first, last)
    return fg.Federation(fg.Records(owner=ids, x=ids * 0.0, y=ids * 0.0, owners=owners), DOMAIN)


def plan_of(owners: int) -> fg.Plan:
    return federation(0, owners, owners=np.arange(owners)).group(epsilon=0.1, grid=(2, 2))


@pytest.mark.parametrize(("planned", "here", "both", "fits"), [
    (10, 10, 10, True), (10, 10, 5, True), (10, 10, 4, False), (2_000, 21, 17, False), (21, 2_000, 17, False),
    (3, 5, 2, False), (3, 4, 2, True), (1, 2, 1, True), (5, 9, 0, False),
])  # fmt: skip
def test_a_plan_fits_if_half_of_its_owners_are_here_and_half_of_those_here_are_in_it(
    planned: int, here: int, both: int, fits: bool
) -> None:
    assert Overlap(planned, here, both).fits is fits


def test_a_plan_of_strangers_is_refused_with_numbers_before_anything_is_paid() -> None:
    listed = federation(1_983, 2_004, owners=np.arange(1_983, 2_004))
    for ask in (listed.count, lambda *a, **k: listed.expect("count", *a, **k)):
        with pytest.raises(fg.InvalidInput, match=r"17 of its 2,000 are among 21 here") as refusal:
            ask(ALL, epsilon=0.1, plan=plan_of(2_000))
        assert "list" not in str(refusal.value)
    assert listed.ledger.entries() == []


def test_numbers_that_come_from_records_are_told_with_what_that_costs() -> None:
    with pytest.raises(fg.InvalidInput, match="2 of its 10 are among 3 here") as refusal:
        federation(8, 11).count(ALL, epsilon=0.1, plan=plan_of(10))
    assert UNLISTED in str(refusal.value)


def test_planned_owners_without_records_are_here_where_the_public_list_holds_them() -> None:
    answer = federation(0, 1, owners=np.arange(10)).count(ALL, epsilon=0.1, plan=plan_of(10))
    assert (answer.owners, answer.heard) == (10, 10)
    assert not any("plan" in note for note in answer.notes)


@pytest.mark.parametrize("listed", [True, False])
def test_a_plan_that_fits_partly_is_noted_with_numbers(listed: bool) -> None:
    here = federation(2, 12, owners=np.arange(2, 12) if listed else None)
    notes = " ".join(here.count(ALL, epsilon=0.1, plan=plan_of(10)).notes)
    assert "8 of the plan's 10 owners are in the data's list" in notes
    assert "2 of the 10 owners in the data's list are not in the plan and stay alone" in notes
    assert (UNLISTED in notes) is not listed
