"""What a ledger in a file promises besides: it survives, is shared, and harms no other file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput, LedgerUnavailable
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.comparing import Comparing
from fedgroup.storage.sqlite import SQLiteLedger

ONE = Charge(Epsilon(1), "query", "how many?")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[SQLiteLedger]:
    opened = SQLiteLedger(path, busy_seconds=0.1)
    yield opened
    opened.close()


def asked_of(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_everything_survives_closing(path: Path, ledger: SQLiteLedger) -> None:
    ledger.set_cap(Epsilon(10))
    ledger.charge([Charge(Epsilon(4), "setup", "a plan", plan="p", owners=["'a'"]), ONE])
    ledger.store_answers({"key": {"value": None}})
    seen = (ledger.cap, ledger.spent(), ledger.entries())
    ledger.close()
    again = SQLiteLedger(path)
    assert (again.cap, again.spent(), again.entries()) == seen
    assert again.stored_answer("key") == {"value": None}
    assert again.price([Charge(Epsilon(4), "setup", "a plan", plan="p")]) == Epsilon(0)
    again.close()


def test_a_closed_ledger_opens_again_when_it_is_used(ledger: SQLiteLedger) -> None:
    ledger.charge([ONE])
    ledger.close()
    ledger.close()
    assert ledger.charge([ONE]) == Epsilon(1)
    assert ledger.spent() == Epsilon(2)


def test_commits_wait_for_the_disk(ledger: SQLiteLedger) -> None:
    with ledger._reading() as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_two_openings_of_one_file_share_its_budget(path: Path, ledger: SQLiteLedger) -> None:
    other = SQLiteLedger(path)
    ledger.set_cap(Epsilon(2))
    other.charge([ONE])
    ledger.charge([ONE])
    with pytest.raises(BudgetExhausted):
        other.charge([ONE])
    assert ledger.spent() == other.spent() == Epsilon(2)
    other.close()


def test_a_change_of_the_budget_is_noted_once(ledger: SQLiteLedger) -> None:
    ledger.set_cap(Epsilon.of(2))
    ledger.set_cap(Epsilon.of(2))
    assert [(entry.purpose, entry.question) for entry in ledger.entries()] == [("note", "budget set to 2")]


def test_an_epoch_has_balances_of_its_own_and_remembers_paid_plans(ledger: SQLiteLedger) -> None:
    ledger.set_cap(Epsilon(6))
    plan = Charge(Epsilon(5), "setup", "a plan", plan="p")
    ledger.charge([plan, ONE])
    assert ledger.begin_epoch() == ledger.epoch == 1
    assert ledger.spent() == Epsilon(0)
    assert ledger.charge([plan, ONE]) == Epsilon(1)
    assert [entry.epoch for entry in ledger.entries() if entry.purpose != "note"] == [0, 0, 1]


def test_an_error_inside_a_transaction_undoes_all_of_it(ledger: SQLiteLedger) -> None:
    def interrupted() -> None:
        with ledger._transaction() as connection:
            connection.execute("UPDATE facts SET value = 7 WHERE name = 'epoch'")
            assert ledger.epoch == 7
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ledger.epoch == 0
    assert ledger.charge([ONE]) == Epsilon(1)


def test_comparisons_are_counted_anew_in_another_epoch(ledger: SQLiteLedger) -> None:
    first, second = (Comparing(over, over, 9, "one record, add-remove", cap=5) for over in ("a grid", "another"))
    assert ledger.reserve_comparisons(first) == 5
    ledger.begin_epoch()
    assert ledger.reserve_comparisons(second) == 5


def test_comparisons_announced_before_they_were_counted_are_compared_otherwise(ledger: SQLiteLedger) -> None:
    old = "exact comparisons over 5x5 cells, threshold 0.5, for plan 12345678; not epsilon-DP"
    ledger.charge([Charge(Epsilon(0), "setup", old)])
    with pytest.raises(InvalidInput, match="otherwise"):
        ledger.reserve_comparisons(Comparing("5x5 cells", "p", 9, "one record, add-remove"))


def test_a_busy_file_refuses_after_a_while_and_records_nothing(path: Path, ledger: SQLiteLedger) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="nothing was released"):
        ledger.charge([ONE])
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.entries() == []
    assert ledger.charge([ONE]) == Epsilon(1)


_FULL_DISK = """
import os, resource, sys
from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import SQLiteLedger

