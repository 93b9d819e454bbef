"""Plain maps of windows, added up over a tree: right, as sharp as they can be, and charged window by window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.errors import BudgetExhausted, InvalidQuery
from fedgroup.maps.private_map import PrivateMap
from fedgroup.maps.tree import Tree
from fedgroup.maps.window_sums import WindowMaps

HOURS = 32
START = 1_772_409_600
"""2026-03-02, in seconds: where windows of all lengths up to 32 hours begin."""
BOX = fg.Box(0, 0, 1_000, 1_000)
LEVEL = {"pure": {"epsilon": 0.25}, "zcdp": {"rho": 0.01}}


def hour(number: int) -> int:
    return START + number * 3_600


def tree_of_maps(accounting: str, *, side: int = 16) -> tuple[fg.Federation, list[PrivateMap], Any]:
    """A federation with 32 hours of records, maps of every hour and of 16 hours, and the exact map of a time."""
    pick = np.random.default_rng(4)
    place, when = pick.uniform(0, 1_000, (2, 3_000)), pick.integers(0, HOURS * 3_600, 3_000)
    records = fg.Records(pick.integers(0, 5, 3_000), *place, time=START + when)
    counted = {} if accounting == "pure" else {"accounting": "zcdp", "delta": 1e-6}
    federation = fg.Federation(records, BOX, budget=40, per="hour", window_budget=5, seed=6, **counted)
    maps = [
        federation.map(grid=(side, side), method="mpc", since=hour(first), until=hour(last), **LEVEL[accounting])
        for first, last in Tree(2).windows(HOURS)
    ]

    def true(first: int, last: int) -> Any:
        inside = (when >= first * 3_600) & (when < last * 3_600)
        return np.histogram2d(place[1][inside], place[0][inside], bins=side, range=[[0, 1_000]] * 2)[0].ravel()

    return federation, maps, true


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_a_sum_of_windows_is_as_sharp_as_told_and_told_with_what_a_record_lost(accounting: str) -> None:
    federation, maps, true = tree_of_maps(accounting)
    windows = WindowMaps(tuple(maps))
    spent = federation.spent
    misses, squares = [], []
    for first, last in ((0, 32), (0, 15), (5, 27), (3, 4), (14, 31)):
        made = windows.between(hour(first), hour(last))
        off = made.values - true(first, last)
        law = made.noises * one_variance(maps[0])
        misses.append(np.mean((true(first, last) < made.low) | (true(first, last) > made.high)))
        squares.append(np.mean(off**2) / law)
        assert np.abs(off).max() <= made.half_width_all
        assert (made.charged, made.query.since, made.query.until) == (0, hour(first) * 10**6, hour(last) * 10**6)
    # 5 x 256 bins, of which windows share some noise: 4 standard deviations
    assert np.mean(misses) == pytest.approx(0.05, abs=0.03)
    assert np.mean(squares) == pytest.approx(1, abs=0.25)
    assert federation.spent == spent
    assert made.noises < 9 * maps[0].noises  # of 17 hours, added up one by one
    if accounting == "pure":
        assert made.epsilon == pytest.approx(0.5)
    else:
        assert made.rho == pytest.approx(0.02)


def one_variance(made: PrivateMap) -> float:
    """Return the variance of the noise in a bin of one map."""
    (scale,) = made.scales.values()
    return 2 * scale**2 if made.query.rho is None else 1 / (2 * 0.01)


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_every_window_is_charged_a_price_a_level_and_no_more(accounting: str) -> None:
    federation, _, _ = tree_of_maps(accounting, side=2)
    ledger = federation.ledger
    price = LEVEL[accounting].get("epsilon", 0) * 1e9 + LEVEL[accounting].get("rho", 0) * 1e12
    begin = ledger.window_budget.window_of(START * 10**6)
    charged = [ledger.windows_spent().at(begin + at) for at in range(-1, HOURS + 1)]
    assert charged == [0, *[2 * price] * HOURS, 0]
    with federation, pytest.raises(BudgetExhausted):
        federation.map(grid=(2, 2), method="mpc", since=hour(3), until=hour(4), epsilon=5)


def test_maps_that_do_not_add_up_are_refused() -> None:
    federation, maps, _ = tree_of_maps("pure", side=2)
    about = {"since": hour(0), "until": hour(1), "method": "mpc"}
    other = federation.map(grid=(3, 3), epsilon=0.1, **about)
    series = federation.map(grid=(2, 2), epsilon=0.1, every="15min", **about)
    people = replace(maps[0], query=replace(maps[0].query, kind="people"))
    untimed = replace(maps[0], query=replace(maps[0].query, until=None))
    for wrong, why in (((), "one kind"), ((maps[0], other), "one kind"), ((series,), "series"), ((people,), "people")):
        with pytest.raises(InvalidQuery, match=why):
            WindowMaps(tuple(wrong))
    with pytest.raises(InvalidQuery, match="since and until"):
        WindowMaps((untimed,))
    with pytest.raises(InvalidQuery, match="do not make up"):
        WindowMaps(tuple(maps)).between(hour(0), hour(33))
