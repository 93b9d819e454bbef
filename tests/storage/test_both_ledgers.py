"""What every ledger promises, in memory and in a file alike."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, ComparisonsExhausted, InvalidInput
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.comparing import Comparing
from fedgroup.privacy.zcdp import rho_within
from fedgroup.rho import Delta, Rho
from fedgroup.storage.memory import MemoryLedger
from fedgroup.storage.sqlite import SQLiteLedger

AnyLedger = MemoryLedger | SQLiteLedger
OpenLedger = Callable[[], AnyLedger]


@pytest.fixture(params=["memory", "file"])
def open_ledger(request: pytest.FixtureRequest) -> Iterator[OpenLedger]:
    """Opens a new ledger at every call."""
    number = itertools.count()
    with TemporaryDirectory() as folder:
        opened: list[AnyLedger] = []

        def fresh() -> AnyLedger:
            in_memory = request.param == "memory"
            opened.append(MemoryLedger() if in_memory else SQLiteLedger(Path(folder) / f"{next(number)}.sqlite"))
            return opened[-1]

        yield fresh
        for ledger in opened:
            if isinstance(ledger, SQLiteLedger):
                ledger.close()


def query(nano: int, *, owners: list[str] | None = None) -> Charge:
    return Charge(Epsilon(nano), "query", "how many?", owners=owners)


def setup(nano: int, plan: str) -> Charge:
    return Charge(Epsilon(nano), "setup", "a plan", plan=plan)


def test_a_new_ledger_is_empty_and_uncapped(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert (ledger.cap, ledger.epoch, ledger.spent(), ledger.entries()) == (None, 0, Epsilon(0), [])
    assert ledger.stored_answer("key") is None


def test_a_charge_is_recorded_with_its_question(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert ledger.charge([query(5)]) == Epsilon(5)
    (entry,) = ledger.entries()
    assert (entry.purpose, entry.question, entry.epsilon, entry.owners) == ("query", "how many?", Epsilon(5), None)
    assert ledger.spent() == Epsilon(5)


def test_a_ledger_counts_for_one_protection_only(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.charge([query(5)])
    with pytest.raises(InvalidInput, match="one record, add-remove, not for one owner of 3 records"):
        ledger.charge([replace(query(5), protection="one owner of 3 records, add-remove")])
    assert ledger.spent() == Epsilon(5)


def test_the_cap_can_be_spent_to_the_last_nano_and_not_beyond(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.set_cap(Epsilon(10))
    ledger.charge([query(10)])
    with pytest.raises(BudgetExhausted):
        ledger.charge([query(1)])
    assert ledger.spent() == Epsilon(10)


def test_charges_made_together_are_refused_together(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.set_cap(Epsilon(10))
    before = ledger.entries()
    with pytest.raises(BudgetExhausted):
        ledger.charge([setup(6, "p"), query(5)])
    assert (ledger.spent(), ledger.entries()) == (Epsilon(0), before)
    assert ledger.charge([setup(6, "p")]) == Epsilon(6)


def test_a_plan_is_paid_once(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert ledger.charge([setup(6, "p"), query(1)]) == Epsilon(7)
    assert ledger.price([setup(6, "p"), query(1)]) == Epsilon(1)
    assert ledger.charge([setup(6, "p"), query(1)]) == Epsilon(1)
    assert ledger.charge([setup(6, "another"), query(1)]) == Epsilon(7)


def test_a_plan_is_paid_once_in_charges_made_together(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    together = [setup(6, "p"), query(1), setup(6, "p"), query(1)]
    assert ledger.price(together) == ledger.charge(together) == Epsilon(8)
    assert [entry.purpose for entry in ledger.entries()] == ["setup", "query", "query"]


def test_a_cap_is_lowered_by_anybody_and_raised_on_purpose(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for cap in (2, 1):
        ledger.set_cap(Epsilon.of(cap), raising=False)
    before = ledger.entries()
    with pytest.raises(InvalidInput, match="--raise-budget"):
        ledger.set_cap(Epsilon.of(5), raising=False)
    assert (ledger.cap, ledger.entries()) == (Epsilon.of(1), before)
    ledger.set_cap(Epsilon.of(5), raising=True)
    assert ledger.cap == Epsilon.of(5)


def test_a_file_tells_from_where_a_cap_was_lowered_or_raised(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "ledger.db")
    for cap in (2, 1, 5):
        ledger.set_cap(Epsilon.of(cap))
    assert [entry.question for entry in ledger.entries()] == [
        "budget set to 2", "budget set to 1, lowered from 2", "budget set to 5, raised from 1",
    ]  # fmt: skip
    ledger.close()


def comparing(plan: str, *, over: str = "a grid", **said: Any) -> Comparing:
    return Comparing(over, plan, 100, "one record, add-remove", **said)


def test_comparisons_of_all_plans_of_an_epoch_add_up(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert ledger.reserve_comparisons(comparing("first", cap=50)) == 50
    with pytest.raises(ComparisonsExhausted):
        ledger.reserve_comparisons(comparing("meanwhile"))
    ledger.settle_comparisons("first", 20)
    assert ledger.reserve_comparisons(comparing("second")) == 30
    ledger.settle_comparisons("second", 30)
    with pytest.raises(ComparisonsExhausted) as refusal:
        ledger.reserve_comparisons(comparing("third", cap=50))
    assert (refusal.value.left, refusal.value.cap) == (0, 50)
    assert [entry.question.split(",")[0] for entry in ledger.entries()] == [
        "exact comparisons over a grid", "20 comparisons were made for plan first",
        "exact comparisons over a grid", "30 comparisons were made for plan second",
    ]  # fmt: skip


def test_comparisons_over_something_else_are_refused_and_leave_nothing(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.reserve_comparisons(comparing("first"))
    before = ledger.entries()
    with pytest.raises(InvalidInput, match=r"otherwise in this epoch \(over a grid\)"):
        ledger.reserve_comparisons(comparing("second", over="another grid"))
    assert ledger.entries() == before


def test_one_exhausted_owner_refuses_for_all(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.set_cap(Epsilon(10))
    ledger.charge([query(8, owners=["a"])])
    ledger.charge([query(8, owners=["b"])])
    with pytest.raises(BudgetExhausted):
        ledger.charge([query(3)])
    assert ledger.charge([query(2)]) == Epsilon(2)
    assert ledger.spent() == Epsilon(10)


def test_an_owner_named_twice_pays_twice_within_the_cap(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.set_cap(Epsilon(10))
    with pytest.raises(BudgetExhausted):
        ledger.charge([query(6, owners=["a", "a"])])
    ledger.charge([query(5, owners=["a", "a"])])
    assert ledger.spent() == Epsilon(10)


def test_a_price_costs_nothing(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    assert ledger.price([query(5), setup(3, "p")]) == Epsilon(8)
    assert (ledger.spent(), ledger.entries()) == (Epsilon(0), [])


def test_a_lower_cap_leaves_what_was_spent(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.charge([query(5)])
    ledger.set_cap(Epsilon(3))
    assert ledger.spent() == Epsilon(5)
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.charge([query(1)])
    assert refusal.value.left == 0
    ledger.charge([query(0)])  # what costs nothing is not refused
    assert ledger.spent() == Epsilon(5)


def test_without_a_cap_more_than_the_largest_epsilon_can_be_spent(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    for _ in range(3):
        assert ledger.charge([query(10**15), query(10**15)]) == Epsilon(10**15)
    assert ledger.spent() == Epsilon(10**15)
    ledger.set_cap(Epsilon(10**15))
    with pytest.raises(BudgetExhausted):
        ledger.charge([query(1)])


def test_a_stored_answer_comes_back_under_its_key_only(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.store_answers({"key": {"value": 3, "interval": [1, 5], "notes": []}})
    assert ledger.stored_answer("key") == {"value": 3, "interval": [1, 5], "notes": []}
    assert ledger.stored_answer("kez") is None
    ledger.store_answers({"key": {"value": 4}})
    assert ledger.stored_answer("key") == {"value": 4}


def test_threads_never_spend_more_than_the_cap(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    ledger.set_cap(Epsilon(40))
    paid: list[int] = []

    def spend() -> None:
        for _ in range(12):
            try:
                paid.append(ledger.charge([query(1)]).nano)
            except BudgetExhausted:
                return

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(paid) == ledger.spent().nano == 40


OWNERS = st.none() | st.lists(st.sampled_from("abc"), max_size=3)
CHARGE = st.builds(
    Charge,
    epsilon=st.integers(0, 9).map(Epsilon),
    purpose=st.just("query"),
    question=st.just("?"),
    plan=st.none() | st.sampled_from(["p", "q"]),
    owners=OWNERS,
)


@settings(deadline=None, max_examples=40)
@given(cap=st.integers(1, 40), rounds=st.lists(st.lists(CHARGE, min_size=1, max_size=3), max_size=12))
def test_balances_are_the_sum_of_accepted_charges_and_never_exceed_the_cap(
    cap: int, rounds: list[list[Charge]]
) -> None:
    with TemporaryDirectory() as folder:
        ledgers: list[AnyLedger] = [MemoryLedger(), SQLiteLedger(Path(folder) / "ledger.sqlite")]
        for ledger in ledgers:
            ledger.set_cap(Epsilon(cap))
        accepted = [_accepted(ledger, rounds) for ledger in ledgers]
        assert accepted[0] == accepted[1]
        for ledger, balances in zip(ledgers, accepted, strict=True):
            assert ledger.spent().nano == max(balances.values()) <= cap
        assert isinstance(ledgers[1], SQLiteLedger)
        ledgers[1].close()


def _accepted(ledger: AnyLedger, rounds: list[list[Charge]]) -> Counter[str]:
    """What each of the owners a, b, c and one never named has paid, by what the ledger accepted."""
    balances, plans = Counter(dict.fromkeys("abc.", 0)), {}
    for charges in rounds:
        try:
            ledger.charge(charges)
        except BudgetExhausted:
            continue
        for charge in charges:
            if charge.plan is not None and plans.get(charge.plan, -1) >= charge.epsilon.nano:
                continue
            plans[charge.plan] = charge.epsilon.nano
            for owner in "abc." if charge.owners is None else charge.owners:
                balances[owner] += charge.epsilon.nano
    return balances


# --- concentrated accounting ------------------------------------------------------------------------------------------

ZCDP = Accounting.of("zcdp", "1e-6")
CAP = Epsilon.of(1)


def costing(pico: int, *, owners: list[str] | None = None) -> Charge:
    return Charge(Rho(pico).pure, "query", "how many?", owners=owners, rho=Rho(pico))


def concentrated(ledger: AnyLedger) -> AnyLedger:
    ledger.count_as(ZCDP)
    ledger.set_cap(CAP)
    return ledger


def test_a_concentrated_cap_can_be_spent_to_the_last_of_its_rho_and_not_beyond(open_ledger: OpenLedger) -> None:
    ledger = concentrated(open_ledger())
    most = rho_within(CAP, Delta.of("1e-6"))
    assert (ledger.left_rho(), ledger.left()) == (most, most.pure)
    ledger.charge([costing(most.pico - 5)])
    with pytest.raises(BudgetExhausted, match=r"this asks for rho 6e-12 but only 5e-12 of the budget of 0.024"):
        ledger.charge([costing(6)])
    ledger.charge([costing(5)])
    assert (ledger.left_rho(), ledger.spent()) == (Rho(0), CAP)


def test_a_pure_release_counts_half_its_square(open_ledger: OpenLedger) -> None:
    ledger = concentrated(open_ledger())
    ledger.charge([query(10**8), setup(10**8, "p"), costing(7)])
    assert ledger.left_rho() == Rho(rho_within(CAP, Delta.of("1e-6")).pico - 2 * 5 * 10**9 - 7)
    rows = [(entry.epsilon.nano, entry.rho) for entry in ledger.entries() if entry.rho is not None]
    assert rows == [(10**8, Rho(5 * 10**9)), (10**8, Rho(5 * 10**9)), (0, Rho(7))]
    assert ledger.price([setup(10**8, "p")]) == Epsilon(0)


def test_pure_epsilon_takes_no_rho(open_ledger: OpenLedger) -> None:
    ledger = open_ledger()
    with pytest.raises(InvalidInput, match="--accounting zcdp"):
        ledger.charge([costing(7)])
    assert (ledger.entries(), ledger.left_rho()) == ([], None)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.sampled_from([None, ["a"], ["a", "b"], ["c"]])), max_size=8),
    st.booleans(),
)
def test_what_was_spent_is_carried_over_and_nothing_is_reset(charges, in_file) -> None:
    with TemporaryDirectory() as folder:
        ledger = SQLiteLedger(Path(folder) / "ledger.db") if in_file else MemoryLedger()
        for nano, owners in charges:
            ledger.charge([query(nano, owners=owners)])
        spent = dict.fromkeys("abcd", 0)
        for nano, owners in charges:
            for name in spent if owners is None else owners:
                spent[name] += nano
        before = ledger.entries()
        ledger.count_as(ZCDP, agreed=True)
        ledger.set_cap(Epsilon.of(1_000))
        lines = ledger.entries()
        assert [line.question for line in lines[: len(before)]] == [line.question for line in before]
        assert lines[len(before)].question.startswith("accounting is zcdp with delta 1e-06 from now on")
        most = rho_within(Epsilon.of(1_000), Delta.of("1e-6")).pico
        for name, nano in spent.items():
            left = most - Rho.of_pure(Epsilon(nano)).pico
            with pytest.raises(BudgetExhausted):
                ledger.charge([costing(left + 1, owners=[name])])
            ledger.charge([costing(left, owners=[name])])
        ledger.close()


def test_a_ledger_counts_one_way_for_its_life(open_ledger: OpenLedger) -> None:
    used, capped, new = open_ledger(), open_ledger(), open_ledger()
    used.charge([query(5)])
    capped.set_cap(CAP)
    for ledger in (used, capped):
        with pytest.raises(InvalidInput, match="--raise-budget"):
            ledger.count_as(ZCDP)
        assert ledger.accounting == PURE
    new.count_as(ZCDP)
    new.count_as(ZCDP)
    assert (new.accounting, len(new.entries()) <= 1) == (ZCDP, True)
    for other in (PURE, Accounting.of("zcdp", "1e-7")):
        with pytest.raises(InvalidInput, match="for its life"):
            new.count_as(other, agreed=True)
    assert new.accounting == ZCDP
