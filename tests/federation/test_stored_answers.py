"""The same question gets its stored answer for nothing; every other question is a new, charged release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import Epsilon
from fedgroup.storage.memory import MemoryLedger

DOMAIN = fg.Box(0, 0, 10, 10)
CIRCLE = fg.Circle(5, 5, 4)
SQUARE = fg.Polygon([(1, 1), (4, 1), (4, 4), (1, 4)])
SUM: dict[str, Any] = {"kind": "sum", "attribute": "fare", "clip": 10}


def records(x: float = 1, owners: Any = None) -> fg.Records:
    return fg.Records(
        owner=[1, 2, 3],
        x=[x, 5, 6],
        y=[5, 5, 5],
        attributes={"fare": [1, 2, 3], "tip": [1, 2, 3]},
        time=[10, 20, 30],
        owners=owners,
    )


def spent(ledger: Any) -> int:
    return sum(entry.purpose == "query" for entry in ledger.entries())


def ask(federation: fg.Federation, **details: Any) -> fg.Answer:
    given = {"kind": "count", "asked": CIRCLE, "epsilon": 0.5} | details
    return federation.ask(given.pop("kind"), given.pop("asked"), **given)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ({}, {}),
        ({}, {"asked": fg.Circle(5.0, 5, 4), "epsilon": Epsilon.of(0.5), "method": "dp", "plan": None}),
        ({"asked": fg.Circle(0.0, 0, 4)}, {"asked": fg.Circle(-0.0, 0, 4)}),
        ({"asked": SQUARE}, {"asked": fg.Polygon([(4, 4), (4, 1), (1, 1), (1, 4), (4, 4)])}),
        ({"asked": SQUARE}, {"asked": fg.MultiPolygon([SQUARE])}),
        (SUM, SUM | {"clip": 10.0, "resolution": 0.01, "signed": False}),
        (SUM, SUM | {"clip": np.int64(10), "resolution": np.float32(0.01).astype(float).round(2)}),
        ({"since": 10}, {"since": "1970-01-01T00:00:10"}),
    ],
)
def test_the_same_question_in_other_words_is_free(first: dict[str, Any], again: dict[str, Any]) -> None:
    federation = fg.Federation(records(), DOMAIN)
    paid, free = ask(federation, **first), ask(federation, **again)
    assert (paid.stored, free.stored, free.charged) == (False, True, 0)
    assert (free.value, free.interval, free.epsilon, free.asked_at) == (
        paid.value, paid.interval, paid.epsilon, paid.asked_at,
    )  # fmt: skip
    assert spent(federation.ledger) == 1


def test_the_true_value_comes_with_the_stored_answer() -> None:
    federation = fg.Federation(records(), DOMAIN, evaluation=True)
    paid, free = ask(federation), ask(federation, evaluate=True)
    assert (free.stored, free.value, free.true_value) == (True, paid.value, 2)


@pytest.mark.parametrize(
    "other",
    [
        {"asked": fg.Circle(5, 5, 4.000001)},
        {"asked": fg.Circle(5, 4, 4)},
        {"asked": fg.Rectangle(1, 1, 9, 9)},
        {"asked": SQUARE},
        {"epsilon": 0.500000001},
        {"since": 10},
        {"until": 10},
        SUM,
        SUM | {"kind": "avg"},
        SUM | {"attribute": "tip"},
        SUM | {"clip": 11},
        SUM | {"signed": True},
        SUM | {"resolution": 0.1},
        SUM | {"since": 20},
        SUM | {"since": 10, "until": 20},
    ],
)
def test_any_other_question_is_a_new_release(other: dict[str, Any]) -> None:
    federation = fg.Federation(records(), DOMAIN)
    ask(federation)
    ask(federation, **SUM | {"since": 10})
    answer = ask(federation, **other)
    assert (answer.stored, answer.charged) == (False, float(other.get("epsilon", 0.5)))
    assert spent(federation.ledger) == 3


@pytest.mark.parametrize(
    "setting",
    [
        {"domain": fg.Box(0, 0, 10, 11)},
        {"lonlat": True},
        {"records": records(x=1.5)},
        {"records": records(owners=[1, 2, 3, 4])},
        {"seed": 1},
        {"seed": 2},
        {"evaluation": True},
        {"noise": fg.FloatingPointLaplace(1)},
        {"noise": fg.SeededNoise(1)},
    ],
)
def test_the_same_words_in_another_federation_are_a_new_release(setting: dict[str, Any]) -> None:
    ledger = MemoryLedger()
    for given in ({}, {"seed": 3}, setting):
        all_settings: dict[str, Any] = {"records": records(), "domain": DOMAIN, "ledger": ledger} | given
        assert not ask(fg.Federation(**all_settings)).stored
    assert spent(ledger) == 3
    assert ask(fg.Federation(records(), DOMAIN, ledger=ledger)).stored


@pytest.mark.parametrize(
    "setting", [{"neighbours": "replace"}, {"unit": "owner", "max_records": 2}, {"unit": "owner", "max_records": 3}]
)
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_ledger_does_not_add_up_what_protects_different_things(setting: dict, kind: str, tmp_path: Path) -> None:
    ledger: Any = MemoryLedger() if kind == "memory" else tmp_path / "ledger.db"
    with fg.Federation(records(), DOMAIN, ledger=ledger) as first:
        ask(first)
    with fg.Federation(records(), DOMAIN, ledger=ledger, **setting) as other:
        with pytest.raises(fg.InvalidInput, match="use another ledger"):
            ask(other)
        with pytest.raises(fg.InvalidInput, match="use another ledger"):
            other.group(epsilon=0.1)
        assert len(other.ledger.entries()) == 1


def test_a_plan_that_protects_something_else_is_refused() -> None:
    plan = fg.Federation(records(), DOMAIN).group(epsilon=0.1)
    owners = fg.Federation(records(), DOMAIN, unit="owner", max_records=2)
    with pytest.raises(fg.InvalidInput, match="make a plan"):
        ask(owners, plan=plan)
    assert owners.ledger.entries() == []


def test_another_plan_is_a_new_release() -> None:
    federation = fg.Federation(records(), DOMAIN)
    plans = [federation.group(epsilon=0.1, grid=(2, 2)) for _ in range(2)]
    answers = [ask(federation, plan=plan) for plan in [None, *plans, *plans]]
    assert [answer.stored for answer in answers] == [False, False, False, True, True]


def test_another_epoch_is_a_new_release(tmp_path: Path) -> None:
    ledger = fg.SQLiteLedger(tmp_path / "ledger.sqlite")
    federation = fg.Federation(records(), DOMAIN, ledger=ledger)
    ask(federation)
    ledger.begin_epoch()
    assert not ask(federation).stored
    assert ask(federation).stored
    ledger.close()


def test_a_stored_answer_outlives_its_process_and_its_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledgers = [fg.SQLiteLedger(path) for _ in range(2)]
    first = ask(fg.Federation(records(), DOMAIN, ledger=ledgers[0], budget=0.5))
    again = ask(fg.Federation(records(), DOMAIN, ledger=ledgers[1]))
    assert again.stored
    assert (again.value, again.interval, again.notes, again.asked_at) == (
        first.value, first.interval, first.notes, first.asked_at,
    )  # fmt: skip
    for ledger in ledgers:
        ledger.close()


def test_a_fresh_question_is_paid_again_and_replaces_the_stored_answer() -> None:
    federation = fg.Federation(records(), DOMAIN, seed=1)
    first = ask(federation, epsilon=0.001)
    fresh = ask(federation, epsilon=0.001, fresh=True)
    assert (fresh.stored, fresh.charged) == (False, 0.001)
    assert fresh.value != first.value
    assert ask(federation, epsilon=0.001).value == fresh.value


def test_repeated_answers_are_neither_taken_from_the_store_nor_kept_in_it() -> None:
    federation = fg.Federation(records(), DOMAIN)
    assert not ask(federation, repeat=2).stored
    assert not ask(federation).stored
    assert not ask(federation, repeat=2).stored
    assert float(federation.ledger.spent()) == 2.5
