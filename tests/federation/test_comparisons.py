"""Limits on secure comparisons are exact and total: one way an epoch, and so many in all plans of a ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.epsilon import LARGEST, NANO, Epsilon
from fedgroup.errors import ComparisonsExhausted
from fedgroup.storage.memory import MemoryLedger

DOMAIN = fg.Box(0, 0, 10, 10)
HUGE = 1_000_000


def federation(ledger: Any = None, *, domain: fg.Box = DOMAIN, **settings: Any) -> fg.Federation:
    code = np.arange(60) % 12
    place = (code % 5) * 2.0 + 1
    return fg.Federation(fg.Records(owner=code, x=place, y=place), domain, ledger=ledger, **settings)


def hybrid(asked: fg.Federation, **settings: Any) -> fg.Plan:
    """Return a plan all of whose pairs are in doubt, and without noise but for a chance below 1e-400000."""
    given = {"graph": "hybrid", "epsilon": HUGE, "grid": (3, 3), "lower": -1, "upper": 1}
    return asked.group(**given | settings)


@pytest.mark.parametrize(
    ("opened", "settings"),
    [
        ({}, {"threshold": 0.5000001}),
        ({}, {"grid": (3, 4)}),
        ({"domain": fg.Box(0, 0, 10, 10.0000001)}, {}),
        ({"lonlat": True}, {}),
    ],
)
def test_owners_are_compared_over_one_grid_of_one_domain_with_one_threshold_to_the_last_digit(
    opened: dict[str, Any], settings: dict[str, Any]
) -> None:
    ledger = MemoryLedger()
    hybrid(federation(ledger))
    with pytest.raises(fg.InvalidInput, match="compared otherwise"):
        hybrid(federation(ledger, **opened), **settings)
    assert hybrid(federation(ledger)).settings["comparisons"] > 0


def test_comparisons_of_all_plans_of_a_ledger_are_capped_together() -> None:
    ledger = MemoryLedger()
    made = [hybrid(federation(ledger), comparisons=100).settings["comparisons"]]
    while sum(made) < 100:
        made.append(hybrid(federation(ledger)).settings["comparisons"])
    assert sum(made) == 100
    assert made[0] == made[1] > made[-1]  # the last one got what was left
    spent = ledger.spent()
    with pytest.raises(ComparisonsExhausted):
        hybrid(federation(ledger))
    assert ledger.spent() == spent


def test_a_cap_of_comparisons_is_raised_on_purpose_only() -> None:
    ledger = MemoryLedger()
    hybrid(federation(ledger), comparisons=5)
    with pytest.raises(fg.InvalidInput, match="raise_budget=True"):
        hybrid(federation(ledger), comparisons=6)
    assert hybrid(federation(ledger, raise_budget=True), comparisons=60).settings["comparisons"] > 5


def test_a_secure_plan_is_refused_if_it_might_compare_more_than_is_left() -> None:
    ledger = MemoryLedger()
    hybrid(federation(ledger), comparisons=66)
    with pytest.raises(ComparisonsExhausted):
        federation(ledger).group(graph="secure", grid=(3, 3))


def test_a_plan_that_its_budget_refuses_gives_its_comparisons_back() -> None:
    ledger = MemoryLedger()
    with pytest.raises(fg.BudgetExhausted):
        hybrid(federation(ledger, budget=0.5), epsilon=1, comparisons=20)
    ledger.set_cap(Epsilon(LARGEST * NANO))
    assert hybrid(federation(ledger)).settings["comparisons_allowed"] == 20
