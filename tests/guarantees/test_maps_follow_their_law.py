"""Every bin of a map carries exactly the noise its method states, and no unit can be told from the whole map.

Seeds are fixed; the chance of a false alarm is that of `laws` for each test.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from laws import FALSE_ALARM, audited_epsilon, p_value_of_shape
from scipy import stats

import fedgroup as fg
from fedgroup.owner import role
from fedgroup.privacy.sensitivity import Protection

DOMAIN = fg.Box(0, 0, 10, 10)
SIDE = 100


def federation(owners: int = 24, **settings: Any) -> fg.Federation:
    """Owners of three records each, in pairs at twelve places."""
    code = np.arange(owners * 3) % owners
    place = code // 2 * 10 / 12 + 0.1
    return fg.Federation(fg.Records(owner=code, x=place, y=place, owners=range(owners)), DOMAIN, seed=31, **settings)


def planned(joined: fg.Federation, in_group: str) -> dict[str, Any]:
    return {"method": "fedgroup", "in_group": in_group, "plan": joined.group(graph="exact", max_group_size=4)}


METHODS: dict[str, Callable[[fg.Federation], dict[str, Any]]] = {
    "dp": lambda _: {"method": "dp"},
    "trusted": lambda joined: planned(joined, "trusted"),
    "masked": lambda joined: planned(joined, "masked"),
    "cohorts": lambda _: {"method": "cohorts", "cohort_size": 6},
    "mpc": lambda _: {"method": "mpc"},
}


def noise_of(method: str, **said: Any) -> tuple[Any, fg.PrivateMap]:
    joined = federation(evaluation=True)
    details = METHODS[method](joined)
    made = joined.map(grid=(SIDE, SIDE), epsilon=0.5, **details, **said)
    return made.values - joined.map(grid=(SIDE, SIDE), method="exact").values, made


def holds(noise: Any, made: fg.PrivateMap, scale: Fraction) -> bool:
    """Whether the noise of all bins has the law that the map states, and neighbouring bins are independent."""
    shape = Fraction(made.noises).limit_denominator(10_000)
    apart = stats.spearmanr(noise[:-1], noise[1:]).pvalue
    return bool(p_value_of_shape(noise, scale, shape) > FALSE_ALARM and apart > FALSE_ALARM)


@pytest.mark.parametrize("method", METHODS)
def test_every_bin_has_the_noise_of_the_method(method: str) -> None:
    noise, made = noise_of(method)
    assert made.scales == {"count": 2.0}
    assert holds(noise, made, Fraction(2))


@pytest.mark.parametrize("method", ["cohorts", "mpc", "masked"])
def test_noise_is_the_same_where_masks_are_left_out(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(role, "MOST_MASKS", 1)
    noise, made = noise_of(method)
    assert any("masks were left out" in note for note in made.notes)
    assert holds(noise, made, Fraction(2))


def test_a_planted_lack_of_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Protection, "of", lambda *_: Fraction(9, 10))
    noise, made = noise_of("dp")
    assert not holds(noise, made, Fraction(2))


def test_all_bins_at_once_are_within_the_width_that_is_stated_for_all() -> None:
    joined = federation(evaluation=True)
    exact = joined.map(grid=(8, 8), method="exact").values
    made = [joined.map(grid=(8, 8), epsilon=0.5, fresh=True) for _ in range(800)]
    widest = np.array([np.abs(each.values - exact).max() for each in made])
    covered = np.mean(widest <= made[0].half_width_all)
    inside = np.mean([(each.low <= exact) & (exact <= each.high) for each in made])
    # 4 standard errors of a share of 0.95 in 800 maps; widths are whole, so both cover a little more
    assert 0.95 - 4 * 0.0077 < covered < 0.99
    assert 0.94 < inside < 0.975


# --- audits -----------------------------------------------------------------------------------------------------------

EPSILON = 1.0
ROW = tuple[float, float, str, int]


def released(rows: list[ROW], kind: str, method: str, *, owners: int, draws: int, **settings: Any) -> Any:
    """Many releases of a map of four cells, a row each; a record is x, y, its subject and its owner."""
    x, y, subject, owner = zip(*rows, strict=True) if rows else ((), (), (), ())
    records = fg.Records(owner=np.array(owner, int), x=x, y=y, subject=np.array(subject, object), owners=range(owners))
    joined = fg.Federation(records, DOMAIN, seed=100 + len(rows), **settings)
    query, how, _ = joined._map_understood(kind, EPSILON, {"grid": (2, 2), "method": method})
    answers, _ = joined._owners.answer(query, how.terms, charges=joined._charges(query, how, draws), times=draws)
    totals = [joined._provider.combine(each) for each in answers]
    return np.stack([each.parts[query.parts[0]] for each in totals])


CARS = [(1.0, 1.0, "a", 0), (9.0, 1.0, "a", 0), (1.0, 9.0, "a", 0), (9.0, 9.0, "a", 0)]
"""One car in all four cells."""
FLEET = [(1.0, 1.0, f"car {at}", 0) for at in range(6)]
"""Six cars of one owner in one cell."""
UNITS: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "one record": ("count", [CARS[0]], {}),
    "one record, people": ("people", [CARS[0]], {}),
    "one subject, records": ("count", CARS, {"unit": "subject", "max_records": 3}),
    "one subject in two bins": ("people", CARS, {"unit": "subject", "max_records": 9, "max_bins": 2}),
    "one owner of many subjects": ("people", FLEET, {"unit": "owner", "max_records": 4}),
    "one owner, records": ("count", FLEET, {"unit": "owner", "max_records": 4}),
}


def audited(name: str, method: str = "dp", *, owners: int = 1, draws: int = 8_000) -> float:
    """The epsilon that is shown by the event that the unit makes likelier by most: its bins hold all of it."""
    kind, unit, settings = UNITS[name]
    both = (released(rows, kind, method, owners=owners, draws=draws, **settings) for rows in (unit, []))
    with_it, without = both
    moved = np.rint(with_it.mean(axis=0) - without.mean(axis=0))
    likely, unlikely = (
        int(np.all(values[:, moved > 0] >= moved[moved > 0], axis=1).sum()) for values in (with_it, without)
    )
    return audited_epsilon(likely, unlikely, draws)


@pytest.mark.parametrize("name", UNITS)
def test_no_unit_is_told_apart_by_more_than_epsilon(name: str) -> None:
    assert 0.6 * EPSILON < audited(name) <= EPSILON


@pytest.mark.parametrize("name", ["one record", "one subject in two bins"])
def test_no_unit_is_told_apart_behind_masks(name: str) -> None:
    assert audited(name, "mpc", owners=3, draws=2_000) <= EPSILON


@pytest.mark.parametrize("name", UNITS)
def test_the_audit_finds_two_thirds_of_the_noise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Protection.of
    monkeypatch.setattr(Protection, "of", lambda *given: Fraction(2 * usual(*given), 3))
    assert audited(name) > EPSILON
