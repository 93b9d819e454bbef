"""Nothing that is kept grows for ever, and nothing is forgotten that counts for privacy or for an allowance."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.privacy.budget import Charge
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState, Question

DAYS = 10
ONE = Epsilon.of(1)
NOTHING = Epsilon(0)


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


class DatedLedger(OwnerLedger):
    """A ledger that takes its time from a clock of ours."""

    clock = Clock()

    def now(self) -> str:
        return self.clock().isoformat(timespec="seconds")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(tmp_path: Path, clock: Clock) -> Iterator[ProviderState]:
    with closing(ProviderState(tmp_path / "provider.db", keep_days=DAYS, clock=clock)) as opened:
        opened._connection.execute("PRAGMA synchronous = OFF")  # thousands of rows, and no power is cut here
        opened.add_user("ann", allowance=Epsilon.of(10_000))
        yield opened


def ask(state: ProviderState, key: str, epsilon: Epsilon = NOTHING) -> Question:
    question = state.begin("ann", {"about": key}, epsilon, key=key)
    if question.new:
        state.finish(question, {"value": key})
    return question


def only(state: ProviderState, statement: str) -> int:
    (found,) = state._connection.execute(statement).fetchone()
    return int(found or 0)


def test_free_and_refunded_questions_leave_no_more_rows_than_the_days_they_are_kept_for(
    state: ProviderState, clock: Clock
) -> None:
    sizes = []
    for day in range(6 * DAYS):
        for number in range(25):
            ask(state, f"free {day} {number}")
            state.give_back(state.begin("ann", {}, ONE, key=f"refunded {day} {number}"))
            state.keep(f"answer {day} {number}", b"round", {"value": day})
        clock.pass_(days=1)
        sizes.append(only(state, "PRAGMA page_count"))
    assert only(state, "SELECT count(*) FROM questions") <= 50 * (DAYS + 1)
    assert only(state, "SELECT count(*) FROM answers") <= 25 * (DAYS + 1)
    assert sizes[-1] <= 1.1 * sizes[2 * DAYS]  # pages of what was forgotten are used again
    assert state.user("ann").spent == NOTHING


def test_what_a_user_spent_is_the_sum_of_its_questions_those_forgotten_included(
    state: ProviderState, clock: Clock
) -> None:
    for day in range(3 * DAYS):
        ask(state, f"{day}", ONE)
        clock.pass_(days=1)
    kept = only(state, "SELECT sum(nano) FROM questions")
    assert state.user("ann").spent == Epsilon.of(3 * DAYS)
    assert 0 < kept < Epsilon.of(3 * DAYS).nano
    assert kept + only(state, "SELECT nano FROM forgotten WHERE user = 'ann'") == Epsilon.of(3 * DAYS).nano
    assert only(state, "SELECT questions FROM forgotten") == 3 * DAYS - only(state, "SELECT count(*) FROM questions")


def test_a_key_younger_than_the_retention_still_answers(state: ProviderState, clock: Clock) -> None:
    ask(state, "the first", ONE)
    clock.pass_(days=DAYS, seconds=-1)
    for number in range(100):
        ask(state, f"other {number}")
    again = ask(state, "the first", ONE)
    assert (again.new, again.answer) == (False, {"value": "the first"})
    assert state.user("ann").spent == ONE
    clock.pass_(seconds=2)
    ask(state, "one more")
    assert state.known("ann", "the first") is None


def test_an_answer_is_kept_as_long_as_somebody_asks_for_it_again(state: ProviderState, clock: Clock) -> None:
    state.keep("asked for", b"one", {})
    state.keep("left alone", b"two", {})
    for day in range(3 * DAYS):
        clock.pass_(days=1, seconds=1)
        assert state.earlier("asked for") == (b"one", {})
        state.keep(f"{day}", b"", {})
    assert state.earlier("left alone") is None


def test_who_only_looks_at_the_file_forgets_nothing(tmp_path: Path, state: ProviderState, clock: Clock) -> None:
    ask(state, "old", ONE)
    clock.pass_(days=100 * DAYS)
    with closing(ProviderState(tmp_path / "provider.db", clock=clock)) as looking:
        looking.begin("ann", {}, NOTHING)
    assert state.known("ann", "old") is not None


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "old.db"
    with closing(ProviderState(path, clock=clock)) as state:
        state.add_user("ann", allowance=Epsilon.of(3))
        ask(state, "one", ONE)
    with closing(sqlite3.connect(path)) as file:
        for gone in ("TABLE forgotten", "TABLE answers", "INDEX questions_by_age", "INDEX questions_of_users"):
            file.execute(f"DROP {gone}")
        file.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, round BLOB, answer TEXT NOT NULL) WITHOUT ROWID")
        file.execute("INSERT INTO answers VALUES ('same', x'01', '{}')")
        file.execute("PRAGMA user_version = 1")
        file.commit()
    with closing(ProviderState(path, keep_days=DAYS, clock=clock)) as state:
        state.keep("other", b"", {})
        assert (state.user("ann").spent, state.earlier("same")) == (ONE, (b"\x01", {}))
        assert state.known("ann", "one") is not None


def test_an_owner_that_answers_much_in_an_hour_drops_as_much(tmp_path: Path) -> None:
    with closing(DatedLedger(tmp_path / "ledger.db", keep_days=DAYS, flushed_later=True)) as ledger:
        for number in range(400):
            if number == 200:
                ledger.clock.pass_(days=DAYS, hours=0.01)
            ledger.begin_rounds([(number.to_bytes(16), Charge(ONE, "question", ""), "data")])
            ledger.keep_replies([(number.to_bytes(16), b"said")])
        assert [ledger.kept_reply(number.to_bytes(16)) for number in range(200)] == [b""] * 200
        assert ledger.kept_reply((399).to_bytes(16)) == b"said"


def test_an_owner_drops_old_replies_and_refuses_to_make_them_again(tmp_path: Path) -> None:
    with closing(DatedLedger(tmp_path / "ledger.db", keep_days=DAYS)) as ledger:
        for number in range(3 * DAYS):
            assert ledger.begin_rounds([(number.to_bytes(16), Charge(ONE, "question", ""), "data")]) == [(True, None)]
            ledger.keep_replies([(number.to_bytes(16), b"x" * 9999)])
            ledger.clock.pass_(days=1)
        assert ledger.kept_reply((3 * DAYS - 1).to_bytes(16)) == b"x" * 9999
        assert ledger.kept_reply(bytes(16)) == b""
        assert ledger.begin_rounds([(bytes(16), Charge(ONE, "question", ""), "data")]) == [(False, None)]
        with pytest.raises(InvalidInput, match="once"):
            ledger.keep_replies([(bytes(16), b"another")])
        assert (ledger.spent(), ledger.snapshot_of(bytes(16))) == (Epsilon.of(3 * DAYS), "data")
        a_byte_for_each_dropped = 2 * DAYS
        assert only_bytes(tmp_path / "ledger.db") <= 9999 * (DAYS + 1) + a_byte_for_each_dropped


def only_bytes(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        (found,) = file.execute("SELECT sum(length(reply)) FROM rounds").fetchone()
        return int(found)
