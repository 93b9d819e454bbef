"""When owners are told to forget a group: after the last question that uses it, however long its rounds take."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fedgroup.live.desk import Desk
from fedgroup.live.plans import LiveGroup, LivePlan
from fedgroup.messages.asked import Leave


class Leaving:
    """Counts the questions that use each group."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._used: Counter[str] = Counter()
        self._over: dict[str, LiveGroup] = {}

    @asynccontextmanager
    async def using(self, plan: LivePlan | None) -> AsyncIterator[None]:
        """Keep the groups of a plan while the context lasts.

        Requires:  the plan was in force when this was entered, with nothing awaited in between.
        """
        names = [] if plan is None else [group.name for group in plan.groups]
        self._used.update(names)
        try:
            yield
        finally:
            self._used.subtract(names)
            self._used += Counter()
            await self._tell()

    async def end(self, groups: Iterable[LiveGroup]) -> None:
        """Tell the members of groups that these are over, as soon as no question uses them."""
        self._over |= {group.name: group for group in groups}
        await self._tell()

    async def _tell(self) -> None:
        for name in [name for name in self._over if name not in self._used]:
            group = self._over.pop(name, None)
            if group is not None:
                await self._desk.tell(dict.fromkeys(group.members, Leave(group.name)))
