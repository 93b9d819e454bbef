"""The README's story of a live federation, word for word: up, questions, a ledger, Ctrl-C, and up again."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

from journey_roles import COMMAND, PATIENCE_S, Running, run

README = Path(__file__).parents[2] / "README.md"


def readme_lines() -> list[str]:
    """The commands of the section, in their order."""
    (section,) = re.findall(r"^## A live federation\n(.*?)^## ", README.read_text(), flags=re.M | re.S)
    fenced = re.findall(r"^```\n(.*?)^```", section, flags=re.M | re.S)
    return [line for block in fenced for line in block.splitlines()]


def started(line: str, folder: Path, log: str) -> Running:
    running = Running([COMMAND, *shlex.split(line)[1:]], folder / log, cwd=folder)
    running.wait_for(lambda: "Ctrl-C stops everything" in running.said)
    return running


def ran(line: str, folder: Path) -> str:
    words = [COMMAND, *shlex.split(line)[1:]]
    found = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert found.returncode == 0, f"{line}\n{found.stderr}"
    return found.stdout


def processes_of(folder: Path) -> list[str]:
    """The command lines of processes that were told of a folder, or run in it."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            told, where = (place / "cmdline").read_text().replace("\0", " "), (place / "cwd").resolve()
        except OSError:
            continue
        if str(folder) in told or where == folder:
            found.append(told)
    return found


def ledgers(folder: Path) -> set[float]:
    files = sorted(folder.glob(".fedgroup/owners/*/ledger.db"))
    assert len(files) == 12
    return {run("ledger", str(file))["spent"] for file in files}


def test_the_readmes_federation_runs_answers_stops_and_goes_on(tmp_path: Path) -> None:
    up, *others = readme_lines()
    assert (up, len(others)) == ("fedgroup up --owners 12", 5)
    running = started(up, tmp_path, "up.log")
    try:
        said = [ran(line, tmp_path) for line in others]
        assert all("12" in each for each in said[:2])
        assert "free" in said[3]
        assert "count within 3000 of 10000,10000" in said[4]
        assert json.loads(ran(f"{others[0]} --json", tmp_path))["stored"] is True
        assert running.stop(signal.SIGINT) == 0
        assert processes_of(tmp_path) == []
        assert not (tmp_path / ".fedgroup" / "up.json").exists()
        spent = ledgers(tmp_path)
        # grouping, a map and two questions; the expected error, the repeat and what is read from the map are free
        assert spent == {1.2}
        running = started(up, tmp_path, "again.log")
        assert json.loads(ran(f"{others[0]} --json", tmp_path))["stored"] is True
        assert running.stop(signal.SIGINT) == 0
        assert (processes_of(tmp_path), ledgers(tmp_path)) == ([], spent)
    finally:
        if running.process.poll() is None:
            running.stop(signal.SIGINT)  # its owners end with it
