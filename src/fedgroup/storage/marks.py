"""How far a ledger had come, told by a small file that is kept elsewhere: a ledger that forgot charges is known by it.

Guarantee: a mark is replaced as a whole, on disk with its folder, and only its user can read it. It tells nothing that
           the ledger does not hold on disk, so no crash makes a ledger look older than its mark.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from fedgroup.errors import InvalidInput

_MOST_BYTES = 1 << 12


@dataclass(frozen=True)
class Mark:
    """Which ledger, and how far: every number but the cap (in nano-epsilon) only grows."""

    ledger: str
    epoch: int
    entries: int
    comparisons: int
    cap: int | None

    def forgets(self, earlier: Mark) -> bool:
        """Tell whether something that `earlier` counted is missing here."""
        here, there = ((one.epoch, one.entries, one.comparisons) for one in (self, earlier))
        return any(now < before for now, before in zip(here, there, strict=True))


class Unmarked:
    """How much was counted since the last mark, and whether a mark is due before anything leaves for it.

    Requires:  `add` is called by one thread at a time, and so is `note_marked`; the two may meet.
    """

    def __init__(self) -> None:
        self._marked = self._due = 0
        self.counted = 0

    def add(self, amount: int, *, at_most: int, to_the_end: bool = False) -> None:
        """Count an amount; a mark is due where more than `at_most` is unmarked, or where nothing more can follow."""
        self.counted += amount
        if to_the_end or self.counted - self._marked > at_most:
            self._due = self.counted

    @property
    def is_due(self) -> bool:
        return self._due > self._marked

    def note_marked(self, counted: int) -> None:
        """Take in that a mark tells of everything up to this count."""
        self._marked = counted


def read_mark(file: Path) -> Mark | None:
    """Return the mark in a file, None if there is no file."""
    try:
        with file.open("rb") as opened:
            return _checked(json.loads(opened.read(_MOST_BYTES)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read ({error.strerror}); it tells which charges a ledger holds") from None
    except (ValueError, TypeError):
        raise InvalidInput(
            f"{file} is not the mark of a ledger; remove it, and start the owner with --restored-ledger"
        ) from None


def write_mark(file: Path, mark: Mark) -> None:
    """Write or replace the mark in a file, as a whole and on disk."""
    draft = file.with_name(f"{file.name}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(json.dumps(asdict(mark)) + "\n")
            opened.flush()
            os.fsync(descriptor)
        os.replace(draft, file)
        sync_folder(file.parent)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written ({error.strerror}); it tells which charges a ledger holds"
        ) from None


def sync_folder(folder: Path) -> None:
    """Return when the disk knows which file has which name in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked(said: dict[str, object]) -> Mark:
    mark = Mark(**said)  # type: ignore[arg-type]  # looked at below
    numbers = (mark.epoch, mark.entries, mark.comparisons, 0 if mark.cap is None else mark.cap)
    if not isinstance(mark.ledger, str) or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("not a mark")
    return mark
