"""What every ledger promises, in memory and in a file alike."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.privacy.budget import Charge
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
        due = [charge for charge in charges if charge.plan is None or plans.get(charge.plan, -1) < charge.epsilon.nano]
        try:
            ledger.charge(charges)
        except BudgetExhausted:
            continue
        for charge in due:
            plans[charge.plan] = max(plans.get(charge.plan, -1), charge.epsilon.nano)
            for owner in "abc." if charge.owners is None else charge.owners:
                balances[owner] += charge.epsilon.nano
    return balances
