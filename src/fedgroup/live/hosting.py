"""Owners that one operator hosts, with their ledgers in one file: it is locked, marked and flushed once for all.

Each owner still has its keys, its certificate, its connection and its policy. What keeps its budget from being spent
twice is kept, too: a mark beside its own keys names the ledger that it has, so that no other one is begun for it; a
lock there keeps a second process from running it. How far the ledgers came is told by one mark for the file, which
belongs into another folder than the file, so that a backup of the one does not bring back the other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.identity import Identity
from fedgroup.live.config import LedgerTable, OwnerConfig
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.marks import Mark, read_mark, write_mark
from fedgroup.storage.sole_use import AlreadyRunning, sole_use

MARK_FILE = "ledger.mark"
PATIENCE_S = 5.0
"""How long an owner waits for the same one to end: as after the end of whoever started it."""
_LOOK_AGAIN_S = 0.1
_MARKS_AT_ONCE = 16
_LOST = "what was left: the file of this ledger was restored, or lost, and charges may be missing in it"
_ONE_FILE = "stop that first: one file of ledgers has one mark, and copies of it would each spend the same budget"


class MarkedFile:
    """A file of many ledgers, and the file that tells how far it had come."""

    def __init__(self, file: HostedFile, mark: Path) -> None:
        self.file = file
        self._mark = mark
        self.told = read_mark(mark)
        file.keep_marked(self._tell)

    def update(self) -> None:
        """Write the mark if the file moved; one that lacks something leaves it as it is, and is refused."""
        self.file.write_mark()

    def lacks_nothing(self) -> bool:
        """Tell whether the file holds all that its mark tells of."""
        return self._whole(self.file.mark())

    def require_whole(self) -> None:
        """Refuse a file that is another one than the mark's, or lacks what the mark counted."""
        self._require(self.file.mark())

    def begin_anew(self) -> None:
        """Let the mark tell of this file from now on, whatever it told before."""
        self.file.take_another_name()
        self.told = None
        self.update()

    def _whole(self, here: Mark) -> bool:
        return self.told is None or (here.ledger == self.told.ledger and not here.forgets(self.told))

    def _require(self, here: Mark) -> None:
        if not self._whole(here):
            raise InvalidInput(
                f"{self.file.path} lacks charges that {self._mark} tells of, as a restored backup does; {_REMEDY}"
            )

    def _tell(self, here: Mark) -> None:
        self._require(here)
        if here != self.told:
            write_mark(self._mark, here)
            self.told = here


_REMEDY = (
    "put the newest file back, or start one of its owners once with --restored-ledger (and --new-ledger where there is "
    "none): everything that was left of the epochs of all its owners then counts as spent"
)


class Hosting:
    """The files of ledgers that this process uses, each opened once."""

    def __init__(self) -> None:
        self._files: dict[Path, MarkedFile] = {}

    @property
    def files(self) -> list[MarkedFile]:
        return list(self._files.values())

    def open_file(self, place: Path, mark: Path, *, new: bool) -> MarkedFile:
        """Open a file with its mark, or return it if it is open."""
        known = self._files.get(place)
        if known is None:
            _require_made(place, mark, new=new)
            known = self._files[place] = MarkedFile(HostedFile(place), mark)
        return known

    def ledger_of(self, config: OwnerConfig, holder: str, file: HostedFile, *, new: bool) -> HostedLedger:
        """Return an owner's ledger with the cap of its file; one that is not the one its own mark names is refused.

        It is to be used once `write_own_marks` was called for it.
        """
        days = file.keep_days
        file.keep_days = config.ledger.keep_days if days is None else max(days, config.ledger.keep_days)
        own = own_mark(config)
        told = read_mark(own)
        if told is not None and file.number_of(holder) is None:
            raise InvalidInput(
                f"{file.path} holds no ledger of {holder!r}, and {own} tells that there was one; put that one back, or "
                "start this owner once with --restored-ledger and --new-ledger: everything that was left of epoch "
                f"{told.epoch} then counts as spent"
            )
        ledger = HostedLedger(file, holder, new=new)
        here = ledger.mark()
        if told is not None and (here.ledger != told.ledger or here.forgets(told)):
            raise InvalidInput(f"{file.path} holds another ledger of {holder!r} than {own} tells of; {_REMEDY}")
        # the owner's own file says how it counts: no message can
        ledger.count_as(config.federation.counted, agreed=True)
        ledger.set_cap(_cap(config))
        ledger.keep_within(config.ledger.at_most)
        return ledger

    def write_own_marks(self, opened: Sequence[tuple[OwnerConfig, HostedLedger]]) -> None:
        """Let each owner's own mark name its ledger, once that is on disk; those that do are left alone."""
        for each in self.files:
            each.file.flush()
        new = [(own, ledger) for config, ledger in opened if read_mark(own := own_mark(config)) is None]
        with ThreadPoolExecutor(_MARKS_AT_ONCE, thread_name_prefix="mark") as pool:  # a disk takes several as one
            for _ in pool.map(lambda each: write_mark(each[0], each[1].mark()), new):
                pass

    def close(self) -> None:
        """Close all files."""
        for each in self.files:
            each.file.close()


