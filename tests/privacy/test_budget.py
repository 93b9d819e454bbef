"""The rules of spending: all or nothing, exact, never above the cap."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.privacy.budget import Charge, Spending, entry_of, once_per_plan, settle


def charge(nano: int, owners: list[str] | None = None) -> Charge:
    return Charge(Epsilon(nano), "query", "how many?", owners=owners)


def test_charges_add_up_by_owner() -> None:
    added = settle([charge(2), charge(3, ["a"]), charge(4, ["a", "b"])], cap=None, before=Spending())
    assert (added.for_all, dict(added.for_some)) == (2, {"a": 7, "b": 4})
    assert added.most == Epsilon(9)


def test_nothing_costs_nothing() -> None:
    assert settle([], cap=Epsilon(0), before=Spending(5)).most == Epsilon(0)


def test_an_owner_that_pays_nothing_does_not_refuse() -> None:
    before = Spending(0, {"a": 10})
    assert settle([charge(5, ["b"])], cap=Epsilon(5), before=before).most == Epsilon(5)


def test_an_owner_with_expenses_of_its_own_refuses_a_charge_for_all() -> None:
    with pytest.raises(BudgetExhausted) as refusal:
        settle([charge(5)], cap=Epsilon(10), before=Spending(1, {"a": 5}))
    assert (refusal.value.asked, refusal.value.left, refusal.value.cap) == (5e-9, 4e-9, 1e-8)


def test_a_plan_charged_for_more_than_before_is_due_again() -> None:
    less, more = (Charge(Epsilon(nano), "setup", "a plan", plan="p") for nano in (2, 3))
    assert once_per_plan([less, more, less], lambda _: False) == [less, more]


def test_a_refusal_travels_between_processes_with_its_facts() -> None:
    refusal = pickle.loads(pickle.dumps(BudgetExhausted(asked=2, left=1, cap=3)))
    assert (refusal.asked, refusal.left, refusal.cap, refusal.exit_code) == (2, 1, 3, 3)


def test_what_is_left_is_never_negative() -> None:
    assert Spending(5).left(None) is None
    assert Spending(5).left(Epsilon(7)) == Epsilon(2)
    assert Spending(5).left(Epsilon(3)) == Epsilon(0)


def test_an_entry_counts_owners_and_does_not_name_them() -> None:
    entry = entry_of(charge(5, ["a", "b"]), at="now", epoch=2)
    assert (entry.owners, entry.epoch, entry.epsilon, entry.question) == (2, 2, Epsilon(5), "how many?")
    assert entry_of(charge(5), at="now", epoch=0).owners is None


@given(
    cap=st.integers(0, 30),
    base=st.integers(0, 30),
    extra=st.dictionaries(st.sampled_from("abc"), st.integers(0, 30)),
    charges=st.lists(st.builds(charge, st.integers(0, 10), st.none() | st.lists(st.sampled_from("abc")))),
)
def test_charges_are_accepted_exactly_when_every_payer_stays_within_the_cap(
    cap: int, base: int, extra: dict[str, int], charges: list[Charge]
) -> None:
    due = {
        o: sum(c.epsilon.nano * (1 if c.owners is None else list(c.owners).count(o)) for c in charges) for o in "abc."
    }
    payers = [o for o in due if due[o] or any(o in (c.owners or ()) for c in charges)]
    fits = all(base + extra.get(o, 0) + due[o] <= cap for o in payers)
    try:
        added = settle(charges, cap=Epsilon(cap), before=Spending(base, extra))
    except BudgetExhausted:
        assert not fits
    else:
        assert fits
        assert all(added.for_all + added.for_some.get(o, 0) == due[o] for o in due)
