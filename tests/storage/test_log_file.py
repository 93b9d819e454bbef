"""A file of lines that only grows: what was appended is there, what a crash cut off is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fedgroup.errors import LedgerUnavailable
from fedgroup.storage.log_file import LogFile


def test_lines_are_read_by_number_and_are_there_the_next_time_but_for_one_cut_off(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log")
    file.append([b"zero", b"", b"two"])
    file.append([b"three"])
    assert (len(file), file.read(1, 2), file.read(3, 9), file.read(4, 1)) == (4, [b"", b"two"], [b"three"], [])
    file.close()
    with (tmp_path / "log").open("ab") as cut:
        cut.write(b"fo")
    again = LogFile(tmp_path / "log")
    again.append([b"four"])
    assert again.read(0, 9) == [b"zero", b"", b"two", b"three", b"four"]
    assert (tmp_path / "log").read_bytes() == b"zero\n\ntwo\nthree\nfour\n"
    again.close()


def test_lines_that_the_disk_did_not_take_are_not_there_and_can_be_appended_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LogFile(tmp_path / "log")
    file.append([b"zero"])

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            file.append([b"one"])
    assert len(file) == 1
    file.append([b"two"])
    assert file.read(0, 9) == [b"zero", b"two"]
    file.close()
