"""A trial federation's owners end with the process that started them, however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from live_world import eventually

UP = ("-c", "from fedgroup.cli.main import main; main()", "up", "--owners", "2", "--json")


def processes_of(folder: Path) -> set[int]:
    """The processes that were told of a folder."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            told = (place / "cmdline").read_text()
        except OSError:
            continue
        if str(folder) in told:
            found.add(int(place.name))
    return found


def test_owners_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    words = [sys.executable, *UP, "--folder", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as up:
        try:
            assert json.loads(up.stdout.readline())["owners"] == 2
            assert len(processes_of(folder) - {up.pid}) == 2
        finally:
            up.kill()
        up.wait()
    try:
        eventually(lambda: processes_of(folder), lambda left: not left)
    finally:
        for orphan in processes_of(folder):
            os.kill(orphan, signal.SIGKILL)
