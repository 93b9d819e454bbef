"""What the service keeps in memory has an end, however many users come and go."""

from __future__ import annotations

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.service.pages.sessions import CODE_SECONDS, Sessions
from fedgroup.service.problems import Problem
from fedgroup.service.rates import MOST_REMEMBERED, Rates
from fedgroup.storage.provider_state import User


def user(name: str) -> User:
    return User(name, "user", 1, Epsilon.of(1), Epsilon(0))


def test_users_who_have_all_their_questions_back_are_forgotten_and_the_others_are_not() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    for number in range(5 * MOST_REMEMBERED):
        now[0] += 1
        rates.take(user(f"{number}"))
    assert len(rates._left) <= MOST_REMEMBERED
    with pytest.raises(Problem):
        rates.take(user(f"{5 * MOST_REMEMBERED - 1}"))


def test_codes_that_nobody_used_in_time_are_forgotten() -> None:
    now = [0.0]
    sessions = Sessions(clock=lambda: now[0])
    for _ in range(1000):
        sessions.code_for("token")
        now[0] += CODE_SECONDS / 10
    assert len(sessions._codes) <= 11
