"""What the compose file starts in containers, started here as processes: the same setup, commands, files and names."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import yaml
from journey_roles import COMMAND, PATIENCE_S, Running, documented, free_ports, listens, program, where_names_lead

from fedgroup.lab.bench import postgres_server as database

DEPLOY = Path(__file__).parents[2] / "deploy"
SERVICES = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
OWNERS = ("taxi-a", "taxi-b", "taxi-c")
NAMES = {name: ["127.0.0.1"] for name in ("mosquitto", "provider", "postgis")}
ALL_OVER = 6_000 * 0.077
"""About how many made-up trips begin in the circle of the documents: the share that it has of the domain."""


class Composed:
    """A folder in place of ./federation, and ports that are free in place of those of containers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "federation"
        self.folder.mkdir()
        self._log = folder
        self._ports = dict(zip(("8883", "8080"), map(str, free_ports(2)), strict=True))
        self._before = where_names_lead(NAMES, folder)
        self._path = f"{Path(COMMAND).parent}:{os.environ['PATH']}"
        self.running: list[Running] = []

    def run(self, name: str, *words: str) -> str:
        """Run a service to its end, and return what it printed."""
        whole = self._words(name, *words)
        ran = subprocess.run(
            whole, env=self._environment(name), cwd=self._cwd(name), capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def start(self, name: str, first: str = "") -> Running:
        words = self._words(name, first=first)
        begun = Running(words, self._log / f"{name}{first}.log", env=self._environment(name))
        self.running.append(begun)
        port = int(self._ports["8883"])
        begun.wait_for(lambda: listens(port) if name == "mosquitto" else begun.events("started"))
        return begun

    def fit(self) -> None:
        """Let files say other ports, and addresses that nobody else reaches."""
        for file in (*self.folder.glob("*/*.toml"), self.folder / "mosquitto/mosquitto.conf"):
            file.write_text(self._here(file.read_text()).replace("0.0.0.0", "127.0.0.1"))

    def _words(self, name: str, *words: str, first: str = "") -> list[str]:
        service = SERVICES[name]
        command = service.get("command", [])
        said = shlex.split(command.replace("${FIRST:-}", first)) if isinstance(command, str) else command
        entry = service.get("entrypoint", ["fedgroup"] if "build" in service else [])
        found = [*entry, *(words or said)]
        return [*self._before, program(found[0]) if found[0] == "mosquitto" else found[0], *map(self._here, found[1:])]

    def _environment(self, name: str) -> dict[str, str]:
        said = {key: self._here(value) for key, value in SERVICES[name].get("environment", {}).items()}
        return os.environ | {"PATH": self._path} | said | {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", "")}

    def _cwd(self, name: str) -> str | None:
        found = SERVICES[name].get("working_dir")
        return None if found is None else self._here(found)

    def _here(self, text: str) -> str:
        for usual, free in self._ports.items():
            text = re.sub(rf"\b{usual}\b", free, text)
        places = {"/federation": str(self.folder), "/compose": str(DEPLOY / "compose")}
        return re.sub(r"(?<![\w./])/(?:federation|compose)\b", lambda found: places[found[0]], text)


@pytest.fixture
def composed() -> Iterator[Composed]:
    folder = Path(tempfile.mkdtemp(prefix="fedgroup-compose-"))
    folder.chmod(0o755)  # mosquitto, started by root, runs as somebody who must get in
    made = Composed(folder)
    yield made
    for running in made.running:
        running.end()
    shutil.rmtree(folder)


def fleet(server: database.PostgresServer, composed: Composed) -> None:
    """Do what the image of PostGIS does the first time: a database, and its files; by network it wants passwords."""
    rules = server.folder / "data" / "pg_hba.conf"
    rules.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(f"CREATE DATABASE {SERVICES['postgis']['environment']['POSTGRES_DB']}")
    (script,) = [v.split(":")[0] for v in SERVICES["postgis"]["volumes"] if "/docker-entrypoint-initdb.d/" in v]
    with psycopg.connect(server.url.replace("/postgres?", "/fleet?"), autocommit=True) as connection:
        connection.execute((composed.folder.parent / script).read_text())


def test_what_compose_starts_answers_from_postgis(composed: Composed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database._SETTINGS, "listen_addresses", "127.0.0.1")
    monkeypatch.setenv("PGPORT", str(free_ports(1)[0]))
    composed.run("setup")
    for name, service in SERVICES.items():
        for place in (volume.split(":")[0] for volume in service["volumes"] if name != "setup"):
            assert (composed.folder.parent / place).exists(), f"{name}: {place}"
    composed.fit()
    ask = shlex.split(documented("Run a provider")[-1].partition(" ask ")[2])
    with database.postgres_server() as server:
        fleet(server, composed)
        composed.start("mosquitto")
        composed.start("provider")
        owners = [composed.start(name, "--new-ledger") for name in OWNERS]
        for owner in owners:
            owner.wait_for(lambda owner=owner: owner.events("connected"))
        answer = json.loads(composed.run("ask", *ask, "--json"))
        assert (answer["heard"], answer["missing"]) == (3, 0)
        assert 0.5 * ALL_OVER < answer["value"] < 1.5 * ALL_OVER  # noise of that size: less than once in a million
        assert [owner.stop() for owner in owners] == [0, 0, 0]
        again = [composed.start(name) for name in OWNERS]  # without FIRST: the ledgers are there
        for owner in again:
            owner.wait_for(lambda owner=owner: owner.events("connected"))
        assert json.loads(composed.run("ask", *ask, "--json"))["stored"] is True
