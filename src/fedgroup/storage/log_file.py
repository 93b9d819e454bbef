"""A file of lines that only grows: the provider's public log, as anybody may copy it.

Guarantee: lines are on disk, whole, when `append` returns. A line that a crash cut off is not there the next time.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from pathlib import Path

from fedgroup.errors import LedgerUnavailable
from fedgroup.storage.marks import sync_folder


class LogFile:
    """Lines by their numbers; one process appends, one call at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._ends = array("Q")
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            with self.path.open("rb") as lines:
                end = 0
                for line in lines:
                    end += len(line)
                    if line.endswith(b"\n"):
                        self._ends.append(end)
            os.ftruncate(self._file, self._end)
            sync_folder(self.path.parent)
        except OSError as error:
            raise LedgerUnavailable(f"the log {self.path} cannot be used ({error.strerror}); try later") from None

    def close(self) -> None:
        os.close(self._file)

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def _end(self) -> int:
        return self._ends[-1] if self._ends else 0

    def append(self, lines: Sequence[bytes]) -> None:
        """Add lines, which have no line breaks; where that fails, none of them is there."""
        end, written = self._end, b"".join(line + b"\n" for line in lines)
        try:
            os.ftruncate(self._file, end)
            at = 0
            while at < len(written):
                at += os.pwrite(self._file, written[at:], end + at)
            os.fsync(self._file)
        except OSError as error:
            raise LedgerUnavailable(
                f"the log {self.path} cannot be written now ({error.strerror}); try later"
            ) from None
        for line in lines:
            end += len(line) + 1
            self._ends.append(end)

    def read(self, first: int, count: int) -> list[bytes]:
        """Return up to `count` lines from number `first` on, without their line breaks."""
        last = min(len(self), first + count)
        if first >= last:
            return []
        start = self._ends[first - 1] if first else 0
        try:
            found = os.pread(self._file, self._ends[last - 1] - start, start)
        except OSError as error:
            raise LedgerUnavailable(f"the log {self.path} cannot be read now ({error.strerror}); try later") from None
        return found.split(b"\n")[:-1]
