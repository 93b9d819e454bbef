"""Windows of time in ledgers: alike in memory and in a file, durable, and charged with the round they are for."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.windows import Span, WindowBudget, WindowsSpent
from fedgroup.storage.memory import MemoryLedger
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.sqlite import SQLiteLedger

HOUR = 3_600_000_000
BUDGET = WindowBudget(HOUR, Epsilon(10), 2)
ZCDP = Accounting.of("zcdp", 1e-6)


def about(first: int | None, hours: int | None, nano: int) -> Charge:
    """A charge for a question about some hours, for ever on if there are none, at all times without a first."""
    since = None if first is None else BUDGET.begin_of(first)
    until = None if first is None or hours is None else BUDGET.begin_of(first + hours)
    return Charge(Epsilon(nano), "query", "how many?", span=Span(since, until))


charges = st.lists(
    st.builds(about, st.none() | st.integers(-3, 3), st.none() | st.integers(1, 4), st.integers(1, 6)), max_size=8
)


def tried(ledger: MemoryLedger | SQLiteLedger, charge: Charge) -> bool:
    try:
        ledger.charge([charge])
    except BudgetExhausted:
        return False
    return True


@settings(max_examples=25, deadline=None)
@given(charges, st.booleans())
def test_memory_and_file_charge_and_refuse_alike(said: list[Charge], moved: bool) -> None:
    with TemporaryDirectory() as folder:
        file = SQLiteLedger(Path(folder) / "l.db")
        with closing(file):
            ledgers = (MemoryLedger(), file)
            for ledger in ledgers:
                ledger.charge([about(None, None, 1)])
                ledger.set_window_budget(BUDGET)
            for charge in said:
                assert len({tried(ledger, charge) for ledger in ledgers}) == 1
            if moved:
                for ledger in ledgers:
                    ledger.count_as(ZCDP, agreed=True)
            one, other = (ledger.windows_spent() for ledger in ledgers)
            assert one.every == other.every >= 1
            assert [one.at(window) for window in range(-9, 9)] == [other.at(window) for window in range(-9, 9)]
            if not moved:
                assert one.most_in_a_row(2, -50, 50) <= 10


def test_a_long_question_is_charged_to_windows_that_were_charged_before(tmp_path: Path) -> None:
    with closing(SQLiteLedger(tmp_path / "l.db")) as ledger:
        ledger.set_window_budget(BUDGET)
        for charge in (about(1, 1, 2), about(3, None, 1), about(0, 5, 3)):
            ledger.charge([charge])
        assert [ledger.windows_spent().at(window) for window in range(-1, 7)] == [0, 3, 5, 3, 4, 4, 1, 1]


def test_what_was_spent_before_counts_in_every_window_and_another_epoch_begins_anew(tmp_path: Path) -> None:
    with closing(SQLiteLedger(tmp_path / "l.db")) as ledger:
        ledger.charge([about(1, 1, 4)])
        ledger.set_window_budget(BUDGET)
        assert ledger.windows_spent() == WindowsSpent(every=4)
        assert not tried(ledger, about(7, 1, 3))  # twice 4, and 3
        with pytest.raises(InvalidInput, match="while an epoch lasts"):
            ledger.set_window_budget(replace(BUDGET, count=1))
        ledger.begin_epoch()
        assert ledger.windows_spent() == WindowsSpent()
        ledger.set_window_budget(replace(BUDGET, count=1))
        assert tried(ledger, about(7, 1, 10))


def test_a_file_with_windows_is_no_file_for_who_does_not_know_them(tmp_path: Path) -> None:
    versions = []
    for accounting in (PURE, ZCDP):
        with closing(SQLiteLedger(tmp_path / f"{accounting.kind}.db")) as ledger:
            ledger.set_window_budget(BUDGET)
            if accounting != PURE:
                ledger.count_as(accounting, agreed=True)
            found = sqlite3.connect(ledger.path).execute("PRAGMA user_version").fetchone()
            versions.append(found[0])
        with closing(SQLiteLedger(tmp_path / f"{accounting.kind}.db")) as again:
            assert again.window_budget == BUDGET
    assert versions == [3, 4]


@pytest.mark.parametrize("accounting", [PURE, ZCDP], ids=["pure", "zcdp"])
def test_rounds_begun_together_charge_windows_as_they_would_one_by_one(accounting: Accounting, tmp_path: Path) -> None:
    budget, cost = WindowBudget(HOUR, Epsilon.of(1), 3), Epsilon.of(0.3 if accounting == PURE else 0.1)
    each = [
        Charge(cost, "query", "how many?", span=Span(budget.begin_of(at % 5), budget.begin_of(at % 5 + 1)))
        for at in range(12)
    ]
    rounds = [(bytes([at]) * 16, charge, "data") for at, charge in enumerate(each)]
    ledgers = [OwnerLedger(tmp_path / f"{name}.db") for name in ("together", "apart")]
    for ledger in ledgers:
        ledger.count_as(accounting)
        ledger.set_window_budget(budget)
    together, apart = ledgers
    one_by_one = []
    for one in rounds:
        looked = True
        try:
            apart.require_affordable([one[1]])
        except BudgetExhausted:
            looked = False
        one_by_one += [new for new, _ in apart.begin_rounds([one])]
        assert looked == one_by_one[-1]
    assert [new for new, _ in together.begin_rounds(rounds)] == one_by_one
    assert 0 < sum(one_by_one) < len(rounds)
    assert together.windows_spent() == apart.windows_spent()
    for ledger in ledgers:
        again = ledger.begin_rounds(rounds)
        assert not any(new for new, _ in again)
        assert ledger.windows_spent() == together.windows_spent()
        ledger.close()


def test_a_ledger_that_lost_charges_has_nothing_left_in_any_window(tmp_path: Path) -> None:
    with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
        ledger.set_cap(Epsilon(1_000))
        ledger.set_window_budget(BUDGET)
        ledger.give_up_epoch(None, cap=Epsilon(1_000), why="lost")
        ledger.set_cap(Epsilon(5_000))
        with pytest.raises(BudgetExhausted):
            ledger.charge([about(40, 1, 1)])


def test_a_window_that_was_charged_stays_charged_when_the_process_is_killed(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        ledger = SQLiteLedger(tmp_path / "l.db")
        ledger.set_window_budget(BUDGET)
        ledger.charge([about(2, 1, 7)])
        os.write(writer, b"!")
        signal.pause()
    assert os.read(reader, 1) == b"!"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with closing(SQLiteLedger(tmp_path / "l.db")) as ledger:
        assert ledger.windows_spent().at(2) == 7
