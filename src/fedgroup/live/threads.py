"""Work in threads that may not be there: a pool keeps what it could start no thread for, and may come to it later.

Guarantee: such work is done once, and then its end is told, or it is told once as not done, and never done.
Proof:     docs/guarantees.md#a-live-federation
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

MOST_ASKED_AT_ONCE = 64
"""So many databases of one process are asked at a time; who comes after them waits until one has answered."""
_POOLS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadPoolExecutor] = weakref.WeakKeyDictionary()


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


def _pool_of(loop: asyncio.AbstractEventLoop) -> ThreadPoolExecutor:
    """Return the threads of a loop that databases are asked in: slow ones hold up nothing else, as names looked up."""
    pool = _POOLS.get(loop)
    if pool is None:
        pool = _POOLS[loop] = ThreadPoolExecutor(MOST_ASKED_AT_ONCE, thread_name_prefix="fedgroup-silo")
    return pool


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
        loop.run_in_executor(_pool_of(loop), run)
    except RuntimeError:  # it lies in the pool's queue all the same
        if once.take():
            raise
    try:
        return await ended
    finally:
        once.take()
