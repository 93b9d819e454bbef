"""Whether an owner can pay is looked up where the ledger was last seen; what others did to it meanwhile counts too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.privacy.budget import Charge
from fedgroup.storage.owner_ledger import OwnerLedger

ONE = Charge(Epsilon.of(1), "query", "?", protection="one record")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[OwnerLedger]:
    with closing(OwnerLedger(tmp_path / "l.db", flushed_later=True)) as opened:
        opened.set_cap(Epsilon.of(2))
        yield opened


def begin(ledger: OwnerLedger, *rounds: bytes) -> list[bool]:
    """Begin some rounds at once, and tell of each whether it was paid."""
    return [new and error is None for new, error in ledger.begin_rounds([(each, ONE, "1") for each in rounds])]


def can_pay(ledger: OwnerLedger) -> bool:
    try:
        ledger.require_affordable([ONE])
    except BudgetExhausted:
        return False
    return True


def set_cap_elsewhere(ledger: OwnerLedger, cap: float) -> None:
    """Set the cap as another process would."""
    with closing(OwnerLedger(ledger.path)) as other:
        other.set_cap(Epsilon.of(cap))


def test_what_was_charged_is_remembered(ledger: OwnerLedger) -> None:
    assert (begin(ledger, b"a"), can_pay(ledger)) == ([True], True)
    ledger.keep_replies([(b"a", b"said")])
    assert (begin(ledger, b"b"), can_pay(ledger)) == ([True], False)


def test_rounds_begun_at_once_add_up(ledger: OwnerLedger) -> None:
    assert (begin(ledger, b"a", b"b", b"c"), can_pay(ledger)) == ([True, True, False], False)
    assert ledger.spent() == Epsilon.of(2)


def test_no_statement_is_run_to_see_that_the_budget_covers_a_question(ledger: OwnerLedger) -> None:
    begin(ledger, b"a")
    statements: list[str] = []
    ledger._connection.set_trace_callback(statements.append)
    assert can_pay(ledger)
    assert statements == []


def test_a_cap_that_another_process_raised_is_seen_at_once(ledger: OwnerLedger) -> None:
    assert begin(ledger, b"a", b"b") == [True, True]
    assert not can_pay(ledger)
    set_cap_elsewhere(ledger, 3)
    assert (can_pay(ledger), begin(ledger, b"c")) == (True, [True])


def test_a_cap_that_another_process_lowered_is_kept_to(ledger: OwnerLedger) -> None:
    assert begin(ledger, b"a") == [True]
    set_cap_elsewhere(ledger, 1)
    assert begin(ledger, b"b") == [False]
    assert (ledger.spent(), can_pay(ledger)) == (Epsilon.of(1), False)


def test_an_epoch_that_begins_is_seen(ledger: OwnerLedger) -> None:
    assert (begin(ledger, b"a", b"b"), can_pay(ledger)) == ([True, True], False)
    ledger.begin_epoch()
    assert (can_pay(ledger), begin(ledger, b"c")) == (True, [True])


def test_a_charge_that_could_not_be_written_is_not_remembered(
    ledger: OwnerLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(ledger, b"a")

    def fail(*_: object, **__: object) -> None:
        raise OSError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(ledger, "_drop_old_replies", fail)
        with pytest.raises(OSError, match="no room"):
            begin(ledger, b"b")
    assert (ledger.spent(), can_pay(ledger), begin(ledger, b"b")) == (Epsilon.of(1), True, [True])
