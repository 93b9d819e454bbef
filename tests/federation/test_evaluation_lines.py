"""An exact answer is an event: it is for evaluation, said on purpose, and leaves a line of its own in the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fedgroup as fg
from fedgroup.privacy.budget import evaluation_of
from fedgroup.storage.memory import MemoryLedger

DOMAIN = fg.Box(0, 0, 10, 10)
ALL = fg.Rectangle(0, 0, 10, 10)
RECORDS = fg.Records(owner=[1, 2], x=[5, 6], y=[5, 6], owners=[1, 2])
PLAN = fg.Federation(RECORDS, DOMAIN).group(epsilon=0.1, grid=(2, 2))

EXACT: dict[str, Callable[[fg.Federation], Any]] = {
    "method": lambda asked: asked.count(ALL, method="exact"),
    "evaluate": lambda asked: asked.count(ALL, epsilon=0.5, evaluate=True),
    "map": lambda asked: asked.map(grid=(2, 2), method="exact"),
    "evaluated map": lambda asked: asked.map(grid=(2, 2), epsilon=0.5, evaluate=True),
    "graph": lambda asked: asked.group(graph="exact", grid=(2, 2)),
    "judge": lambda asked: asked.judge(PLAN, threshold=0.5),
}


def evaluations(asked: fg.Federation) -> list[str]:
    lines = [entry for entry in asked.ledger.entries() if entry.purpose == "evaluation"]
    assert all(entry.epsilon.nano == 0 for entry in lines)
    return [entry.question for entry in lines]


@pytest.mark.parametrize("what", EXACT)
def test_a_private_federation_shows_nothing_exact_and_is_charged_nothing(what: str) -> None:
    asked = fg.Federation(RECORDS, DOMAIN)
    with pytest.raises(fg.InvalidQuery, match="evaluation=True"):
        EXACT[what](asked)
    assert asked.ledger.entries() == []


@pytest.mark.parametrize("opened", [{"evaluation": True}, {"seed": 1}, {"noise": fg.FloatingPointLaplace(1)}])
@pytest.mark.parametrize(
    ("what", "line"),
    [("method", "count in the rectangle"), ("evaluate", "count in the rectangle"),
     ("map", "count"), ("evaluated map", "true values"), ("graph", "exact graph over 2x2"),
     ("judge", "in plan ")],
)  # fmt: skip
def test_an_evaluation_leaves_one_line_of_its_own(what: str, line: str, opened: dict[str, Any], tmp_path: Path) -> None:
    with fg.Federation(RECORDS, DOMAIN, ledger=tmp_path / "ledger.db", **opened) as asked:
        EXACT[what](asked)
        (told,) = evaluations(asked)
        assert line in told


def test_an_exhausted_budget_does_not_hide_an_evaluation() -> None:
    asked = fg.Federation(RECORDS, DOMAIN, budget=0.5, evaluation=True)
    asked.count(ALL, epsilon=0.5)
    assert asked.count(ALL, method="exact").value == 2
    assert len(evaluations(asked)) == 1
    assert asked.left == 0


def test_a_true_value_leaves_after_its_line_is_kept(tmp_path: Path) -> None:
    class Broken(MemoryLedger):
        def charge(self, charges: Any) -> Any:
            raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        fg.Federation(RECORDS, DOMAIN, ledger=Broken(), evaluation=True).count(ALL, method="exact")


def test_an_exact_answer_to_evaluate_is_one_event() -> None:
    asked = fg.Federation(RECORDS, DOMAIN, evaluation=True)
    answer = asked.count(ALL, method="exact", evaluate=True)
    assert answer.value == answer.true_value == 2
    assert len(evaluations(asked)) == 1


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_an_evaluation_does_not_settle_what_a_ledger_protects(kind: str, tmp_path: Path) -> None:
    ledger: Any = MemoryLedger() if kind == "memory" else fg.SQLiteLedger(tmp_path / "ledger.db")
    ledger.charge([evaluation_of("a look")])
    owners = fg.Federation(RECORDS, DOMAIN, ledger=ledger, unit="owner", max_records=1)
    owners.count(ALL, epsilon=0.5)
    fg.Federation(RECORDS, DOMAIN, ledger=ledger, evaluation=True).count(ALL, method="exact")
    assert [entry.purpose for entry in ledger.entries()] == ["evaluation", "query", "evaluation"]
    ledger.close()
