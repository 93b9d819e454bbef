"""An owner that was stopped, as machines that sleep are, pays nothing for a question that is over."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable

from live_world import PRECISE, World, count, until

from fedgroup.live.running import running_provider

SECONDS = 1.5


def test_an_owner_that_slept_through_a_question_does_not_pay_for_it(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3, seconds=SECONDS)
        victim = world.names[1]
        async with running_provider(world.config) as up:
            world.start_owners()
            await until(lambda: len(up.provider.desk.present) == 3)
            assert (await up.provider.ask(count(), method="dp")).heard == 3
            before = world.spent(victim)
            os.kill(world.pid(victim), signal.SIGSTOP)
            try:
                answer = await up.provider.ask(count(), method="dp", fresh=True)
                assert (answer.heard, answer.missing) == (2, 1)
                await asyncio.sleep(0.5)
            finally:
                os.kill(world.pid(victim), signal.SIGCONT)
            await asyncio.sleep(1.0)  # what comes at once cannot be told from what waited
            answer = await up.provider.ask(count(), method="dp", fresh=True)
            assert answer.heard == 3
            assert world.spent(victim) - before == PRECISE.nano  # for the last question only

    asyncio.run(story())


def test_what_is_read_late_may_have_waited_since_the_loop_last_ran() -> None:
    from fedgroup.transport.inbox import Inbox
    from fedgroup.transport.pulse import BEAT_S

    async def story() -> tuple[float, float]:
        inbox, waited = Inbox(), []
        inbox.put("ann", b"first")
        messages = inbox.taken()
        await anext(messages)
        waited.append(inbox.waited_s)
        await asyncio.sleep(2 * BEAT_S)
        time.sleep(4 * BEAT_S)
        inbox.put("ann", b"second")
        await anext(messages)
        return waited[0], inbox.waited_s

    prompt, late = asyncio.run(story())
    assert prompt < BEAT_S
    assert late >= 4 * BEAT_S
