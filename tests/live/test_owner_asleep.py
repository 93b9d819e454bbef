"""An owner that was stopped, as machines that sleep are, pays nothing for a question that is over."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from live_world import PATIENCE_S, PRECISE, World, count, until

from driven_time import DrivenLoop, in_driven_time
from fedgroup.live.running import running_provider
from fedgroup.transport.inbox import BEAT_S, Inbox, Pulse


async def stop(pid: int) -> None:
    """Stop a process, and return when it does nothing any more."""
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")


def test_an_owner_that_slept_through_a_question_does_not_pay_for_it(world_of: Callable[..., World]) -> None:
    async def story() -> None:
        world = world_of(3)
        victim, slept = world.names[1], world.folder / "slept"
        slept.write_text("0")
        async with running_provider(world.config) as up:
            desk = up.provider.desk
            world.start_owners(without=(victim,))
            world.start(victim, slept=str(slept))
            await until(lambda: len(desk.present) == 3)
            assert (await up.provider.ask(count(), method="dp")).heard == 3
            before = world.spent(victim)
            await stop(world.pid(victim))
            desk._quiet.add(victim)  # so that the others have all their time, and it has a moment
            answer = await up.provider.ask(count(), method="dp", fresh=True)
            assert (answer.heard, answer.missing) == (2, 1)
            slept.write_text(str(2 * PATIENCE_S))
            os.kill(world.pid(victim), signal.SIGCONT)
            await until(lambda: victim not in desk._quiet)  # it read the question, and said so
            while answer.heard < 3:  # what comes at once cannot be told from what waited
                answer = await up.provider.ask(count(), method="dp", fresh=True)
            assert world.spent(victim) - before == PRECISE.nano  # for the last question only

    asyncio.run(story())


def test_what_is_read_late_may_have_waited_since_the_loop_last_ran() -> None:
    async def story() -> tuple[float, float]:
        inbox, waited = Inbox(), []
        inbox.put("ann", b"first")
        messages = inbox.taken()
        await anext(messages)
        waited.append(Pulse.now() - inbox.came_at)
        await asyncio.sleep(2 * BEAT_S)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        loop.stand_still(4 * BEAT_S)
        inbox.put("ann", b"second")
        await anext(messages)
        return waited[0], Pulse.now() - inbox.came_at

    assert in_driven_time(story()) == (0, 4 * BEAT_S)
