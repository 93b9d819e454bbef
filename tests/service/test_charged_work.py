"""Work is charged once it is known to be possible, and those who cannot pay hold nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from service_city import PATIENCE_S

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, TooFewHeard
from fedgroup.service.charged_work import ChargedWork, Order, PaidWork
from fedgroup.service.problems import Problem
from fedgroup.service.turns import Turns
from fedgroup.storage.provider_state import ProviderState

PRICE = Epsilon.of(0.4)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[ProviderState]:
    found = ProviderState(tmp_path / "provider.db")
    found.add_user("rich", allowance=Epsilon.of(10))
    found.add_user("poor", allowance=Epsilon.of(0.1))
    yield found
    found.close()


async def done(_: Any) -> dict[str, Any]:
    return {"done": True}


def test_owners_that_leave_while_an_earlier_answer_is_looked_for_cost_the_user_nothing(state: ProviderState) -> None:
    async def looked_for() -> None:
        raise TooFewHeard(heard=0, needed=1)

    order = Order({"a": 1}, PRICE, lambda: nullcontext(PaidWork(done, looked_for)))
    with pytest.raises(Problem) as told:
        asyncio.run(ChargedWork(state, Turns(lambda: 4)).run("rich", order, key=None))
    assert (told.value.kind, told.value.facts["charged"]) == ("too-few-heard", False)
    assert state.user("rich").spent == Epsilon(0)


def test_users_that_cannot_pay_leave_room_for_those_who_can(state: ProviderState) -> None:
    async def story() -> None:
        work, looking, go_on = ChargedWork(state, Turns(lambda: 32, waiting=64)), [0], asyncio.Event()

        async def looked_for_long() -> None:
            looking[0] += 1
            await go_on.wait()

        order = Order({"a": 1}, PRICE, lambda: nullcontext(PaidWork(done, looked_for_long)))
        poor = [asyncio.create_task(work.run("poor", order, key=None)) for _ in range(64)]
        rich = Order({"b": 1}, PRICE, lambda: nullcontext(PaidWork(done)))
        answered = await asyncio.wait_for(work.run("rich", rich, key=None), PATIENCE_S)
        assert answered.answer == {"done": True}
        assert looking[0] <= 2
        go_on.set()
        refused = await asyncio.gather(*poor, return_exceptions=True)
        assert {type(each) for each in refused} == {BudgetExhausted}

    asyncio.run(story())
    assert state.user("poor").spent == Epsilon(0)


def test_those_who_cannot_pay_still_get_what_is_there_already(state: ProviderState) -> None:
    async def there() -> dict[str, Any]:
        return {"found": True}

    order = Order({"a": 1}, PRICE, lambda: nullcontext(PaidWork(done, there)))
    answered = asyncio.run(ChargedWork(state, Turns(lambda: 4)).run("poor", order, key=None))
    assert answered.answer == {"found": True}
    assert state.user("poor").spent == Epsilon(0)
