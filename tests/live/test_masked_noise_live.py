"""Masked answers of many live rounds scatter as their intervals say: by the law of heard / t whole noises."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

import numpy as np
from live_world import World, count, until
from scipy import stats

from fedgroup.epsilon import Epsilon
from fedgroup.live.running import running_provider
from fedgroup.questions.answers import Answer

EPSILON = Epsilon.of(0.5)
ROUNDS, AT_ONCE = 500, 20


def test_masked_answers_have_the_variance_of_their_law(world_of: Callable[..., World]) -> None:
    """Five owners, of whom one may collude and one be silent: t = 3, and five shares make 5/3 noises.

    Keys are fresh, for they are made up in processes of their own. Chance of a false alarm: below 10^-6 for all three.
    """
    world = world_of(5)
    answers = asyncio.run(_answers(world))
    assert {(answer.heard, answer.missing, answer.noises) for answer in answers} == {(5, 0, 5 / 3)}
    errors = np.array([answer.value - world.everybody for answer in answers])
    q = math.exp(-float(EPSILON))
    variance = 5 / 3 * 2 * q / (1 - q) ** 2
    assert abs(errors.mean()) < 5.5 * math.sqrt(variance / ROUNDS)
    assert 0.6 < errors.var() / variance < 1.6  # 0.087 is the standard deviation of this ratio
    inside = sum(answer.interval[0] <= world.everybody <= answer.interval[1] for answer in answers)
    assert stats.binom.cdf(inside, ROUNDS, 0.95) > 1e-7
    assert set(world.all_spent().values()) == {ROUNDS * EPSILON.nano}


async def _answers(world: World) -> list[Answer]:
    async with running_provider(world.config) as up:
        world.start_owners()
        await until(lambda: len(up.provider.desk.present) == world.owners)
        answers: list[Answer] = []
        while len(answers) < ROUNDS:
            asked = (up.provider.ask(count(EPSILON), method="cohorts", fresh=True) for _ in range(AT_ONCE))
            answers += await asyncio.gather(*asked)
        return answers
