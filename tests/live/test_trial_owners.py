"""A trial federation's owners end with the process that started them, however it ends, and not before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from live_world import PATIENCE_S, eventually

import fedgroup as fg
from fedgroup.live.trial import make_trial
from fedgroup.service.client import connect

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


@contextmanager
def federation(folder: Path, *words: str) -> Iterator[tuple[int, dict, Path]]:
    """A trial federation in a folder: its process, what it says once it is up, and where it complains."""
    complaints = folder.parent / "complaints"
    whole = [sys.executable, *UP, "--folder", str(folder), *words]
    with complaints.open("w") as err, subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=err, text=True) as up:
        try:
            yield up.pid, json.loads(up.stdout.readline()), complaints
        finally:
            up.send_signal(signal.SIGINT)
            up.wait()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, dict, Path]]:
    """A federation of two that tests share: its folder, its process, what it said, and where it complains."""
    folder = tmp_path_factory.mktemp("up") / "federation"
    with federation(folder) as (pid, facts, complaints):
        assert "note:" not in complaints.read_text()
        yield folder, pid, facts, complaints


def test_a_second_up_in_the_same_folder_leaves_the_first_as_it_is(running) -> None:
    folder, pid, facts, _ = running
    assert facts["owners"] == 2
    before = (folder / "up.json").read_bytes()
    words = [sys.executable, *UP, "--folder", str(folder)]
    second = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert second.returncode == 2
    assert f"already running as process {pid}" in second.stderr
    assert (folder / "up.json").read_bytes() == before


def test_owners_that_were_killed_are_started_again(running) -> None:
    folder, pid, facts, complaints = running
    before = processes_of(folder) - {pid}
    os.kill(min(before), signal.SIGKILL)
    eventually(lambda: processes_of(folder) - {pid}, lambda now: len(now) == 2 and now != before)
    access = json.loads(Path(facts["access"]).read_text())
    with connect(access["url"], access["token"]) as user:
        ask = lambda: user.count(fg.Circle(10_000, 10_000, 3_000), epsilon=0.01, method="dp", fresh=True).heard
        eventually(lambda: user.owners()["present"], lambda present: present == 2)
        eventually(ask, lambda heard: heard == 2)
    assert "ended unasked; started again" in complaints.read_text()


def test_a_folder_with_another_number_of_owners_says_both(tmp_path: Path) -> None:
    folder = tmp_path / "federation"
    make_trial(folder, owners=2, seed=1)
    with federation(folder, "--owners", "5") as (_, facts, complaints):
        assert facts["owners"] == 2
        assert "a federation of 2 owners, so 2 are started, not 5" in complaints.read_text()


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
