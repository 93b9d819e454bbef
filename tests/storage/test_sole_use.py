"""One process at a time: the lock of a file goes with its process, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.storage.sole_use import AlreadyRunning, sole_use

HOLD = """
import signal, sys
from fedgroup.storage.sole_use import sole_use
with sole_use(sys.argv[1], of="it"):
    print("held", flush=True)
    signal.pause()
"""


def test_a_second_user_is_refused_and_told_which_process_it_is(tmp_path: Path) -> None:
    with sole_use(tmp_path / "a.db", of="ann"):
        told = f"ann is already running as process {os.getpid()};"
        with pytest.raises(AlreadyRunning, match=told), sole_use(tmp_path / "a.db", of="ann"):
            pass
        with sole_use(tmp_path / "b.db", of="bob"):
            pass
    with sole_use(tmp_path / "a.db", of="ann"):
        pass


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    with (
        sole_use(tmp_path / "a.db", of="ann"),
        pytest.raises(AlreadyRunning),
        sole_use(tmp_path / "link.db", of="ann"),
    ):
        pass


def test_a_killed_process_holds_nothing_any_more(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path / "a.db")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "held\n"
        told = f"as process {running.pid};"
        with pytest.raises(AlreadyRunning, match=told), sole_use(tmp_path / "a.db", of="ann"):
            pass
        running.kill()
    assert (tmp_path / "a.db.lock").exists()
    with sole_use(tmp_path / "a.db", of="ann"):
        pass


def test_a_forked_child_that_lives_on_does_not_hold_what_its_parent_held(tmp_path: Path) -> None:
    with sole_use(tmp_path / "a.db", of="ann"):
        ready, said = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(said, b"!")
            signal.pause()
            os._exit(0)
        os.read(ready, 1)
        with pytest.raises(AlreadyRunning), sole_use(tmp_path / "a.db", of="ann"):
            pass  # the child's end of it took nothing from its parent
    try:
        with sole_use(tmp_path / "a.db", of="ann"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(said)


def test_where_no_lock_can_be_made_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be made"), sole_use(tmp_path / "nowhere" / "a.db", of="ann"):
        pass
