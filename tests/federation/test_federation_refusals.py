"""What cannot be asked is refused in one sentence, before anything is spent or changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.storage.memory import MemoryLedger

DOMAIN = fg.Box(0, 0, 10, 10)
CIRCLE = fg.Circle(5, 5, 4)
SUM: dict[str, Any] = {"kind": "sum", "attribute": "fare", "clip": 10}


def records(**changes: Any) -> fg.Records:
    columns: dict[str, Any] = {"owner": [1, 2], "x": [5, 6], "y": [5, 6], "attributes": {"fare": [1, 2]}}
    return fg.Records(**(columns | changes))


@pytest.mark.parametrize(
    ("details", "fault"),
    [
        ({"epsilon": None}, "needs an epsilon"),
        ({"epsilon": 0}, "greater than 0"),
        ({"epsilon": NOTHING}, "greater than 0"),
        ({"epsilon": -1}, "greater than 0"),
        ({"epsilon": float("nan")}, "greater than 0"),
        ({"epsilon": float("inf")}, "greater than 0"),
        ({"epsilon": "much"}, "must be a number"),
        ({"asked": fg.Circle(50, 50, 4)}, "outside the domain"),
        ({"asked": fg.Rectangle(10, 0, 11, 10)}, "outside the domain"),
        ({"kind": "median"}, "count, people, sum or avg"),
        ({"kind": "sum"}, "needs an attribute"),
        ({"kind": "avg", "attribute": "fare"}, "needs an attribute and a clip"),
        (SUM | {"attribute": "tip"}, "no numeric column 'tip'"),
        (SUM | {"clip": 0}, "clip must be"),
        (SUM | {"clip": float("nan")}, "clip must be"),
        (SUM | {"clip": "high"}, "clip must be"),
        (SUM | {"clip": [1, 2]}, "clip must be"),
        (SUM | {"resolution": 0}, "resolution must be"),
        (SUM | {"resolution": 11}, "clip / resolution"),
        (SUM | {"kind": "avg", "epsilon": 1e-9}, "too small to be split"),
        (SUM | {"kind": "count"}, "count takes none"),
        ({"since": 10}, "no time column"),
        ({"since": 20, "until": 10}, "since before until"),
        ({"until": "yesterday"}, "until must be"),
        ({"method": "cohorts", "cohort_size": 1}, "cohort_size must be a whole number of at least 2"),
        ({"method": "magic"}, "method is one of"),
        ({"method": "fedgroup"}, "needs a plan"),
        ({"in_group": "loose"}, "in-group is"),
        ({"repeat": 0}, "repeat must be"),
        ({"repeat": 1.5}, "repeat must be"),
        ({"sinse": 10}, "has no sinse"),
    ],
)
def test_a_faulty_question_costs_nothing(details: dict[str, Any], fault: str) -> None:
    federation = fg.Federation(records(), DOMAIN, budget=1)
    given = {"kind": "count", "asked": CIRCLE, "epsilon": 0.5} | details
    kind, asked = given.pop("kind"), given.pop("asked")
    with pytest.raises(fg.InvalidInput, match=fault):
        federation.ask(kind, asked, **given)
    with pytest.raises(fg.InvalidInput, match=fault):
        federation.expect(kind, asked, **given)
    assert (federation.ledger.entries(), federation.ledger.spent()) == ([], NOTHING)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"epsilon": None}, "needs an epsilon"),
        ({"epsilon": 0}, "greater than 0"),
        ({"epsilon": NOTHING}, "greater than 0"),
        ({"grid": (0, 5)}, "at least 1x1"),
        ({"grid": fg.Grid(fg.Box(0, 0, 5, 5), 2, 2)}, "must cut the domain"),
        ({"threshold": 1.0}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"graph": "secure", "lower": 0.2}, "belong to the graph hybrid"),
        ({"graph": "nosy"}, "graph is one of"),
        ({"max_group_size": 0}, "0"),
        ({"owner_limits": {7: 3}}, "not in the owner list"),
        ({"leftovers": "cohort", "cohort_size": 1}, "cohort_size must be a whole number of at least 2"),
    ],
)
def test_a_faulty_grouping_costs_nothing(settings: dict[str, Any], fault: str) -> None:
    federation = fg.Federation(records(), DOMAIN, budget=1)
    with pytest.raises(fg.InvalidInput, match=fault):
        federation.group(**{"epsilon": 0.5} | settings)
    assert federation.ledger.entries() == []


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"domain": None}, "needs a public domain"),
        ({"seed": 1, "noise": fg.SeededNoise(1)}, "not both"),
        ({"seed": -1}, "seed"),
        ({"budget": 0}, "budget must be"),
        ({"budget": float("nan")}, "budget must be"),
        ({"neighbours": "close"}, "neighbours is"),
        ({"unit": "owner"}, "need max_records"),
        ({"max_records": 3}, "record takes none"),
        ({"unit": "owner", "max_records": 0}, "at least 1"),
        ({"lonlat": True, "records": records(y=[5, 95])}, "latitude"),
        ({"lonlat": True, "domain": fg.Box(0, 0, 10, 100)}, "latitudes"),
    ],
)
def test_a_faulty_federation_leaves_the_ledger_as_it_was(settings: dict[str, Any], fault: str) -> None:
    ledger = MemoryLedger(Epsilon.of(1))
    given: dict[str, Any] = {"records": records(), "domain": DOMAIN, "budget": 5, "ledger": ledger} | settings
    with pytest.raises(fg.InvalidInput, match=fault):
        fg.Federation(**given)
    assert (ledger.cap, ledger.entries()) == (Epsilon.of(1), [])


def test_a_ledger_that_cannot_be_written_releases_nothing(tmp_path: Path) -> None:
    ledger = fg.SQLiteLedger(tmp_path / "ledger.sqlite", busy_seconds=0.05)
    federation = fg.Federation(records(), DOMAIN, ledger=ledger)
    holder = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable) as refusal:
        federation.count(CIRCLE, epsilon=0.5)
    with pytest.raises(LedgerUnavailable):
        federation.group(epsilon=0.5, grid=(2, 2))
    holder.close()
    assert refusal.value.exit_code == 75
    assert ledger.entries() == []
    ledger.close()


def test_a_budget_is_raised_on_purpose_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with fg.Federation(records(), DOMAIN, ledger=path, budget=2) as federation:
        before = federation.ledger.entries()
    with pytest.raises(fg.InvalidInput, match="raise_budget=True"):
        fg.Federation(records(), DOMAIN, ledger=path, budget=5)
    with fg.Federation(records(), DOMAIN, ledger=path) as federation:
        assert (federation.left, federation.ledger.entries()) == (2, before)
    for budget, raised in ((5, True), (1, False)):
        with fg.Federation(records(), DOMAIN, ledger=path, budget=budget, raise_budget=raised) as federation:
            assert federation.left == budget


@pytest.mark.parametrize("ledger", ["memory", "file"])
def test_a_closed_federation_answers_nothing_and_spends_nothing(ledger: str, tmp_path: Path) -> None:
    kept: Any = MemoryLedger() if ledger == "memory" else fg.SQLiteLedger(tmp_path / "ledger.sqlite")
    with fg.Federation(records(), DOMAIN, ledger=kept, seed=1) as federation:
        plan = federation.group(epsilon=0.1, grid=(2, 2))
        federation.count(CIRCLE, epsilon=0.1)
    before = kept.entries()
    asks: list[Callable[[], Any]] = [
        lambda: federation.count(CIRCLE, epsilon=0.1),
        lambda: federation.count_many([CIRCLE], epsilon=0.1),
        lambda: federation.expect("count", CIRCLE, epsilon=0.1),
        lambda: federation.group(epsilon=0.1, grid=(2, 2)),
        lambda: federation.judge(plan, threshold=0.5),
        lambda: federation.left,
        lambda: federation.spent,
    ]
    for ask in asks:
        with pytest.raises(fg.InvalidInput, match="this federation is closed"):
            ask()
    assert kept.entries() == before
    kept.close()


def test_a_budget_in_a_file_binds_those_who_name_none(tmp_path: Path) -> None:
    ledgers = [fg.SQLiteLedger(tmp_path / "ledger.sqlite") for _ in range(2)]
    fg.Federation(records(), DOMAIN, ledger=ledgers[0], budget=0.5).count(CIRCLE, epsilon=0.3)
    with pytest.raises(fg.BudgetExhausted):
        fg.Federation(records(), DOMAIN, ledger=ledgers[1]).count(CIRCLE, epsilon=0.3, fresh=True)
    for ledger in ledgers:
        ledger.close()


def test_refusals_tell_no_private_values() -> None:
    secret = records(x=[123.456, 6], attributes={"fare": [777.25, np.nan]})
    federation = fg.Federation(secret, DOMAIN, budget=0.1)
    with pytest.raises(fg.BudgetExhausted) as exhausted:
        federation.count(CIRCLE, epsilon=0.5)
    with pytest.raises(fg.InvalidInput) as unknown:
        federation.sum(CIRCLE, attribute="tip", clip=3, epsilon=0.1)
    for error in (exhausted, unknown):
        assert not {"123.456", "777.25", "nan"} & set(str(error.value).replace(";", " ").split())
