"""What neighbours' answers differ by, over any series of questions, is within what their windows were charged.

Answers are counted as owners count them, and a difference costs what its noise is calibrated to. A wrong rate, a window
that is left out, or one that is charged for its neighbour shows as a series that costs more than was charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import audited_epsilon

from fedgroup.epsilon import NANO, Epsilon
from fedgroup.federation import Federation
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.windows import ORIGIN, WindowBudget, span_of
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.rho import PICO, Rho
from fedgroup.space import Box, Grid, PublicMap, Rectangle
from fedgroup.storage.memory import MemoryLedger

HOUR = 3_600_000_000
QUARTER = HOUR // 4
PLACES = 3
WINDOWS = 4
MAP = PublicMap(Box(0, 0, PLACES, 1))
ZCDP = Accounting.of("zcdp", 1e-6)
COST = Epsilon(100_000_000)
RHO = Rho.of("0.01")

PROTECTIONS = [
    Protection(neighbours, unit, most, bins, subjects=subjects)
    for neighbours in ("add-remove", "replace")
    for unit, most, bins, subjects in [
        ("record", None, None, True),
        ("subject", 2, 2, True),
        ("owner", 2, None, True),
        ("owner", 2, 2, False),
    ]
]


@dataclass(frozen=True)
class Row:
    """A record: whose, where, in which quarter of an hour, with what value."""

    subject: int
    place: int
    quarter: int
    value: int

    @property
    def window(self) -> int:
        return self.quarter // 4


rows = st.builds(
    Row, st.integers(0, 1), st.integers(0, PLACES - 1), st.integers(0, 4 * WINDOWS - 1), st.sampled_from([-3, 1, 3])
)


@st.composite
def questions(draw: Any) -> RangeQuery:
    """A question about some places and maybe some time, cut into steps or not, at a price of either kind."""
    kind = draw(st.sampled_from(["count", "people", "sum", "avg"]))
    measure = Measure("value", 3, draw(st.booleans()), 1) if kind in ("sum", "avg") else None
    places = draw(st.sampled_from([Grid(MAP.domain, PLACES, 1), Rectangle(0, 0, 2, 1)]))
    begin, end = sorted(draw(st.tuples(st.integers(0, 15), st.integers(0, 15))))
    since, until = ORIGIN + begin * QUARTER, ORIGIN + (end + 1) * QUARTER
    cut = draw(st.sampled_from(["never", "from", "to", "within", "steps"]))
    every = draw(st.sampled_from([1, 2, 3, 4, 6, 8]))
    if cut == "steps" and every > end + 1 - begin:
        cut = "within"
    bounds = {
        "since": since if cut in ("from", "within", "steps") else None,
        "until": until if cut in ("to", "within", "steps") else None,
        "every": every * QUARTER if cut == "steps" else None,
    }
    rho = RHO if draw(st.booleans()) else None
    return RangeQuery(kind, places, COST, measure, rho=rho, **bounds)


def counted(table: list[Row], query: RangeQuery, protection: Protection) -> dict[str, np.ndarray]:
    """The exact answer of an owner with this table."""
    columns = np.array([(row.subject, row.place, row.quarter, row.value) for row in table]).reshape(-1, 4)
    records = Records(
        ["us"] * len(table),
        columns[:, 1] + 0.5,
        np.full(len(table), 0.5),
        {"value": columns[:, 3].astype(float)},
        time=(ORIGIN + columns[:, 2] * QUARTER).astype("datetime64[us]"),
        owners=["us"],
        subject=[f"s{each}" for each in columns[:, 0]] if protection.subjects else None,
    )
    return TableSilo(records, MAP, protection=protection).totals(query)


def loss(ours: list[Row], theirs: list[Row], query: RangeQuery, protection: Protection, counts: Accounting) -> Fraction:
    """What the answer to a question tells one table from another by: epsilon, or rho."""
    one, other = counted(ours, query, protection), counted(theirs, query, protection)
    total = Fraction(0)
    for part in query.parts:
        moved = [int(each) for each in np.abs(one[part] - other[part]) if each]
        if query.rho_of_part is not None:
            squares = Fraction(sum(each * each for each in moved), protection.squared(part, query))
            total += query.rho_of_part.exact * squares
            continue
        each = [query.epsilon_of_part.exact * Fraction(bins, protection.of(part, query)) for bins in moved]
        total += sum(each) if counts == PURE else sum(one * one / 2 for one in each)
    return total


def left_and_entered(draw: Any, table: list[Row], protection: Protection, count: int) -> tuple[list[Row], list[range]]:
    """A neighbour of a table, and the runs of windows in which they differ."""
    first = draw(st.integers(0, WINDOWS - 1))
    run = range(first, first + count)
    if protection.unit == "record":
        gone = [draw(st.sampled_from(found)) for w in run if (found := [row for row in table if row.window == w])]
        rest = list(table)
        for row in gone:
            rest.remove(row)
        if protection.neighbours == "add-remove":
            return rest, [run]
        into = draw(st.integers(0, WINDOWS - 1))
        come = [draw(rows) for _ in gone]
        moved = [Row(r.subject, r.place, 4 * (into + at) + r.quarter % 4, r.value) for at, r in enumerate(come)]
        return rest + moved, [run, range(into, into + count)]
    who = 0 if protection.unit == "subject" else None
    kept = [row for row in table if row.window not in run or (who is not None and row.subject != who)]
    if protection.neighbours == "replace":
        others = draw(st.lists(rows, max_size=3))
        whose = [Row(0, r.place, 4 * (first + r.quarter % count) + r.quarter % 4, r.value) for r in others]
        kept = [*whose, *kept] if draw(st.booleans()) else [*kept, *whose]
    return kept, [run]


def charged_and_lost(
    protection: Protection,
    accounting: Accounting,
    count: int,
    table: list[Row],
    other: list[Row],
    runs: list[range],
    asked: list[RangeQuery],
) -> tuple[Fraction, Fraction]:
    """What the windows in which two tables differ were charged for some questions, and what tells them apart.

    Records that are replaced leave some windows and enter others, and are halfway in each.
    """
    ledger = MemoryLedger()
    ledger.count_as(accounting)
    ledger.set_window_budget(WindowBudget(HOUR, Epsilon.of(900), count))
    lost = Fraction(0)
    for query in asked:
        ledger.charge([Charge(query.epsilon, "query", "how many?", rho=query.rho, span=span_of(query, protection))])
        lost += loss(table, other, query, protection, accounting)
    spent, unit = ledger.windows_spent(), NANO if accounting == PURE else PICO
    charged = sum(Fraction(spent.every + spent.at(window), unit) for run in runs for window in run) / len(runs)
    return Fraction(charged), lost


@pytest.mark.parametrize("accounting", [PURE, ZCDP], ids=["pure", "zcdp"])
@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(data=st.data())
def test_neighbours_are_told_apart_by_no_more_than_their_windows_were_charged(
    protection: Protection, accounting: Accounting, data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, 3))
    table = data.draw(st.lists(rows, max_size=8))
    other, runs = left_and_entered(data.draw, table, protection, count)
    asked = data.draw(st.lists(questions(), min_size=1, max_size=3))
    possible = [query for query in asked if query.rho is None or accounting != PURE]
    charged, lost = charged_and_lost(protection, accounting, count, table, other, runs, possible)
    assert lost <= charged


SUBJECTS = Protection("add-remove", "subject", 2, 2, subjects=True)
TWO_HOURS = {"since": ORIGIN, "until": ORIGIN + 2 * HOUR}
GRID, ONE = Grid(MAP.domain, PLACES, 1), Rectangle(0, 0, PLACES, 1)
SUM = Measure("value", 3, True, 1)

WORST = {
    "a record leaves its bin for another time": (
        Protection("replace"), PURE, 1,
        [Row(0, 0, 0, 1)], [Row(0, 0, 8, 1)], [range(1), range(2, 3)],
        [RangeQuery("count", ONE, COST, since=ORIGIN + at * HOUR, until=ORIGIN + (at + 1) * HOUR) for at in (0, 2)],
    ),
    "records of two windows add up in one bin": (
        Protection(), ZCDP, 2,
        [Row(0, 0, 0, 1), Row(0, 0, 4, 1)], [], [range(2)],
        [RangeQuery("count", ONE, COST, rho=RHO, **TWO_HOURS)],
    ),
    "a series of two windows adds up": (
        Protection(), ZCDP, 2,
        [Row(0, 0, 0, 1), Row(0, 0, 4, 1)], [], [range(2)],
        [RangeQuery("count", ONE, COST, rho=RHO, every=HOUR, **TWO_HOURS)],
    ),
    "a subject without its first hour counts in other bins": (
        SUBJECTS, PURE, 1,
        [Row(0, place, quarter, 1) for quarter in (0, 4) for place in (0, 1)],
        [Row(0, place, 4, 1) for place in (0, 1)], [range(1)],
        [RangeQuery("people", GRID, COST, every=HOUR, **TWO_HOURS)],
    ),
    "a subject without its first hour has other records that count, elsewhere": (
        SUBJECTS, PURE, 1,
        [Row(0, 0, 0, 1), Row(0, 0, 0, 1), Row(0, 1, 4, 1), Row(0, 1, 4, 1)],
        [Row(0, 1, 4, 1), Row(0, 1, 4, 1)], [range(1)],
        [RangeQuery("count", GRID, COST, **TWO_HOURS)],
    ),
    "a subject without its first hour pays back what it was paid": (
        SUBJECTS, ZCDP, 1,
        [Row(0, 0, 0, -3), Row(0, 0, 0, -3), Row(0, 0, 4, 3), Row(0, 0, 4, 3)],
        [Row(0, 0, 4, 3), Row(0, 0, 4, 3)], [range(1)],
        [RangeQuery("sum", ONE, COST, SUM, rho=RHO)],
    ),
    "a question about another hour is about the first one, too": (
        SUBJECTS, PURE, 1,
        [Row(0, 0, 0, 1), Row(0, 0, 0, 1), Row(0, 0, 4, 1), Row(0, 0, 4, 1)],
        [Row(0, 0, 4, 1), Row(0, 0, 4, 1)], [range(1)],
        [RangeQuery("count", ONE, COST, since=ORIGIN + HOUR, until=ORIGIN + 2 * HOUR)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("worst", WORST)
def test_the_worst_neighbours_cost_all_that_their_windows_were_charged(worst: str) -> None:
    protection, accounting, count, table, other, runs, asked = WORST[worst]
    charged, lost = charged_and_lost(protection, accounting, count, table, other, runs, asked)
    assert lost == pytest.approx(charged, rel=1e-9)


def test_a_series_tells_a_record_apart_as_far_as_its_window_was_charged_and_no_farther() -> None:
    """The audit finds almost the whole charge of the record's window, in real draws, and nothing beyond it."""
    draws, hour = 2_500, "1970-01-05T{:02}:00"
    here, where = Rectangle(0, 0, 1, 1), {"since": hour.format(0), "until": hour.format(1)}

    def answers(times: list[int]) -> tuple[np.ndarray, float]:
        table = Records(
            [1] * len(times), [0.5] * len(times), [0.5] * len(times), time=[hour.format(each) for each in times]
        )
        window = {"per": "hour", "window_budget": 900_000}
        with Federation(table, MAP.domain, seed=7 + len(times), budget=900_000, **window) as federation:
            about = [where, {}, {"since": hour.format(1), "until": hour.format(3)}]
            found = [
                np.array(federation.count(here, epsilon=epsilon, repeat=draws, **said).values)
                for epsilon, said in zip((1.0, 0.6, 0.7), about, strict=True)
            ]
            spent = federation.ledger.windows_spent()
            return np.stack(found), (spent.every + spent.at(0)) / NANO / draws

    (with_it, charged), (without, _) = answers([0, 0, 1]), answers([0, 1])
    assert charged == pytest.approx(1.6)
    event = np.array([2, 3, -1_000])[:, None]
    likely, unlikely = (int((found >= event).all(axis=0).sum()) for found in (with_it, without))
    assert 0.5 * charged < audited_epsilon(likely, unlikely, draws) < charged
