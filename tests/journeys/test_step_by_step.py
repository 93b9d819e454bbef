"""What live.md tells step by step, word for word, and that the files of `fedgroup init` start as they are told to."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from journey_roles import COMMAND, PATIENCE_S, Running, free_ports, typed

from fedgroup.data.synthetic import write_synthetic

LIVE = Path(__file__).parents[2] / "docs/how-to/live.md"
PORTS = ("8883", "8080")


class Typing:
    """Somebody who types commands in a folder; roles go on in terminals of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.roles: dict[str, Running] = {}
        self._ports = dict(zip(PORTS, map(str, free_ports(2)), strict=True))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(self.here(text))

    def type(self, line: str) -> str:
        """Run a line to its end, or a role until it started, and return what it printed."""
        if re.match("fedgroup (provider|owner) ", line):
            return self._start(line)
        path = f"{Path(COMMAND).parent}:{os.environ['PATH']}"
        ran = subprocess.run(
            ["sh", "-c", self.here(line)],
            cwd=self.folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=PATIENCE_S,
            check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{line}\n{ran.stderr}"
        return ran.stdout

    def here(self, text: str) -> str:
        for usual, free in self._ports.items():
            text = re.sub(rf"\b{usual}\b", free, text)
        return text

    def _start(self, line: str) -> str:
        running = Running([COMMAND, *line.split()[1:]], self.folder / f"terminal-{len(self.roles)}", cwd=self.folder)
        self.roles[line] = running
        running.wait_for(lambda: " info started" in running.said)
        return ""

    def wait_for_owners(self, count: int) -> None:
        provider = next(running for line, running in self.roles.items() if " provider " in line)
        provider.wait_for(lambda: len(re.findall(r" info connected owner=", provider.said)) >= count)


@contextmanager
def typing(folder: Path) -> Iterator[Typing]:
    typist = Typing(folder)
    try:
        yield typist
        assert {running.stop(signal.SIGINT) for running in typist.roles.values()} == {0}
    finally:
        for running in typist.roles.values():
            running.end()


def steps() -> list[tuple[str, str, str]]:
    """The fenced blocks of the section: the text before each, its language, and what is in it."""
    (section,) = re.findall(r"^## Step by step.*?\n(.*?)^## ", LIVE.read_text(), flags=re.M | re.S)
    return re.findall(r"(.*?)^```(\w*)\n(.*?)^```", section, flags=re.M | re.S)


def test_three_owners_step_by_step(tmp_path: Path) -> None:
    said: dict[str, str] = {}
    with typing(tmp_path) as typist:
        for before, language, block in steps():
            if language:
                typist.write(re.findall(r"`([\w.-]+\.(?:toml|csv))`", before)[-1], block)
                continue
            for line in block.splitlines():
                if line.startswith("fedgroup users"):
                    typist.wait_for_owners(3)
                said[line] = typist.type(line)
        answers = [text for line, text in said.items() if line.startswith("fedgroup ask")]
        assert ["for 3 owners" in text and "95 %" in text for text in answers] == [True] * 3
        noises = [re.findall(r"\d groups? with \d noise terms for 3 owners", text)[0] for text in answers]
        told = re.findall(r"`(\d groups? with \d noise terms for 3 owners)`", " ".join(LIVE.read_text().split()))
        assert [noises[0], noises[2]] == told
        assert noises[1] == noises[0]
        asked = next(line for line in said if "ask count --near" in line)
        assert json.loads(typist.type(f"{asked} --json"))["stored"] is True
        ledger = said["fedgroup ledger taxi-a.db"]
        assert "spent 3 of 10, 7 left" in ledger
        assert "until 2026-01-06T00:00:00Z" in ledger


def test_what_init_wrote_starts_as_it_is_told(tmp_path: Path) -> None:
    with typing(tmp_path) as typist:
        typed("fedgroup certificates init authority --federation city", tmp_path)
        for name, role in (("provider", "provider"), ("taxi-a", "owner")):
            typed(f"fedgroup certificates request {name} --role {role} --out {role}", tmp_path)
            typed(f"fedgroup certificates issue authority {role}/request.csr --role {role} --out {role}", tmp_path)
        write_synthetic(tmp_path / "records.parquet", owners=1, records_per_owner=50, seed=1)
        for role in ("provider", "owner"):
            told = typist.type(f"fedgroup init {role} --out {role}.toml --federation city")
            typist.write(f"{role}.toml", (tmp_path / f"{role}.toml").read_text())
            (start,) = re.findall(r"start: (fedgroup [^(\n]+)", told)
            typist.type(start.strip())
        typist.wait_for_owners(1)
        typist.type("fedgroup users add ann --allowance 10 --state provider.db > token")
        where = typist.here("--url http://127.0.0.1:8080 --token-file token --json")
        asked = f"fedgroup ask count --near 10000,10000 --within 3000 --epsilon 0.5 {where}"
        assert json.loads(typist.type(asked))["heard"] == 1