@asynccontextmanager
async def hosting(
    configs: Sequence[OwnerConfig], holders: Sequence[str], *, new_ledger: bool
) -> AsyncIterator[tuple[Hosting, dict[str, HostedLedger]]]:
    """Open the shared files of these owners while the context lasts, and the ledgers in them, by their holders.

    Another process that uses one of the files is waited for, a while.
    """
    shared = [(config, holder) for config, holder in zip(configs, holders, strict=True) if config.ledger.shared]
    found = Hosting()
    places = [(shared_file(config.ledger), shared_mark(config.ledger)) for config, _ in shared]
    if len(set(places)) > len({place for place, _ in places}):
        raise InvalidInput("owners that share a file of ledgers share its mark; say the same in all of their files")
    async with AsyncExitStack() as stack:
        for place, mark in dict.fromkeys(places):
            await enter_patiently(stack, lambda place=place, mark=mark: _sole_file(place, mark))  # type: ignore[misc]
        stack.callback(found.close)
        files = [found.open_file(place, mark, new=new_ledger).file for place, mark in places]
        for each in found.files:
            each.require_whole()  # before anything is written
        opened = [
            (config, found.ledger_of(config, holder, file, new=new_ledger))
            for (config, holder), file in zip(shared, files, strict=True)
        ]
        for each in found.files:
            each.update()
        found.write_own_marks(opened)
        yield found, {ledger.holder: ledger for _, ledger in opened}


async def enter_patiently(stack: AsyncExitStack, lock: Callable[[], AbstractContextManager[None]]) -> None:
    """Enter a lock; whoever holds it and is about to end is waited for, a while."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            stack.enter_context(lock())
            return
        except AlreadyRunning:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(_LOOK_AGAIN_S)


def take_restored_file(config: OwnerConfig, *, new_ledger: bool) -> None:
    """Make a file that lost charges safe to go on with: nothing is left of its owners' epochs.

    Where the file is whole, that is done for this one owner only, whose own mark told of another ledger.
    """
    holder, own = Identity.load(config.identity.folder).name, own_mark(config)
    with _opened_alone(config, holder, new=new_ledger) as marked:
        whole, told, own_told = marked.lacks_nothing(), marked.told, read_mark(own)
        mine = HostedLedger(marked.file, holder, new=new_ledger)
        if not whole:
            foreign = told is not None and told.ledger != marked.file.mark().ledger
            for name in marked.file.holders():
                ledger = mine if name == holder else HostedLedger(marked.file, name)
                cap = _cap(config) if name == holder else ledger.cap or _cap(config)
                ledger.give_up_epoch(told, cap=cap, why=_LOST, foreign=foreign)
            marked.begin_anew()
        # what was given up with the whole file is not given up twice
        foreign = whole and own_told is not None and own_told.ledger != mine.mark().ledger
        mine.give_up_epoch(own_told, cap=_cap(config), why=_LOST, foreign=foreign)
        marked.update()
        write_mark(own, mine.mark())


def take_another_log_in_file(config: OwnerConfig) -> None:
    """Let a hosted owner believe the next log that its provider shows; those that it saw before stay in its ledger."""
    holder = Identity.load(config.identity.folder).name
    with _opened_alone(config, holder, new=False) as marked:
        marked.require_whole()
        HostedLedger(marked.file, holder).accept_another_log()
        marked.update()


def own_mark(config: OwnerConfig) -> Path:
    """Return the file beside an owner's keys that tells of its ledger."""
    return Path(config.identity.folder) / MARK_FILE


def shared_mark(table: LedgerTable) -> Path:
    """Return the file that tells how far a shared file had come."""
    if table.mark is None:
        raise InvalidInput("a ledger file that owners share has a mark; say mark = FILE in the [ledger] table")
    return Path(table.mark).resolve()


def shared_file(table: LedgerTable) -> Path:
    """Return the one file that owners share, however each of them names it."""
    return Path(table.file).resolve()


@contextmanager
def _opened_alone(config: OwnerConfig, holder: str, *, new: bool) -> Iterator[MarkedFile]:
    place, mark = shared_file(config.ledger), shared_mark(config.ledger)
    if not place.exists() and not new:
        raise InvalidInput(f"there is no file of ledgers {place}; say --new-ledger as well to make one")
    with ExitStack() as stack:
        stack.enter_context(_sole_file(place, mark))
        stack.enter_context(sole_use(own_mark(config), of=holder))
        file = HostedFile(place)
        stack.callback(file.close)
        yield MarkedFile(file, mark)


@contextmanager
def _sole_file(file: Path, mark: Path) -> Iterator[None]:
    """Hold the lock beside a shared file, and the one beside its mark."""
    owners = f"a process with the owners of {file}"
    with sole_use(file, of=owners), sole_use(mark, of=owners, remedy=_ONE_FILE):
        yield


def _require_made(file: Path, mark: Path, *, new: bool) -> None:
    if not file.exists() and read_mark(mark) is not None:
        raise InvalidInput(f"there is no file of ledgers {file}, and {mark} tells that there was one; {_REMEDY}")
    if not new and not file.exists():
        raise InvalidInput(f"there is no file of ledgers {file}; the first time, start its owners with --new-ledger")
    for folder in (file.parent, mark.parent):
        if not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder} for the ledgers or their mark; make it, or name another")


def _cap(config: OwnerConfig) -> Epsilon:
    return Epsilon.of(config.ledger.cap, name="cap")
