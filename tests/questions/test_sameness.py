"""The same question has the same name; whatever else changes an answer gives it another one."""

from __future__ import annotations

import itertools
from dataclasses import replace

from fedgroup.epsilon import Epsilon
from fedgroup.questions.bins import Categories
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.questions.sameness import same_question
from fedgroup.rho import Rho
from fedgroup.space import Box, Circle, PublicMap, Rectangle

MAP = PublicMap(Box(0, 0, 10, 10))
FARES = RangeQuery("sum", Rectangle(0, 0, 5, 5), Epsilon(5), Measure("fare", 50), since=0, until=100)
HOURS = RangeQuery("count", MAP.grid(2, 2), Epsilon(5), since=0, until=100, every=10)


def name(query: RangeQuery, method: str = "dp", public_map: PublicMap = MAP, carried: object = "plan") -> str:
    return same_question(query, method, public_map, carried)


def test_everything_an_answer_depends_on_is_in_its_name() -> None:
    different = [
        name(FARES),
        name(replace(FARES, kind="avg")),
        name(replace(FARES, range=Rectangle(0, 0, 5, 6))),
        name(replace(FARES, range=Circle(2, 2, 1))),
        name(replace(FARES, epsilon=Epsilon(6))),
        name(replace(FARES, rho=Rho(10**11))),
        name(replace(FARES, rho=Rho(10**11 + 1))),  # its largest pure epsilon is the same
        name(replace(FARES, epsilon=Rho(10**11).pure)),  # of other noise
        name(replace(FARES, since=1)),
        name(replace(FARES, until=101)),
        name(replace(FARES, since=None)),
        name(replace(FARES, measure=Measure("tip", 50))),
        name(replace(FARES, measure=Measure("fare", 51))),
        name(replace(FARES, measure=Measure("fare", 50, signed=True))),
        name(replace(FARES, measure=Measure("fare", 50, resolution=5))),
        name(FARES, method="mpc"),
        name(FARES, public_map=PublicMap(Box(0, 0, 10, 11))),
        name(FARES, carried="another plan"),
        name(HOURS),
        name(replace(HOURS, range=MAP.grid(2, 3))),
        name(replace(HOURS, every=20)),
        name(replace(HOURS, every=None)),
        name(replace(HOURS, by=Categories("kind", ("bar",)))),
        name(replace(HOURS, by=Categories("kind", ("bar", "cafe")))),
        name(replace(HOURS, by=Categories("kind", ("bar",), other=True))),
        name(replace(HOURS, by=Categories("sort", ("bar",)))),
    ]
    assert not [pair for pair in itertools.combinations(range(len(different)), 2) if _equal(different, *pair)]


def _equal(names: list[str], one: int, other: int) -> bool:
    return names[one] == names[other]


def test_the_same_question_has_the_same_name() -> None:
    assert name(replace(FARES, range=Rectangle(0.0, 0, 5, 5.0))) == name(FARES)
