"""Ladders of maps: long windows shape short ones, a long time is read from few maps, and nothing is charged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import fedgroup as fg
from fedgroup.errors import InvalidQuery
from fedgroup.maps.free import NOTHING
from fedgroup.maps.ladder import Ladder, Pixels, Rung, Shaped, before, climbed, shape_of

DAY = "2026-03-{:02}"
CORNER = fg.Rectangle(0, 0, 2_500, 2_500)
DAYS = [(2, 9), (9, 10), (10, 11)]
"""A week, and two days after it."""


@pytest.fixture(scope="module")
def ladder() -> tuple[Ladder, float]:
    """Maps of a week and of two days after it, of records that all lie in one corner of wherever they are."""
    pick = np.random.default_rng(8)
    many = 4_000
    day = np.where(pick.uniform(size=many) < 0.9, pick.integers(2, 9, many), pick.integers(9, 11, many))
    place = pick.uniform(0, 1_200, (2, many))  # in the south-west of a domain of 20 km
    records = fg.Records(
        pick.integers(0, 6, many), place[0], place[1], time=[f"{DAY.format(each)}T12:00" for each in day]
    )
    with fg.Federation(records, fg.Box(0, 0, 20_000, 20_000), seed=4) as federation:
        maps = tuple(
            federation.publish(
                epsilon=epsilon, method="mpc", records=guess, since=DAY.format(first), until=DAY.format(last)
            )
            for (first, last), epsilon, guess in zip(DAYS, (0.5, 0.05, 0.05), (3_600, 200, 200), strict=True)
        )
        return Ladder(maps), float(((day == 9) & (place[0] < 600) & (place[1] < 600)).sum())


def test_an_even_shape_is_no_shape(ladder: tuple[Ladder, float]) -> None:
    made = ladder[0].maps[1]
    pixels = Pixels(made.public_map.domain)
    even = Shaped(made.atlas, np.ones(pixels.side**2), pixels)
    for asked in (CORNER, fg.Circle(4_000, 6_000, 5_000), fg.Rectangle(0, 0, 20_000, 20_000)):
        plain = made.atlas.weights(asked)
        shaped = even.weights(asked, pixels.covered_by(asked, made.public_map))
        assert made.atlas.value(shaped) == pytest.approx(made.atlas.value(plain), abs=1e-6 * 4_000)
        assert made.atlas.noise(shaped).variance == pytest.approx(made.atlas.noise(plain).variance, rel=1e-6)


def test_a_day_is_shaped_by_the_week_before_it(ladder: tuple[Ladder, float]) -> None:
    maps, true = ladder
    small, day = fg.Rectangle(0, 0, 600, 600), maps.maps[1]
    alone = day.count(small)
    shaped = maps.count(small, since=DAY.format(9), until=DAY.format(10))
    assert abs((shaped.value or 0) - true) < 0.7 * abs((alone.value or 0) - true)
    assert shaped.interval[0] <= true <= shaped.interval[1]
    assert (shaped.charged, shaped.epsilon) == (0, 0.5)
    pixels = Pixels(day.public_map.domain)
    shape = shape_of(maps.maps[0].atlas, pixels).reshape(pixels.side, -1)
    assert shape[:16, :16].sum() > 100 * shape[-16:, -16:].sum() > 0


def test_a_long_time_is_read_from_the_longest_maps_that_make_it_up(ladder: tuple[Ladder, float]) -> None:
    maps, _ = ladder
    whole = maps.count(fg.Rectangle(0, 0, 20_000, 20_000), since=DAY.format(2), until=DAY.format(11))
    assert whole.value == pytest.approx(4_000, abs=400)
    assert any("3 maps" in note for note in whole.notes)
    assert NOTHING not in whole.notes
    far = maps.count(fg.Rectangle(15_000, 15_000, 20_000, 20_000), since=DAY.format(2), until=DAY.format(11))
    assert far.interval[0] == 0
    assert far.notes.count(NOTHING) == 1
    with pytest.raises(InvalidQuery, match="do not make up"):
        maps.count(CORNER, since=DAY.format(3), until=DAY.format(9))
    first, *others = (replace(each, private=True) for each in maps.maps)
    asked = {"since": DAY.format(2), "until": DAY.format(11)}
    assert Ladder((first, *others)).count(CORNER, **asked).private
    assert not Ladder((first, maps.maps[1], others[1])).count(CORNER, **asked).private
    with pytest.raises(InvalidQuery, match="one kind"):
        Ladder(())
    with pytest.raises(InvalidQuery, match="since before until"):
        maps.count(CORNER, since=DAY.format(9), until=DAY.format(9))


def test_a_long_time_tells_what_its_maps_cost_together(ladder: tuple[Ladder, float]) -> None:
    rhos = (0.1, 0.3, 0.2)  # a record has one time, and pays for one of them
    maps = tuple(replace(made, rho=rho, delta=rho * 1e-9) for made, rho in zip(ladder[0].maps, rhos, strict=True))
    told = Ladder(maps).count(CORNER, since=DAY.format(2), until=DAY.format(11))
    assert (told.epsilon, told.rho, told.delta) == (0.5, 0.3, 0.3e-9)
    assert (
        Ladder((replace(maps[0], rho=None), *maps[1:])).count(CORNER, since=DAY.format(2), until=DAY.format(9)).rho
        is None
    )


def test_unevenness_adds_up_while_noise_adds_its_squares() -> None:
    days = [(day, day + 1) for day in range(4)]
    found = climbed(0, 4, days, [Rung(10.0, 9.0, 2.0, 4.0, 6.0, shaped=False)] * 4, noises=100)
    assert (found.value, found.noise, found.uneven) == pytest.approx((40.0, 6.0, 8.0))
    assert found.interval == pytest.approx((40 - math.hypot(1.96 * 6, 16), 40 + math.hypot(1.96 * 6, 24)), abs=0.1)
    shaped = climbed(0, 4, days, [Rung(10.0, 9.0, 2.0, 4.0, 6.0, shaped=True)] * 4, noises=100)
    assert 4 < shaped.uneven < 0.7 * found.uneven
    assert climbed(0, 4, days, [Rung(-3.0, 9.0, 0.0, 0.0, 0.0, shaped=False)] * 4, noises=100).interval[0] == 0


def test_what_may_be_above_in_a_window_that_is_taken_off_is_below_in_the_sum() -> None:
    windows = [(0, 4), (0, 3), (3, 4)]
    rungs = [Rung(40.0, 1.0, 0.0, 0.0, 0.0, shaped=False), Rung(0.0, 1e9, 0.0, 0.0, 0.0, shaped=False)]
    found = climbed(0, 3, windows, [*rungs, Rung(10.0, 1.0, 5.0, 2.0, 20.0, shaped=False)], noises=100)
    low, high = found.interval
    assert found.value == pytest.approx(30, abs=0.1)
    assert found.value - low > 20 > 4 > high - found.value


def test_windows_are_shaped_by_the_latest_longer_one() -> None:
    windows = [(0, 7), (7, 14), *((day, day + 1) for day in range(21))]
    assert [before(number, windows) for number in (0, 2, 9, 16)] == [None, None, 0, 1]
