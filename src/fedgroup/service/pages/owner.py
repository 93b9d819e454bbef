"""An owner that can be paused, resumed and stopped, and whose cap can be changed, while it runs."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import AsyncExitStack, closing
from pathlib import Path

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.config import OwnerConfig
from fedgroup.live.running import running_owners
from fedgroup.privacy.budget import Entry
from fedgroup.privacy.windows_left import windows_left
from fedgroup.storage.owner_ledger import OwnerLedger

_CAP = re.compile(r"^(\s*cap\s*=\s*)[^\s#]+", re.M)


class OwnerControl:
    """One owner of this process, as its page steers it. No message from elsewhere can do any of this."""

    def __init__(self, file: Path, config: OwnerConfig, *, broker_port: int | None, new_ledger: bool = False) -> None:
        self.name = ""
        self.left = asyncio.Event()
        self.stopped = False
        self._file = file
        self._config = config
        self._port = broker_port
        self._new_ledger = new_ledger
        self._running: AsyncExitStack | None = None
        self._turn = asyncio.Lock()

    @property
    def runs(self) -> bool:
        """Whether the owner is in the federation now."""
        return self._running is not None

    async def resume(self) -> None:
        """Come into the federation, as the owner's file says."""
        async with self._turn:
            if self._running is not None or self.stopped:
                return
            running, making = AsyncExitStack(), self._new_ledger
            (node,) = await running.enter_async_context(
                running_owners([self._config], port=self._port, new_ledger=making)
            )
            self._running, self._new_ledger, self.name = running, False, node.name
            await asyncio.to_thread(self._keep_cap, self.cap)

    async def pause(self) -> None:
        """Answer nothing until resumed: to the federation this owner is away."""
        async with self._turn:
            running, self._running = self._running, None
            if running is not None:
                await running.aclose()

    async def stop(self) -> None:
        """Go, and stay away while this process lasts; `left` is to be set once that is told."""
        self.stopped = True
        await self.pause()

    @property
    def cap(self) -> Epsilon:
        """The most that may be spent in an epoch, as the owner's file says it."""
        found = _CAP.search(self._file.read_text(encoding="utf-8"))
        return Epsilon.of(self._config.ledger.cap if found is None else float(found[0].partition("=")[2]), name="cap")

    def set_cap(self, cap: float) -> None:
        """Change the cap, in the file first and then in the ledger: it holds from now on, and after a restart."""
        epsilon = Epsilon.of(cap, name="cap")
        text, changed = _CAP.subn(rf"\g<1>{float(epsilon)!r}", self._file.read_text(encoding="utf-8"), count=1)
        if not changed:
            raise InvalidInput(f"{self._file} says no cap that could be changed; edit it")
        draft = self._file.with_name(f"{self._file.name}.new")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, self._file)
        self._keep_cap(epsilon)

    def in_windows(self) -> str | None:
        """Return what windows of time have left, in words; None where they have no budget of their own."""
        with closing(OwnerLedger(self._config.ledger.file)) as ledger:
            known = windows_left(ledger)
        return None if known is None else str(known)

    def account(self) -> tuple[Epsilon, list[Entry]]:
        """Return what was spent in this epoch, and every line of the owner's own ledger, the newest first."""
        with closing(OwnerLedger(self._config.ledger.file)) as ledger:
            return ledger.spent(), ledger.entries()[::-1]

    def _keep_cap(self, cap: Epsilon) -> None:
        with closing(OwnerLedger(self._config.ledger.file)) as ledger:
            ledger.set_cap(cap)