ledger = SQLiteLedger(sys.argv[1])
ledger.charge([Charge(Epsilon(1), "query", "?")])
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(sys.argv[1] + "-wal").st_size, hard))
refused = 0
for _ in range(3):
    try:
        ledger.charge([Charge(Epsilon(1), "query", "?")])
    except LedgerUnavailable as error:
        refused += error.exit_code
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
ledger.charge([Charge(Epsilon(1), "query", "?")])
print(refused, ledger.spent().nano, len(ledger.entries()))
"""


def test_a_full_disk_refuses_records_nothing_and_is_no_trouble_once_emptied(path: Path) -> None:
    command = [sys.executable, "-c", _FULL_DISK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["225", "2", "2"]


def test_a_folder_that_may_not_be_written_is_told() -> None:
    """The kernel's own folder takes no new files, from root neither."""
    with pytest.raises(LedgerUnavailable):
        SQLiteLedger("/proc/self/ledger.sqlite")


def test_a_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no folder"):
        SQLiteLedger(tmp_path / "none" / "ledger.sqlite")


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a folder"):
        SQLiteLedger(tmp_path)


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", b"garbage " * 5000])
def test_another_kind_of_file_is_refused_and_unharmed(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a usable ledger"):
        SQLiteLedger(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE facts (name TEXT)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"]
)
def test_a_database_of_others_is_refused_and_unharmed(path: Path, statement: str) -> None:
    asked_of(path, statement)
    content = path.read_bytes()
    with pytest.raises(InvalidInput, match="not a fedgroup ledger"):
        SQLiteLedger(path)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_a_ledger_of_another_version_is_refused(path: Path, ledger: SQLiteLedger) -> None:
    ledger.close()
    asked_of(path, "PRAGMA user_version = 9")
    with pytest.raises(InvalidInput, match="of version 1"):
        SQLiteLedger(path)


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()
    opened = SQLiteLedger(path)
    assert opened.charge([ONE]) == Epsilon(1)
    opened.close()


def test_a_ledger_named_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    SQLiteLedger(":memory:").close()
    assert (tmp_path / ":memory:").exists()


@pytest.mark.parametrize("name", ["what? #1 100%41.sqlite", "mode=ro&x.sqlite", "å.sqlite", "no-ending"])
def test_a_ledger_may_have_any_name(tmp_path: Path, name: str) -> None:
    ledger = SQLiteLedger(tmp_path / name)
    ledger.charge([ONE])
    assert (tmp_path / name).exists()
    ledger.close()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_a_change_of_folder_does_not_start_another_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = SQLiteLedger("ledger.sqlite")
    ledger.charge([ONE])
    ledger.close()
    monkeypatch.chdir(tmp_path / "below")
    assert ledger.spent() == Epsilon(1)
    ledger.close()


def test_a_ledger_that_vanished_is_not_started_anew(path: Path, ledger: SQLiteLedger) -> None:
    ledger.set_cap(Epsilon(1))
    ledger.charge([ONE])
    ledger.close()
    path.unlink()
    with pytest.raises(LedgerUnavailable):
        ledger.charge([ONE])
    assert not path.exists()


_FORK = """
import os, sys
from fedgroup.epsilon import Epsilon
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import SQLiteLedger

ledger = SQLiteLedger(sys.argv[1])
one = [Charge(Epsilon(1), "query", "?")]
ledger.charge(one)
told, tell = os.pipe()
done, finish = os.pipe()
if os.fork() == 0:
    ledger.charge(one)
    os.write(finish, b"1")
    os.read(told, 1)
    ledger.charge(one)
    ledger.charge(one)
    os._exit(0)
os.read(done, 1)
ledger.close()
os.write(tell, b"1")
os.wait()
print(ledger.spent().nano)
"""


def test_charges_of_a_forked_process_survive_its_parent_closing_the_file(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _FORK, str(path)], capture_output=True, check=True, timeout=300)
    assert int(done.stdout) == 4


_FORK_BESIDE_THREADS = """
import os, sys, threading
from fedgroup.epsilon import Epsilon
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import SQLiteLedger

ledger = SQLiteLedger(sys.argv[1])
one = [Charge(Epsilon(1), "query", "?")]
spenders = [threading.Thread(target=lambda: [ledger.charge(one) for _ in range(40)]) for _ in range(2)]
for spender in spenders:
    spender.start()
for _ in range(10):
    if os.fork() == 0:
        ledger.charge(one)
        os._exit(0)
for spender in spenders:
    spender.join()
print(sum(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(10)), ledger.spent().nano)
"""


def test_forking_while_threads_spend_loses_nothing(path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORK_BESIDE_THREADS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["0", "90"]
