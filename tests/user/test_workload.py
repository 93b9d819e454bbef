"""How sharp each of many answers can be under one total."""

from __future__ import annotations

import pytest

import fedgroup as fg
from fedgroup.errors import InvalidInput
from fedgroup.user.workload import GAUSSIAN, LAPLACE, PURE, Work, expect_work


@pytest.mark.parametrize(
    ("answers", "pure", "gaussian"), [(24, 33.9, 22.2), (168, 237.6, 58.7), (1_000, 1414.2, 143.3)]
)
def test_the_table_of_the_documents(answers: int, pure: float, gaussian: float) -> None:
    (found,) = expect_work([Work("answer", answers)], budget=1, delta=1e-6)
    deviations = [found.errors[way].standard_deviation for way in (PURE, GAUSSIAN)]
    assert deviations == pytest.approx([pure, gaussian], abs=0.06)
    assert found.best == GAUSSIAN


def test_few_answers_are_sharper_with_pure_epsilon() -> None:
    found = [expect_work([Work("answer", n)], budget=1, delta=1e-6)[0].best for n in (1, 5, 8)]
    assert found == [PURE] * 3


def test_maps_and_questions_share_one_total_and_a_map_of_people_gains_most() -> None:
    maps, questions = expect_work([Work("map", 24, 9, 9), Work("question", 50)], budget=2, delta=1e-6)
    assert (maps.times, questions.times) == (24, 50)
    assert maps.epsilon == questions.epsilon == pytest.approx(2 / 74, abs=1e-9)
    widths = {
        way: maps.errors[way].standard_deviation / questions.errors[way].standard_deviation for way in maps.errors
    }
    assert (widths[PURE], widths[LAPLACE], widths[GAUSSIAN]) == pytest.approx((9, 9, 3), rel=1e-3)


def test_what_is_expected_is_what_an_answer_gets() -> None:
    records = fg.synthesize(owners=40, seed=1)
    federation = fg.Federation(records, budget=1, delta=1e-6, accounting="zcdp")
    asked = {"method": "mpc", "rho": federation.left_rho / 168}
    answer = federation.expect("count", fg.Circle(10_000, 10_000, 900), **asked)
    (found,) = expect_work([Work("answer", 168)], budget=1, delta=1e-6, noises=answer.noises, shared=answer.noises)
    assert found.errors[GAUSSIAN].half_width == pytest.approx(answer.errors["count"].half_width, abs=1)


@pytest.mark.parametrize(
    "wrong", [{"budget": 0}, {"delta": 0}, {"noises": 0}, {"shared": 2}, {"budget": 1e-9}, {"noises": "x"}]
)
def test_nonsense_is_refused(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        expect_work([Work("answer", 24)], **{"budget": 1, "delta": 1e-6, **wrong})
    for work in (lambda: expect_work([], budget=1, delta=1e-6), lambda: Work("map", -1), lambda: Work("map", 1, 0)):
        with pytest.raises(InvalidInput):
            work()
