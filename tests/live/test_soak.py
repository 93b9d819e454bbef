"""A short soak of hosted owners, with deaths by number; and what the checks of `make soak` find in doctored books."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaos_books import Account, Asked, Books, Down, Row, wrong_in_answer, wrong_in_books
from chaos_holdings import OneMoreEach, Sum, total
from chaos_log import LogLooked, look_at_log, wrong_in_log
from chaos_run import run
from live_world import Nursery
from soak_run import SOAK

QUICK = replace(
    SOAK, owners=12, owners_in_a_process=4, users=4, methods=("dp", "cohorts"), cohort_size=6, homes=(),
    seconds=float("inf"), kills=4, questions=2, pause_s=0.2, down_s=0.3, think_s=0.05, hasty=True,
)  # fmt: skip
NANO = 40_000_000_007
HELD = OneMoreEach([f"owner-{number:03d}" for number in range(40)])
NAMES = HELD.names


def test_hosted_owners_die_by_the_process_and_every_number_adds_up(nursery: Nursery, tmp_path: Path) -> None:
    report = asyncio.run(run(tmp_path / "federation", nursery, QUICK))
    assert report.faults == [], "\n".join(report.lines())
    assert report.kills["owner"] >= 1
    assert (report.log.ledgers, len(report.books.ledgers)) == (12, 12)
    told = sum(each.told for each in report.asked)
    assert 0 < told == sum(report.books.spent.values())

    folder = tmp_path / "federation"
    ledgers = {f"owner-{number:03d}": folder / "hosts" / f"{number % 3}" / "ledgers.db" for number in range(12)}
    log = folder / "provider.log.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-2]))  # the last question and its answer
    faults = look_at_log(folder, ledgers).faults
    assert len(faults) == 12
    assert all("the log ends before it" in fault for fault in faults)


# --- the checks, on values made up ------------------------------------------------------------------------------------


def asked(counted: set[int], *, key: str = "a", told: int = NANO, **said: Any) -> Asked:
    """A question for which these owners were counted, as its answer tells."""
    facts = {"value": sum(HELD.records_of(number) for number in counted), "owners": 40, "heard": len(counted)}
    facts |= {"missing": 40 - len(counted), "absent": 0, "refused": {}, "method": "cohorts", "private": True}
    facts |= {"charged": told / 10**9, "stored": False, "notes": ()} | said
    return Asked("ann", key, "cohorts", NANO, 1.0, 2.0, 200, facts, told, (facts,))


def charged(*numbers: set[int]) -> dict[str, Counter[int]]:
    """The lines of the owners that were charged, once for each set they are in."""
    times = Counter(itertools.chain.from_iterable(numbers))
    return {name: Counter({NANO: times[number]} if times[number] else {}) for number, name in enumerate(NAMES)}


def books(lines: dict[str, Counter[int]], *keys: str) -> Books:
    ledgers = {name: Account(each, NANO * each[NANO], each[NANO]) for name, each in lines.items()}
    return Books({"ann": NANO * len(keys)}, {key: Row("ann", NANO, "answered") for key in keys}, ledgers)


def wrong(one: Asked, lines: dict[str, Counter[int]], *downs: Down) -> Iterator[str]:
    yield from wrong_in_answer(one, HELD, lines, downs)
    yield from wrong_in_books([one], books(lines, "a"), HELD)


ALL, FEW = set(range(40)), set(range(0, 40, 3))


def test_answers_that_add_up_have_no_fault_whoever_else_was_charged() -> None:
    assert total(HELD) == 820
    assert list(wrong(asked(ALL), charged(ALL))) == []
    assert list(wrong(asked(FEW), charged(FEW))) == []
    assert list(wrong(asked(FEW), charged(ALL))) == []  # those that were late have paid all the same


@pytest.mark.parametrize(
    ("one", "lines"),
    [
        (asked(ALL, value=820 - 7), charged(ALL)),  # one of the heard is not in the sum
        (asked(ALL - {4}, value=820), charged(ALL - {4})),  # somebody is in it who was not heard
        (asked(ALL - {4}, value=820 - 5 + 1), charged(ALL - {4})),  # one for another that holds more
        (asked(FEW), charged(FEW - {9})),  # a line was lost
        (asked(FEW, value=1e9), charged(ALL)),
        (asked(FEW, value=105.5), charged(ALL)),
        (asked(FEW, heard=0, missing=40), charged(ALL)),
    ],
)
def test_an_answer_that_the_charged_cannot_have_given_is_found(one: Asked, lines: dict[str, Counter[int]]) -> None:
    found = list(wrong(one, lines))
    assert any("no sum of records of" in fault for fault in found)
    assert any("do not hold what was answered" in fault for fault in found)


def test_an_owner_that_was_dead_all_the_time_is_not_taken_for_one_that_was_counted() -> None:
    assert list(wrong(asked(ALL), charged(ALL), Down(NAMES[3], 0.5, 1.9))) == []
    (fault,) = wrong(asked(ALL), charged(ALL), Down(NAMES[3], 0.5, 2.5))
    assert "no sum of records of 40 owners" in fault


def test_a_double_charge_is_found_and_a_rerun_must_be_told() -> None:
    (fault,) = wrong(asked(ALL), charged(ALL, {8}))
    assert fault == f"owner-008 was charged 2 times for {NANO}, which users paid 1 times"
    note = "a group fell silent in the middle and was asked again, at the same price once more"
    assert list(wrong_in_answer(asked(ALL, told=2 * NANO, notes=[note]), HELD, charged(ALL, ALL))) == []
    (fault,) = wrong_in_answer(asked(ALL, told=2 * NANO), HELD, charged(ALL, ALL))
    assert fault.endswith("asked again: False")


def test_two_answers_to_one_question_need_the_lines_of_both() -> None:
    both = [asked(ALL), asked(FEW, key="b")]
    assert list(wrong_in_books(both, books(charged(ALL, FEW), "a", "b"), HELD)) == []
    (fault,) = wrong_in_books(both, books(charged(ALL, FEW - {0}), "a", "b"), HELD)
    assert fault == f"the owners that were charged {NANO} do not hold what was answered for it"
    found = HELD.counted([Sum(820, 40), Sum(1, 1)], Counter(dict.fromkeys(NAMES, 2)))
    assert found is not None
    assert (found.total(), max(found.values())) == (41, 2)


def test_an_answer_that_the_log_does_not_tell_of_is_found() -> None:
    looked = LogLooked()
    looked.read.answered = 1
    assert list(wrong_in_log(looked, [asked(ALL)])) == []
    (fault,) = wrong_in_log(looked, [asked(ALL), asked(FEW, key="b")])
    assert fault == "users got 2 answers, and the public log tells of 1"
