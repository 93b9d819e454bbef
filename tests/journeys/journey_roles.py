"""A federation as its operators run it: files and certificates in a folder, processes, and a broker of any kind."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fedgroup.cli.main import main
from fedgroup.live.trial import make_trial
from fedgroup.service.client import Client, connect

COMMAND = str(Path(sys.executable).with_name("fedgroup"))
PATIENCE_S = 240.0
"""How long what must happen may take, on a machine that has other things to do."""


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is not installed: run `make services`"
    return found


def free_ports(count: int) -> list[int]:
    listeners = [socket.socket() for _ in range(count)]
    try:
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def eventually(found: Callable[[], Any], *, seconds: float = PATIENCE_S, pause_s: float = 0.05) -> Any:
    """Look until there is something, and return it."""
    end = time.monotonic() + seconds
    while not (result := found()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(pause_s)
    return result


def listens(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def where_names_lead(hosts: dict[str, list[str]], folder: Path) -> list[str]:
    """What to put before a command, so that it finds these names at these addresses, and nobody else does.

    It sees an /etc/hosts of its own: util-linux can do that for root, and for others where they may make namespaces.
    """
    lines = [f"{address} {name}\n" for name, addresses in hosts.items() for address in addresses]
    file = folder / "hosts"
    file.write_text("127.0.0.1 localhost\n" + "".join(lines))
    apart, then = ["--mount"], ""
    if os.getuid() != 0:
        apart.append("--map-root-user")
        then = f"unshare --user --map-user={os.getuid()} --map-group={os.getgid()} "
    return [program("unshare"), *apart, "sh", "-c", f'mount --bind "$0" /etc/hosts && exec {then}"$@"', str(file)]


def documented(section: str, page: str = "operate.md") -> list[str]:
    """The commands in the fenced blocks of a section, in their order."""
    text = (Path(__file__).parents[2] / "docs/how-to" / page).read_text()
    (found,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", found, flags=re.M | re.S)
    return [line for language, block in fenced if language in ("", "sh") for line in block.splitlines()]


def typed(line: str, folder: Path) -> str:
    """Run a line of `fedgroup ...` in a folder to its end, and return what it printed."""
    name, *words = shlex.split(line)
    assert name == "fedgroup"
    with chdir(folder):
        return said(*words)


def said(*words: str) -> str:
    """Run a command to its end, and return what it printed.

    It runs in this process: journeys show roles as processes, and to start one takes longer than most commands.
    """
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["fedgroup", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = before
    assert not ended.value.code, f"{' '.join(words)}\n{err.getvalue()}"
    return out.getvalue()


class Running:
    """A process whose words go to a file; it can be stopped in good order, or killed."""

    def __init__(self, words: list[str], log: Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd=cwd, env=env, start_new_session=True
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def events(self, name: str) -> list[dict[str, str]]:
        """What was logged under a name, where the log is JSON."""
        lines = [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    def wait_for(self, found: Callable[[], Any]) -> Any:
        def look() -> Any:
            assert self.process.poll() is None, self.said
            return found()

        return eventually(look)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask the process to end, and return how it did."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Roles:
    """The files of a trial federation of six, and the processes that run on them."""

    def __init__(self, folder: Path, *, owners: int = 6) -> None:
        self.trial = make_trial(folder / "federation", owners=owners, seed=1)
        self.folder = folder
        self.before: list[str] = []  # what stands before every command, see where_names_lead
        self.running: list[Running] = []
        # brokers that root starts run as a user who cannot enter the folders of tests
        self.reachable = Path(tempfile.mkdtemp(prefix="fedgroup-journey-"))
        self.reachable.chmod(0o755)
        self.rewrite(self.trial.provider, {"seconds = 10.0": f"seconds = {PATIENCE_S}"})

    def __enter__(self) -> Roles:
        return self

    def __exit__(self, *_: object) -> None:
        for running in self.running:
            running.end()
        shutil.rmtree(self.reachable)

    def rewrite(self, file: Path, told: dict[str, str]) -> None:
        """Edit a file as its operator would."""
        text = file.read_text()
        for usual, other in told.items():
            assert usual in text, usual
            text = text.replace(usual, other, 1)
        file.write_text(text)

    def point_provider_at(self, port: int, *, embedded: bool, host: str = "localhost") -> None:
        told = {"embedded = true": f"embedded = {str(embedded).lower()}"}
        self.rewrite(self.trial.provider, told | {'host = "127.0.0.1"\nport = 0': f'host = "{host}"\nport = {port}'})

    def start(self, name: str, *words: str) -> Running:
        """Run `fedgroup WORDS`, and wait until it says that it started."""
        whole = [*self.before, COMMAND, *words, "--log", "json", "--log-level", "debug"]
        started = Running(whole, self.folder / f"{name}.log")
        self.running.append(started)
        started.wait_for(lambda: started.events("started"))
        return started

    def start_provider(self, name: str = "provider") -> tuple[Running, str]:
        started = self.start(name, "provider", "--config", str(self.trial.provider))
        return started, started.events("started")[-1]["url"]

    def start_owners(self, name: str, files: list[Path], port: int) -> Running:
        named = [word for file in files for word in ("--config", str(file))]
        return self.start(name, "owner", *named, "--broker-port", str(port), "--new-ledger")

    def start_server(self, name: str, words: list[str], port: int, host: str = "127.0.0.1") -> Running:
        """Run a broker, and wait until it listens."""
        started = Running([*self.before, *words], self.folder / f"{name}.log")
        self.running.append(started)
        started.wait_for(lambda: listens(port, host))
        return started

    def add_user(self) -> str:
        """Add an operator as the command line does, and return its token."""
        state = ["--state", str(self.trial.folder / "provider.db")]
        return run("users", "add", "olga", "--allowance", "1000", "--operator", *state)["token"]

    @contextmanager
    def client(self, url: str, present: int) -> Iterator[Client]:
        """A user's connection, once so many owners are here."""
        with connect(url, self.add_user()) as client:
            eventually(lambda: client.owners()["present"] == present)
            yield client

    def true_counts(self, x: float, y: float, radius: float) -> list[int]:
        """How many records of each owner lie in a circle."""
        tables = [pq.read_table(file.with_name("records.parquet")).to_pydict() for file in self.trial.owners]
        return [
            sum((x_ - x) ** 2 + (y_ - y) ** 2 < radius**2 for x_, y_ in zip(table["x"], table["y"], strict=True))
            for table in tables
        ]

    def spent(self) -> set[float]:
        """What the owners' ledgers say that they spent."""
        return {run("ledger", str(file.with_name("ledger.db")))["spent"] for file in self.trial.owners}


def run(*words: str) -> dict[str, Any]:
    """Run a command to its end and return what it prints as JSON."""
    found: dict[str, Any] = json.loads(said(*words, "--json"))
    return found


def broker_words(roles: Roles, kind: str, port: int) -> list[str]:
    """Write a broker's files as `fedgroup broker` does, and return how to start it."""
    out, trial = roles.reachable / kind, roles.trial.folder
    owners = [word for file in roles.trial.owners for word in ("--owner", file.parent.name)] if kind == "nats" else []
    where = ["--identity", str(trial / "provider"), "--authority", str(trial / "authority"), "--port", str(port)]
    run("broker", kind, "--out", str(out), *where, *owners)
    if kind == "mosquitto":
        return [program("mosquitto"), "-c", str(out / "mosquitto.conf")]
    settings = out / "nats.conf"
    settings.write_text(re.sub(r":4222", f":{free_ports(1)[0]}", settings.read_text()))
    return [program("nats-server"), "-c", str(settings)]
