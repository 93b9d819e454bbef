"""The audit finds what is wrong, stays silent where all is right, and looks at everything that is released.

Noise is fixed, so that what was found once is found in every run.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_noise import HalfNoise
from scipy import stats

from fedgroup.cli.main import main
from fedgroup.lab import audit
from fedgroup.lab.audit import Verdict, chosen_rows, judged
from fedgroup.lab.audit.bounds import least_epsilon
from fedgroup.lab.audit.events import best_event
from fedgroup.lab.audit.power import Noise, least_noticed
from fedgroup.lab.audit.rows import AuditRow, every_row
from fedgroup.lab.audit.views import question
from fedgroup.lab.audit.worlds import MAP, Setting, table
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import NoiseSource
from fedgroup.questions.graphs import GRAPHS
from fedgroup.questions.kinds import KINDS
from fedgroup.questions.methods import METHODS
from fixed_noise import fixed_noise

ALARM = 1e-3
ROWS = {row.name: row for row in every_row()}
SAMPLE = (
    ("avg of a range, dp, one record, add-remove, epsilon", 0.06),
    ("people of a map, dp, one subject of 3 records in 2 bins, replace, epsilon", 0.12),
    ("signed sum of a range, trusted, one subject of 3 records in 2 bins, add-remove, rho", 0.1),
    ("count of a range, live, alone, one record, add-remove, epsilon", 0.06),
)
"""Rows, and how much of their draws is enough to notice half the noise."""


def sources(name: str) -> Callable[[], NoiseSource]:
    """Return what makes noises that differ from one another, and are the same in every run."""
    made = itertools.count()
    return lambda: fixed_noise(f"{name} {next(made)}")


@pytest.mark.parametrize(("name", "effort"), SAMPLE, ids=lambda each: str(each).replace(" ", "-"))
def test_a_right_row_is_silent_and_half_its_noise_is_noticed(name: str, effort: float) -> None:
    right = judged(ROWS[name], alarm=ALARM, effort=effort, noise=sources(name))
    assert 0.25 * right.charge < right.bound <= right.charge
    fixed = sources(f"half {name}")
    assert judged(ROWS[name], alarm=ALARM, effort=effort, noise=lambda: HalfNoise(fixed())).exceeds


def test_colluders_notice_half_the_shares() -> None:
    name = "count of a range, cohorts, one subject of 3 records in 2 bins, add-remove, epsilon"
    fixed = sources("shares")
    assert judged(ROWS[name], alarm=ALARM, effort=0.1, noise=lambda: HalfNoise(fixed())).exceeds


def test_everything_that_is_released_has_rows() -> None:
    rows = every_row()
    assert {row.release.removeprefix("signed ") for row in rows} >= set(KINDS)
    assert {each.name for each in METHODS.values() if each.private and not each.needs_plan} <= {row.how for row in rows}
    assert {each.name for each in GRAPHS.values() if each.private and each.vectors} <= {row.how for row in rows}
    assert {"trusted", "masked", "live, alone", "live, trusted", "live, masked"} <= {row.how for row in rows}
    assert {row.bins for row in rows} >= {"range", "map", "series"}
    for kind in KINDS:
        alone = [row for row in rows if row.release == kind and row.how == "dp"]
        told = {(each.protection.unit, each.protection.neighbours, each.price.rho is None) for each in alone}
        assert len(told) == 3 * 2 * 2


def test_worlds_differ_by_as_much_as_they_are_said_to() -> None:
    """The moves of every pair, worked out apart from the package, are those that an owner counts."""
    checked = 0
    for row in every_row():
        if row.how != "dp" or row.price.rho is not None or row.bins not in ("range", "map", "series"):
            continue
        kind = row.release.removeprefix("signed ")
        if kind not in KINDS:
            continue
        setting = Setting(kind, row.bins, row.protection, row.release.startswith("signed"))
        for pair in row.pairs:
            found = []
            for seen in (pair.one, pair.other):
                records = table(seen, setting.shape, owners=1, subjects=setting.protection.subjects)
                silo = TableSilo(records, MAP, protection=setting.protection)
                found.append(silo.totals(question(setting, row.price, records)))
            for part, moves in pair.moves.items():
                assert (found[0][part] - found[1][part]).tolist() == list(moves), (row.name, pair.name)
            checked += 1
    assert checked > 200


def test_a_bound_is_that_of_clopper_and_pearson() -> None:
    likely, unlikely, draws = 700, 250, 1_000
    low = stats.binomtest(likely, draws).proportion_ci(1 - 2 * 0.005, method="exact").low
    high = stats.binomtest(unlikely, draws).proportion_ci(1 - 2 * 0.005, method="exact").high
    assert least_epsilon(likely, unlikely, draws, alarm=0.01) == pytest.approx(np.log(low / high))
    assert least_epsilon(0, 5, 10, alarm=0.01) == 0
    assert least_epsilon(10, 10, 10, alarm=0.01) == 0


def test_what_would_be_noticed_is_noticed_that_often() -> None:
    """Of noise that is too small by the stated factor, nine runs of ten raise an alarm, and few below it do."""
    draws, alarm, scale = 2_000, 1e-4, 5.0
    factor = least_noticed([(Noise("laplace", scale, 5),)], draws=draws, alarm=alarm, charge=1.0, delta=0.0)
    assert factor is not None
    for times, least, most in ((factor, 0.8, 1.0), (1.0, 0.0, 0.0)):
        a = np.exp(-times / scale)
        # P(noise >= 0) and P(noise >= 5), as the event is that the answer is at least 5
        often, rarely = 1 / (1 + a), a**5 / (1 + a)
        drawn = np.random.default_rng(7).binomial(draws, [often, rarely], size=(200, 2))
        alarms = np.mean([least_epsilon(int(one), int(other), draws, alarm=alarm) > 1 for one, other in drawn])
        assert least <= alarms <= most


def test_worlds_that_are_alike_are_not_told_apart() -> None:
    same = np.random.default_rng(3).normal(size=(2, 2_000, 3))
    event = best_event(same[0], same[1], delta=0.0).event
    again = np.random.default_rng(4).normal(size=(2, 4_000, 3))
    likely, unlikely = (int(event.holds(side).sum()) for side in (again[::-1] if event.swapped else again))
    assert least_epsilon(likely, unlikely, 4_000, alarm=1e-3) < 0.05


def verdict(row: AuditRow, *, bound: float) -> Verdict:
    return Verdict(row, bound=bound, charge=1.0, noticed=1.25, pair="a <unit> more", draws=1_000, seconds=0.5)


@pytest.mark.parametrize(("bound", "code"), [(0.9, 0), (1.1, 1)])
def test_the_command_reports_for_all_and_fails_when_a_row_exceeds_its_charge(
    bound: float, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "audited", lambda rows, **_: (verdict(row, bound=bound) for row in rows))
    page = tmp_path / "audit.html"
    for more in (["--json"], []):
        monkeypatch.setattr(sys, "argv", ["fedgroup", "audit", "--quick", "--html", str(page), *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == code
    told = capsys.readouterr().out
    facts: dict[str, Any] = json.loads(told.splitlines()[0])
    assert (facts["exceeded"] > 0) == (code == 1)
    assert len(facts["rows"]) == len(chosen_rows(quick=True))
    assert ("EXCEEDS" in page.read_text()) == (code == 1) == ("EXCEEDS" in told)
    assert "colluders" in page.read_text()
