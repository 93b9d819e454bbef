"""Work in threads that may not be there: a pool keeps what it could start no thread for, and may come to it later.

Guarantee: such work is done once, and then its end is told, or it is told once as not done, and never done.
Proof:     docs/guarantees.md#a-live-federation
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Once:
    """Something that the first who takes it does, in whatever thread, and nobody else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False

    def take(self) -> bool:
        """Tell whether nobody has taken it before."""
        with self._lock:
            before, self._taken = self._taken, True
        return not before


async def in_thread(work: Callable[[], Result]) -> Result:
    """Return what some work gives in a thread of the running loop, or raise what it raises.

    `RuntimeError`: no thread can be started. It is not done then, nor if it is cancelled before it was begun.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Result] = loop.create_future()
    once = Once()

    def tell(result: Result | None, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(result)  # type: ignore[arg-type]  # what the work gave

    def run() -> None:
        if not once.take():
            return
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(tell, None, error)
        else:
            loop.call_soon_threadsafe(tell, result, None)

    try:
        loop.run_in_executor(None, run)
    except RuntimeError:  # it lies in the pool's queue all the same
        if once.take():
            raise
    try:
        return await ended
    finally:
        once.take()
