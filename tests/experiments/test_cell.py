"""One cell: errors fit the theory, spending is what the ledger says, and a seed repeats everything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fedgroup.lab.experiments.costs import comparison_bytes, cost_of
from fedgroup.lab.experiments.measuring import measure
from fedgroup.lab.experiments.methods import METHODS
from fedgroup.lab.experiments.scenes import open_scenes
from fedgroup.lab.experiments.trial import QUICK

TRIAL = replace(QUICK, owners=80)
TIMES = ("query_s", "setup_s")


@pytest.fixture(scope="module")
def stage():
    (scene,) = open_scenes(None, TRIAL)
    return scene.stage(80, 0)


@pytest.mark.parametrize("name", METHODS)
def test_errors_are_those_that_the_noise_makes(stage, name):
    found = measure(stage, METHODS[name], replace(TRIAL, repeats=40), epsilon=0.3)
    # 480 answers: a mean absolute error strays by 3.5 % (Laplace: 4.6 %) of itself, so 20 % are 4 deviations and more.
    assert found["mae"] == pytest.approx(found["expected_mae"], rel=0.2)
    assert 1 <= found["groups"] <= 80


@pytest.mark.parametrize(
    ("name", "spent"),
    [("DP", 0.3), ("FG", 0.6), ("FG likely", 0.6), ("FG-C", 0.3), ("cohorts", 0.3), ("DP, total of 10", 0.33)],
)
def test_what_was_spent_is_read_from_the_ledger(stage, name, spent):
    assert measure(stage, METHODS[name], TRIAL, epsilon=0.3)["epsilon_spent"] == pytest.approx(spent)


def test_the_same_cell_gives_the_same_numbers(stage):
    for name in ("FG", "FG mixed", "cohorts"):
        first, second = (measure(stage, METHODS[name], TRIAL, epsilon=0.3) for _ in range(2))
        assert {k: v for k, v in first.items() if k not in TIMES} == {k: v for k, v in second.items() if k not in TIMES}


def test_compared_groups_misplace_nobody_and_masked_ones_are_not_judged(stage):
    hybrid = measure(stage, METHODS["FG hybrid"], TRIAL, epsilon=0.3)
    assert hybrid["misplaced_share"] == 0
    assert 0 < hybrid["comparisons"] <= hybrid["in_doubt"]
    assert "misplaced_share" not in measure(stage, METHODS["FG masked"], TRIAL, epsilon=0.3)


def test_a_comparison_takes_the_bytes_of_its_transfers_and_gates():
    sent = comparison_bytes(25)
    # 25 cells of 8 bits and 32 bits of a share: 16 bytes a transfer to ask, 4 to answer products; 992 of gates.
    assert 2_700 < sent.pair < 6_500
    assert sent.session > 8_000


def test_costs_follow_from_the_method(stage):
    alone = cost_of(METHODS["DP"], None, owners=80, cells=25)
    masked = cost_of(METHODS["cohorts"], None, owners=80, cells=25)
    assert (alone.setup_bytes, alone.question_rounds) == (0, 1)
    assert (masked.setup_bytes, masked.setup_rounds, masked.question_rounds) == (80, 2, 2)
