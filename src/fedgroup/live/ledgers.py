"""Owners' ledgers and their marks: a ledger that lacks charges its owner made is not gone on with in silence.

The mark is a file in the owner's identity folder, so that a ledger restored from a backup finds a newer mark than
itself. It is written when the owner starts, each minute that the ledger moved, when the owner stops, and before
anything leaves for charges that come to more than `mark_every` since the last mark (a tenth of the cap unless the
owner's file says it). What it cannot tell: charges since, of that much at most; and a ledger and a mark that were
restored together.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.identity import Identity
from fedgroup.live.config import OwnerConfig
from fedgroup.live.hosting import MARK_FILE as MARK_FILE
from fedgroup.live.hosting import enter_patiently, own_mark, take_another_log_in_file, take_restored_file
from fedgroup.storage.marks import Mark, read_mark, write_mark
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.sole_use import sole_use

log = logging.getLogger("fedgroup.owner")

MARK_EACH_S = 60.0
_ONE_LEDGER = "stop that first: one owner has one ledger, and copies of it would each spend the same budget"
_LOST = "what was left: this ledger was restored, or stands for a lost one, and charges may be missing in it"


class MarkedLedger:
    """An owner's ledger, and the file that tells how far it had come."""

    def __init__(self, ledger: OwnerLedger, file: Path, *, at_most: Epsilon | None = None) -> None:
        """`at_most` is what may be charged before a mark tells of it; None: a tenth of the cap."""
        self.ledger = ledger
        self._file = file
        self._told = read_mark(file)
        ledger.keep_marked(self._tell, at_most=at_most)

    def give_up_epoch(self, *, cap: Epsilon, window_cap: Epsilon | None) -> None:
        """Count whatever was left of the epoch as spent, and let the mark tell of this ledger from now on."""
        self.ledger.give_up_epoch(self._told, cap=cap, window_cap=window_cap, why=_LOST)
        self._told = None
        self.update()

    def update(self) -> None:
        """Write the mark if the ledger moved; a ledger that lacks something leaves it as it is, and is refused."""
        self.ledger.write_mark()

    def require_whole(self) -> None:
        """Refuse a ledger that is another one than the mark's, or lacks what the mark counted."""
        self._require_whole(self.ledger.mark())

    def _require_whole(self, here: Mark) -> None:
        told, file = self._told, self.ledger.path
        if told is not None and here.ledger != told.ledger:
            raise InvalidInput(f"{file} is another ledger than {self._file} tells of; {_remedy(told)}")
        if told is not None and here.forgets(told):
            raise InvalidInput(
                f"{file} lacks charges that {self._file} tells of, as a restored backup does; {_remedy(told)}"
            )

    def _tell(self, here: Mark) -> None:
        """Write the mark of what is on disk, if it tells anything new."""
        self._require_whole(here)
        if here != self._told:
            write_mark(self._file, here)
            self._told = here


def open_ledger(config: OwnerConfig, *, holder: str, new_ledger: bool) -> MarkedLedger:
    """Return an owner's ledger with the cap of its file, marked; one that lacks charges is refused.

    A ledger that is not there is made only if `new_ledger` allows it, and never where a mark tells that there was one.
    Those in a shared file are opened together, by `hosting`.
    """
    if config.ledger.shared:
        raise InvalidInput(f"{config.ledger.file} is shared: run its owners together, with 'fedgroup owner'")
    _require_unlost(config)
    marked = _opened(config, holder, new_ledger=new_ledger)
    try:
        marked.require_whole()
        # the owner's own file says how it counts: no message can
        marked.ledger.count_as(config.federation.counted, agreed=True)
        marked.ledger.set_cap(_cap(config))
        _set_windows(marked.ledger, config)
        marked.update()
    except BaseException:
        marked.ledger.close()
        raise
    return marked


async def keep_sole_owner(stack: AsyncExitStack, config: OwnerConfig, *, holder: str, new_ledger: bool) -> None:
    """Keep other processes from running the owner of this ledger, or of these keys, until a stack is left.

    So two copies of a ledger are not both used with one folder of keys. One that is about to end is waited for, a
    while. Who only reads the ledger, or changes its cap, is not kept from it.
    """
    if not config.ledger.shared:
        _require_unlost(config)
        _require_made(config, new_ledger=new_ledger)
    for lock in _locks(config, holder):
        await enter_patiently(stack, lock)


