"""`fedgroup ledger`."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fedgroup.cli import ledger as ledger_command

CIRCLE = ("--near", "10000,10000", "--within", "3000")


@pytest.fixture
def somebody():
    """A context in which this process has nobody's rights, should it have root's."""

    @contextmanager
    def rights():
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)

    return rights


@pytest.fixture
def used(fedgroup, city, ledger):
    assert fedgroup("count", city, *CIRCLE, "--epsilon", 0.25, "--ledger", ledger, "--budget", 1).code == 0
    return ledger


def test_json_tells_the_balance_and_every_question(fedgroup, used):
    facts = fedgroup("ledger", used, "--json").json
    assert (facts["epoch"], facts["budget"], facts["spent"], facts["left"]) == (0, 1, 0.25, 0.75)
    asked = facts["entries"][-1]
    assert set(asked) == {"at", "epoch", "purpose", "question", "epsilon", "rho", "owners"}
    assert (asked["purpose"], asked["epsilon"], asked["owners"]) == ("query", 0.25, "all")
    assert asked["question"] == "count within 3000 of 10000,10000, by dp"


def test_people_read_each_question_on_one_line(fedgroup, used):
    ran = fedgroup("ledger", used)
    assert sum("count within 3000 of 10000,10000" in line for line in ran.out.splitlines()) == 1
    assert ran.out.rstrip().endswith("epoch 0: spent 0.25 of 1, 0.75 left")


@pytest.mark.parametrize("how", [("--method", "exact"), ("--epsilon", 0.25)])
def test_exact_values_need_evaluate_and_show_in_the_ledger(fedgroup, city, used, how):
    ask = ("count", city, *CIRCLE, *how, "--ledger", used)
    if "exact" in how:
        ran = fedgroup(*ask)
        assert (ran.code, ran.out) == (2, "")
        assert "it needs --evaluate" in ran.err
    assert fedgroup(*ask, "--evaluate", "--json").json["true_value"] is not None
    lines = fedgroup("ledger", used, "--json").json["entries"]
    (told,) = [line for line in lines if line["purpose"] == "evaluation"]
    assert (told["question"], told["epsilon"]) == ("count within 3000 of 10000,10000, the true value", 0)
    assert "evaluation" in fedgroup("ledger", used).out


def test_a_new_epoch_begins_with_a_fresh_balance_and_keeps_the_past(fedgroup, used):
    facts = fedgroup("ledger", used, "--new-epoch", "--json").json
    assert (facts["epoch"], facts["spent"], facts["left"]) == (1, 0, 1)
    assert 0.25 in [entry["epsilon"] for entry in facts["entries"]]


def test_a_ledger_without_a_budget_says_so(fedgroup, city, ledger):
    fedgroup("count", city, *CIRCLE, "--epsilon", 0.5, "--ledger", ledger)
    facts = fedgroup("ledger", ledger, "--json").json
    assert (facts["budget"], facts["left"], facts["spent"]) == (None, None, 0.5)
    assert "nothing is capped" in fedgroup("ledger", ledger).out


def test_what_is_no_ledger_is_refused_and_left_as_it_was(fedgroup, city, tmp_path):
    before = city.read_bytes()
    for wrong in (tmp_path / "missing.db", tmp_path, city):
        ran = fedgroup("ledger", wrong)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("fedgroup: ")
    assert city.read_bytes() == before
    assert not (tmp_path / "missing.db").exists()


def test_a_ledger_that_cannot_be_written_asks_to_try_later(fedgroup, city, used, monkeypatch):
    defaults = {"busy_seconds": 0.05, "flushed_later": False, "read_only": False}
    monkeypatch.setattr("fedgroup.storage.sqlite.SQLiteLedger.__init__.__kwdefaults__", defaults)
    with closing(sqlite3.connect(used, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = fedgroup("count", city, *CIRCLE, "--epsilon", 0.1, "--ledger", used)
    assert (ran.code, ran.out) == (75, "")
    assert "try later" in ran.err


def test_a_ledger_that_may_only_be_read_is_shown_and_left_as_it_is(fedgroup, used, somebody):
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "ledger.db"
        copy.write_bytes(used.read_bytes())
        shown = fedgroup("ledger", copy, "--json").json
        copy.chmod(0o444)
        Path(folder).chmod(0o555)
        with somebody():
            assert fedgroup("ledger", copy, "--json").json == shown
            assert [file.name for file in Path(folder).iterdir()] == ["ledger.db"]
            assert fedgroup("ledger", copy, "--new-epoch").code == 75
        Path(folder).chmod(0o755)


def test_a_locked_ledger_says_so_after_a_second(fedgroup, used, monkeypatch):
    assert ledger_command.PATIENCE_S <= 2
    monkeypatch.setattr(ledger_command, "PATIENCE_S", 0.05)
    with closing(sqlite3.connect(used, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        ran = fedgroup("ledger", used)
    assert (ran.code, ran.out) == (75, "")
    assert "locked" in ran.err


def test_a_budget_is_raised_on_purpose_and_lowered_at_once(fedgroup, city, used):
    ask = ("count", city, *CIRCLE, "--epsilon", 0.25, "--ledger", used)
    before = fedgroup("ledger", used, "--json").json
    ran = fedgroup(*ask, "--budget", 5, "--fresh")
    assert (ran.code, ran.out) == (2, "")
    assert "--raise-budget" in ran.err
    assert fedgroup("ledger", used, "--json").json == before
    assert fedgroup(*ask, "--budget", 5, "--raise-budget").code == 0
    assert fedgroup(*ask, "--budget", 2).code == 0
    told = [line["question"] for line in fedgroup("ledger", used, "--json").json["entries"]]
    assert told[-2:] == ["budget set to 5, raised from 1", "budget set to 2, lowered from 5"]
    assert fedgroup(*ask, "--raise-budget").code == 2


def test_comparisons_of_all_plans_of_a_ledger_are_capped_with_exit_3(fedgroup, city, ledger):
    compare = (
        "group",
        city,
        "--graph",
        "hybrid",
        "--lower=-1",
        "--upper",
        1,
        "--epsilon",
        1_000_000,
        "--ledger",
        ledger,
    )
    first = fedgroup(*compare, "--comparisons", 1, "--json").json
    ran = fedgroup(*compare, "--json")
    assert (first["secure_comparisons"], ran.code, ran.out) == (1, 3, "")
    assert "0 of the 1 comparisons" in ran.err
    assert fedgroup(*compare, "--comparisons", 3).code == 2
    assert fedgroup(*compare, "--comparisons", 3, "--raise-budget", "--json").json["secure_comparisons"] == 2


def test_a_backup_is_a_whole_ledger_of_its_own(fedgroup, city, used, tmp_path):
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(used, isolation_level=None)) as owner:
        owner.execute("BEGIN IMMEDIATE")  # somebody is about to charge
        assert fedgroup("ledger", used, "--backup", copy, "--json").json == {"ledger": str(used), "backup": str(copy)}
        owner.execute("ROLLBACK")
    assert fedgroup("ledger", copy, "--json").json == fedgroup("ledger", used, "--json").json
    assert copy.stat().st_mode & 0o777 == 0o600
    assert fedgroup("count", city, *CIRCLE, "--epsilon", 0.25, "--ledger", copy).code == 0


def test_a_backup_replaces_nothing_and_changes_nothing(fedgroup, used, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert fedgroup("ledger", used, "--backup", taken).code == 2
    assert taken.read_text() == "mine"
    assert fedgroup("ledger", used, "--backup", tmp_path / "new.db", "--new-epoch").code == 2
    assert not (tmp_path / "new.db").exists()
    assert fedgroup("ledger", used, "--json").json["epoch"] == 0


def test_windows_of_time_are_stated_with_a_question_and_shown_with_what_is_left(fedgroup, city, ledger):
    day = ("--since", "2026-03-02", "--until", "2026-03-03")
    windows = ("--per", "day", "--window-budget", 0.5, "--windows", 2)
    asked = fedgroup("count", city, *CIRCLE, *day, "--epsilon", 0.2, "--ledger", ledger, "--budget", 9, *windows)
    assert asked.code == 0, asked.err
    shown = fedgroup("ledger", ledger, "--json").json["windows"]
    assert {name: shown[name] for name in ("per", "windows", "cap", "every")} == {
        "per": "1d", "windows": 2, "cap": 0.5, "every": 0,
    }  # fmt: skip
    assert shown["spent"] == [
        {"since": "2026-03-02T00:00:00+00:00", "until": "2026-03-03T00:00:00+00:00", "spent": 0.2, "left": 0.3}
    ]
    assert "any 2 consecutive windows of 1d may cost 0.5 together" in fedgroup("ledger", ledger).out
    more = fedgroup("count", city, *CIRCLE, *day, "--epsilon", 0.4, "--ledger", ledger)
    assert (more.code, "2 consecutive windows of 1d" in more.err) == (3, True)
