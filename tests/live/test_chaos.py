"""A short run under fire, with deaths and questions by number; and what its checks find where something is wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaos_books import Account, Asked, Books, Down, Row, wrong_in_answer, wrong_in_books
from chaos_holdings import PowersOfTwo
from chaos_kills import blows
from chaos_run import Settings, run
from live_world import Nursery

QUICK = Settings(
    owners=5, users=5, seconds=float("inf"), kills=6, questions=3, pause_s=0.3, down_s=0.5, think_s=0.05, hasty=True
)
NAMES = ("owner-000", "owner-001", "owner-002")
HELD = PowersOfTwo(NAMES)
NANO = 40_000_000_007


@pytest.mark.parametrize("broker", ["mosquitto", "embedded"])
def test_every_number_adds_up_while_owners_provider_and_broker_are_killed(
    broker: str, nursery: Nursery, tmp_path: Path
) -> None:
    report = asyncio.run(run(tmp_path / "federation", nursery, replace(QUICK, broker=broker)))
    assert report.faults == [], "\n".join(report.lines())
    assert set(report.kills) == {"owner", "provider", *(["broker"] if broker == "mosquitto" else [])}
    assert len([asked for asked in report.asked if asked.answered]) >= 15
    assert report.lines()[-1] == "everything adds up"


@pytest.mark.parametrize(
    ("plants", "found"), [("uncharged", "was counted and not charged"), ("heard", "were heard, and the value")]
)
def test_a_planted_fault_is_found(plants: str, found: str, nursery: Nursery, tmp_path: Path) -> None:
    settings = replace(QUICK, owners=3, users=1, kills=0, questions=1, broker="embedded", plants=plants)
    report = asyncio.run(run(tmp_path / "federation", nursery, settings))
    assert any(found in fault for fault in report.faults)


def test_the_same_seed_strikes_the_same() -> None:
    def some(seed: int) -> list[Any]:
        schedule = blows(seed, NAMES, broker="mosquitto", pause_s=1, down_s=1)
        return [next(schedule) for _ in range(40)]

    assert some(1) == some(1) != some(2)
    assert {blow.kind for blow in some(1)} == {"owner", "owners", "provider", "broker"}


# --- the checks, on values made up ------------------------------------------------------------------------------------


def asked(told: int = NANO, **said: Any) -> Asked:
    """A question of which owners 0 and 2 were heard, and owner 1 is away."""
    facts = {"value": 5, "owners": 3, "heard": 2, "missing": 1, "absent": 1, "refused": {}, "method": "dp"}
    facts |= {"private": True, "groups": 2, "noises": 2.0, "charged": told / 10**9, "stored": False, "notes": ()} | said
    return Asked("ann", "a", "dp", NANO, 1.0, 2.0, 200, facts, told, (facts,))


def failed(told: int, reason: str, charged: bool | None = None) -> Asked:
    body = {"type": f"urn:fedgroup:problem:{reason}"} | ({} if charged is None else {"charged": charged})
    return Asked("ann", "a", "dp", NANO, 1.0, 2.0, 503, body, told, (body,))


def charged(*times: int) -> dict[str, Counter[int]]:
    return {name: Counter({NANO: count} if count else {}) for name, count in zip(NAMES, times, strict=True)}


def books(row: Row | None, *times: int, spent: int | None = None) -> Books:
    ledgers = {name: Account(lines, NANO * lines[NANO], lines[NANO]) for name, lines in charged(*times).items()}
    paid = 0 if row is None else row.nano
    return Books({"ann": paid if spent is None else spent}, {} if row is None else {"a": row}, ledgers)


def row(state: str = "answered", nano: int = NANO, answer: Any = None) -> Row:
    return Row("ann", nano, state, answer)


def test_an_answer_that_adds_up_has_no_fault() -> None:
    assert list(wrong_in_answer(asked(), HELD, charged(1, 0, 1), [Down(NAMES[1], 0, 3)])) == []
    assert list(wrong_in_books([asked()], books(row(answer=asked().reply), 1, 0, 1), HELD)) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"heard": 3}, "3 were heard, and the value 5 holds 2"),
        ({"value": 7}, "2 were heard, and the value 7 holds 3"),
        ({"value": 5.5}, "no sum of records"),
        ({"value": 9}, "no sum of records"),
        ({"missing": 0}, "3 owners are not 2 heard and 0 missing"),
        ({"owners": 2, "missing": 0}, "2 owners are known, and there are 3"),
        ({"absent": 2}, "more than 1 missing"),
        ({"refused": {"budget": 1}}, "more than 1 missing"),
        ({"noises": 1.0}, "1.0 noises"),
        ({"private": False}, "private: False"),
        ({"method": "mpc"}, "answered by mpc"),
        ({"charged": 40.000000008}, "cost 40000000008, the account 40000000007"),
        ({"stored": True}, "stored: True"),
    ],
)
def test_a_doctored_answer_is_found(said: dict[str, Any], found: str) -> None:
    assert any(found in fault for fault in wrong_in_answer(asked(**said), HELD, charged(1, 0, 1)))


def test_an_owner_counted_without_a_charge_or_while_it_was_dead_is_found() -> None:
    (fault,) = wrong_in_answer(asked(), HELD, charged(1, 1, 0))
    assert fault.endswith("owner-002 was counted and not charged")
    (fault,) = wrong_in_answer(asked(), HELD, charged(1, 0, 1), [Down(NAMES[0], 0.5, 2.5)])
    assert fault.endswith("owner-000 was counted, and was dead all the time")
    assert list(wrong_in_answer(asked(), HELD, charged(1, 0, 1), [Down(NAMES[0], 0.5, 1.9)])) == []


@pytest.mark.parametrize(
    ("found_on_disk", "found"),
    [
        (books(None, 1, 0, 1), "told of 40000000007, charged 0"),
        (books(row(nano=NANO + 1), 1, 0, 1), "charged 40000000008"),
        (books(row(), 1, 0, 1, spent=NANO + 1), "its account says 40000000008"),
        (books(row("failed"), 1, 0, 1), "answered, and kept as failed"),
        (books(row(answer={"value": 4}), 1, 0, 1), "another answer is kept"),
        (books(row(), 1, 0, 0), "owner-002 was counted 1 times in 40000000007, and charged 0 times"),
        (books(row(), 2, 0, 1), "owner-000 was charged 2 times"),
    ],
)
def test_doctored_books_are_found(found_on_disk: Books, found: str) -> None:
    assert any(found in fault for fault in wrong_in_books([asked()], found_on_disk, HELD))


def test_a_ledger_that_disagrees_with_itself_is_found() -> None:
    ledgers = books(row(), 1, 0, 1).ledgers
    short = Books({"ann": NANO}, {"a": row()}, {**ledgers, NAMES[0]: Account(Counter({NANO: 1}), NANO - 1, 2)})
    faults = list(wrong_in_books([asked()], short, HELD))
    assert [fault for fault in faults if "balance" in fault]
    assert [fault for fault in faults if "1 lines for 2 rounds" in fault]


def test_what_a_user_is_told_of_a_question_without_an_answer_must_be_so() -> None:
    assert list(wrong_in_books([failed(NANO, "question-failed", True)], books(row("asked"), 1, 0, 0), HELD)) == []
    assert list(wrong_in_books([failed(0, "too-few-heard", False)], books(row("failed", 0), 0, 0, 0), HELD)) == []
    assert list(wrong_in_books([failed(0, "no-broker")], books(None, 0, 0, 0), HELD)) == []
    for said, found in [(False, row("failed")), (True, row("failed", 0)), (None, row("asked"))]:
        one = failed(found.nano, "too-few-heard", said)
        assert any("said charged" in fault for fault in wrong_in_books([one], books(found, 0, 0, 0), HELD))
    back = wrong_in_books([failed(0, "too-few-heard", False)], books(row("failed", 0), 1, 0, 0), HELD)
    assert any("which users paid 0 times" in fault for fault in back)
    kept = wrong_in_books([failed(NANO, "question-failed", True)], books(row(), 1, 0, 1), HELD)
    assert any("its user never got it" in fault for fault in kept)


def test_one_key_has_one_answer_and_a_stored_one_was_given_before() -> None:
    other = asked(value=4).reply
    twice = replace(asked(), replies=(other, asked().reply))
    assert any("several answers" in fault for fault in wrong_in_books([twice], books(row(), 1, 0, 1), HELD))
    stored = replace(asked(0, stored=True, value=1), key="b")
    kept = books(row(), 1, 0, 1)
    both = Books(kept.spent, {**kept.rows, "b": row(nano=0)}, kept.ledgers)
    (fault,) = wrong_in_books([asked(), stored], both, HELD)
    assert fault.endswith("the value 1 was given again, and nobody was given it before")
    stray = wrong_in_books([], kept, HELD)
    assert any("nobody asked" in fault for fault in stray)