def take_restored(config: OwnerConfig, *, new_ledger: bool) -> None:
    """Make a ledger that lost charges safe to go on with: nothing is left of its epoch.

    One that was lost altogether is made anew if `new_ledger` allows it. Of a shared file, that is done for all owners
    that have theirs in it.
    """
    if config.ledger.shared:
        take_restored_file(config, new_ledger=new_ledger)
        return
    holder = Identity.load(config.identity.folder).name
    _require_made(config, new_ledger=new_ledger)
    with _alone(config, holder):
        marked = _opened(config, holder, new_ledger=new_ledger)
        try:
            windows = config.ledger.in_windows
            marked.give_up_epoch(cap=_cap(config), window_cap=None if windows is None else windows.cap)
        finally:
            marked.ledger.close()


def take_another_log(config: OwnerConfig) -> None:
    """Let an owner believe the next log that its provider shows; those that it saw before stay in its ledger."""
    if config.ledger.shared:
        take_another_log_in_file(config)
        return
    holder = Identity.load(config.identity.folder).name
    _require_made(config, new_ledger=False)
    with _alone(config, holder):
        marked = _opened(config, holder, new_ledger=False)
        try:
            marked.ledger.accept_another_log()
            marked.update()
        finally:
            marked.ledger.close()


class Marked(Protocol):
    """Something with a mark that is written by `update` if it moved."""

    def update(self) -> None: ...


class Marking:
    """The marks of all ledgers of a process, kept up while they are used."""

    def __init__(self) -> None:
        self._ledgers: list[Marked] = []
        self._turn = threading.Lock()

    def add(self, ledger: Marked) -> None:
        self._ledgers.append(ledger)

    async def keep_up(self) -> None:
        """Look at every ledger each minute, until cancelled."""
        while True:
            await asyncio.sleep(MARK_EACH_S)
            try:
                await asyncio.to_thread(self.update)
            except RuntimeError:  # no thread can be started: the next minute will do
                log.warning("the marks of ledgers cannot be written now")

    def update(self) -> None:
        """Write the mark of each ledger that moved; one that cannot be written is older than it could be, no more."""
        with self._turn:
            for each in list(self._ledgers):
                try:
                    each.update()
                except Exception as error:  # also of the system, as too many open files
                    log.warning("the mark of a ledger cannot be written", extra={"kind": type(error).__name__})


def _opened(config: OwnerConfig, holder: str, *, new_ledger: bool) -> MarkedLedger:
    _require_made(config, new_ledger=new_ledger)
    ledger = OwnerLedger(config.ledger.file, holder=holder, flushed_later=True, keep_days=config.ledger.keep_days)
    try:
        return MarkedLedger(ledger, own_mark(config), at_most=config.ledger.at_most)
    except BaseException:
        ledger.close()
        raise


@contextmanager
def _alone(config: OwnerConfig, holder: str) -> Iterator[None]:
    """Hold all of an owner's locks."""
    with ExitStack() as stack:
        for lock in _locks(config, holder):
            stack.enter_context(lock())
        yield


def _locks(config: OwnerConfig, holder: str) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Yield the lock beside the ledger, unless it is a shared one, and the one beside its mark, where the keys are."""
    if not config.ledger.shared:
        yield lambda: sole_use(config.ledger.file, of=holder)
    with_keys = f"{holder}, with the keys in {config.identity.folder},"
    yield lambda: sole_use(own_mark(config), of=with_keys, remedy=_ONE_LEDGER)


def _require_made(config: OwnerConfig, *, new_ledger: bool) -> None:
    file = Path(config.ledger.file)
    if not new_ledger and not file.exists():
        raise InvalidInput(f"there is no ledger {file}; the first time, start the owner with --new-ledger")
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {file.parent} for the ledger; make it, or name another file")


def _require_unlost(config: OwnerConfig) -> None:
    file, mark = Path(config.ledger.file), own_mark(config)
    if not file.exists() and (told := read_mark(mark)) is not None:
        raise InvalidInput(f"there is no ledger {file}, and {mark} tells that there was one; {_remedy(told)}")


def _cap(config: OwnerConfig) -> Epsilon:
    return Epsilon.of(config.ledger.cap, name="cap")


def _set_windows(ledger: OwnerLedger, config: OwnerConfig) -> None:
    """State the budget of windows that the owner's file says; one that was stated is not dropped by saying nothing."""
    said, known = config.ledger.in_windows, ledger.window_budget
    if said is not None:
        ledger.set_window_budget(said)
    elif known is not None:
        raise InvalidInput(
            f"{ledger.path} has a budget of {known}, and its owner's file has none; say it there: per, window_cap and "
            "windows"
        )


def _remedy(told: Mark) -> str:
    return (
        "put the newest ledger back, or start this owner once with --restored-ledger (and --new-ledger where there is "
        f"none): everything that was left of epoch {told.epoch} then counts as spent"
    )
