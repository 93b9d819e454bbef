"""`fedgroup regroup` against a service on a port: every private graph, for operators only, charged once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fedgroup.cli.main import main
from fedgroup.epsilon import Epsilon
from fedgroup.privacy.accounting import Accounting
from fedgroup.rho import Delta

Running = Callable[..., Any]
GRID = ("--grid", "2x2", "--leftovers", "alone")


@pytest.fixture
def regroup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def run(up: Any, *words: object, who: str = "op") -> tuple[int, str, str]:
        monkeypatch.setenv("FEDGROUP_URL", up.url)
        monkeypatch.setenv("FEDGROUP_TOKEN", up.here.tokens[who])
        monkeypatch.setattr(sys, "argv", ["fedgroup", "regroup", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_operators_group_owners_anew(running: Running, regroup: Any) -> None:
    with running(owners=8) as up:
        code, out, err = regroup(up, "--epsilon", 20, "--graph", "topcell", *GRID, "--key", "k", "--json")
        assert code == 0, err
        plan = json.loads(out)
        assert (plan["groups"], plan["sizes"], plan["epsilon"], "members" in plan) == (2, [4, 4], 20, False)
        assert regroup(up, "--epsilon", 20, "--graph", "topcell", *GRID, "--key", "k")[0] == 0
        assert up.here.spent("op") == Epsilon.of(20)
        code, out, _ = regroup(up, "--epsilon", 20, *GRID)
        assert (code, "epsilon-DP" in out) == (0, True)
        assert regroup(up, "--epsilon", 1, who="ann")[0] == 2
        assert regroup(up, "--graph", "topcell")[0] == 2
        assert regroup(up, "--epsilon", 1, "--graph", "exact")[0] == 2
        assert regroup(up, "--epsilon", 1, "--graph", "topcell", "--comparisons", 3)[0] == 2
        assert up.here.spent("op") == Epsilon.of(40)


def test_a_plan_has_a_rho_for_a_price(running: Running, regroup: Any) -> None:
    with running(owners=4, accounting=Accounting(Delta.of("1e-6"))) as up:
        code, out, err = regroup(up, "--rho", 2, "--graph", "topcell", *GRID)
        assert (code, "cost 2 (rho 2) for every owner" in out) == (0, True), err
        assert regroup(up, "--rho", 2, "--epsilon", 2, *GRID)[0] == 2
        assert up.here.spent("op") == Epsilon.of(2)


@pytest.mark.parametrize(("graph", "price"), [("hybrid", ("--epsilon", 0.05)), ("secure", ())])
def test_owners_that_opted_in_are_compared(graph: str, price: tuple[Any, ...], running: Running, regroup: Any) -> None:
    with running(owners=6, comparisons=20) as up:
        code, out, err = regroup(up, *price, "--graph", graph, *GRID, "--json")
        assert code == 0, err
        plan = json.loads(out)
        assert plan["sizes"] == [3, 3]
        assert "not epsilon-DP" in plan["guarantee"]
        spent = Epsilon.of(price[1]) if price else Epsilon(0)
        assert up.here.spent("op") == spent
        assert {owner.ledger.spent() for owner in up.here.city.owners.values()} == {spent}
        assert max(owner.ledger.comparisons() for owner in up.here.city.owners.values()) >= 1


def test_owners_that_did_not_opt_in_are_compared_with_nobody(running: Running, regroup: Any) -> None:
    with running(owners=4) as up:
        code, out, err = regroup(up, "--graph", "secure", *GRID, "--json")
        assert code == 0, err
        assert json.loads(out)["sizes"] == []
        assert {owner.ledger.comparisons() for owner in up.here.city.owners.values()} == {0}
