"""A trial federation as real processes over real TLS, which tests kill, starve and start again.

Owner number i has 2^i records, all in one place. With an epsilon so large that noise is 0, the answer to a question
about that place names the owners in it by its bits: a sum that is short of an owner, or holds one twice, shows.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError
from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.live.settings import agreed_on
from fedgroup.live.trial import make_trial
from fedgroup.questions.answers import Answer
from fedgroup.questions.query import RangeQuery
from fedgroup.service.client import AsyncClient
from fedgroup.space import Circle
from fedgroup.storage.provider_state import ProviderState

PLACE = Circle(10_000, 10_000, 500)
PRECISE = Epsilon.of(40)
"""So large that noise is 0: in a group of five, other than 0 with a chance of about 10^-17."""
RECORDS_AT_HOME = 1_000
PATIENCE_S = 120.0
"""How long what must happen may take, on a machine that has other things to do."""


class Nursery:
    """Starts roles as processes and tells how they ended; see `live_nursery.py`."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("live_nursery.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._read() == "ready"

    def start(self, *words: str | Path, log: Path, **facts: Any) -> int:
        """Run `fedgroup WORDS` in a new process and return its id."""
        return int(self._said({"words": [str(word) for word in words], "log": str(log), **facts}))

    def status(self, pid: int) -> int | None:
        """Return how a process ended, None while it runs."""
        return self._said({"status": pid})

    def close(self) -> None:
        """End, with everybody who was started."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _said(self, order: dict[str, Any]) -> Any:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        return json.loads(self._process.stdout.readline())


class World:
    """The files of a trial federation, and the processes that run on them."""

    def __init__(
        self,
        folder: Path,
        nursery: Nursery,
        owners: int,
        *,
        apart: bool = False,
        cap: float = 1e6,
        records_of: Callable[[int], int] = lambda number: 1 << number,
        hosts: int = 0,
        homes: Sequence[tuple[float, float]] = (),
        **answers: float,
    ) -> None:
        """With so many `hosts`, owners run many in a process, which has their ledgers in one file.

        With `homes`, owner number i holds many records at one of these, too, so that those with the same are alike.
        """
        self.folder = folder
        self.owners = owners
        self._doom = folder / "doom"
        self.broker_port, self.http_port = free_ports(2)
        self._nursery = nursery
        self._running: dict[str, int] = {}
        self._cap = cap
        self._records_of = records_of
        self._hosts = hosts
        self._homes = homes
        self._write(apart, {"seconds": PATIENCE_S, "cohort_size": owners, "dropouts": 0.2} | answers)

    # --- processes ----------------------------------------------------------------------------------------------------

    def start(self, role: str, **facts: Any) -> int:
        """Start an owner (by its name), a host of owners, the provider or the broker, and return its process id."""
        words = {"provider": ("provider", "--config", self.provider_file), "broker": ("broker", self.provider_file)}
        owners = [
            word for name in self.owners_in(role) for word in ("--config", self.owner_folder(name) / "owner.toml")
        ]
        quiet = ("--log-level", "warning") if role.startswith("host-") else ()
        owner = ("owner", *owners, "--broker-port", self.broker_port, "--new-ledger", *quiet)
        chosen = [str(word) for word in words.get(role, owner)]
        log, once = self.folder / f"{role}.log", str(self._doom)
        self._running[role] = self._nursery.start(*chosen, log=log, once=once, **facts)
        return self._running[role]

    def start_owners(self, *, without: tuple[str, ...] = (), **facts: Any) -> None:
        for name in self.names:
            if name not in without:
                self.start(name, **facts)

    def doom(self) -> None:
        """Let whoever was started with `dies` die there from now on."""
        self._doom.touch()

    def start_shared(self, processes: int, **facts: Any) -> list[str]:
        """Start all owners in a few processes, many in each, and return the names of these processes."""
        shares = {f"owners-{share}": self.names[share::processes] for share in range(processes)}
        for role, names in shares.items():
            configs = [word for name in names for word in ("--config", str(self.owner_folder(name) / "owner.toml"))]
            words = (
                "owner",
                *configs,
                "--broker-port",
                str(self.broker_port),
                "--new-ledger",
                "--log-level",
                "warning",
            )
            self._running[role] = self._nursery.start(*words, log=self.folder / f"{role}.log", **facts)
        return list(shares)

    def kill(self, role: str) -> None:
        """kill -9."""
        os.kill(self._running[role], signal.SIGKILL)
        self.died(role)

    def died(self, role: str) -> None:
        """Wait until a process is gone, and make sure that it was killed."""
        pid = self._running.pop(role)
        assert eventually(lambda: (self._nursery.status(pid),), lambda found: found[0] is not None)[0] == -9
        self._doom.unlink(missing_ok=True)

    def end(self) -> None:
        for role in list(self._running):
            self.kill(role)

    def pid(self, role: str) -> int:
        return self._running[role]

    # --- books --------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        return [f"owner-{number:03d}" for number in range(self.owners)]

    @property
    def owner_roles(self) -> list[str]:
        """The processes with owners: hosts if there are any."""
        return [f"host-{number:02d}" for number in range(self._hosts)] or self.names

    def owners_in(self, role: str) -> list[str]:
        """Return the owners that run in a process."""
        return self.names[int(role.removeprefix("host-")) :: self._hosts] if role.startswith("host-") else [role]

    @property
    def everybody(self) -> int:
        """The answer to a question about the place, of all owners."""
        return (1 << self.owners) - 1

    @property
    def provider_file(self) -> Path:
        return self.folder / "provider.toml"

    @property
    def config(self) -> ProviderConfig:
        return read_config(self.provider_file, ProviderConfig)

    @property
    def agreed(self) -> bytes:
        facts = self.config.federation
        return agreed_on(facts.name, facts.public_map, facts.protection)

    def owner_folder(self, name: str) -> Path:
        return self.folder / "owners" / name

    def host_file(self, role: str) -> Path:
        """Return the ledgers of the owners that a host runs."""
        return self.folder / "hosts" / str(int(role.removeprefix("host-"))) / "ledgers.db"

    def spent(self, name: str) -> int:
        """Return what an owner's ledger says it spent, in nano-epsilon, once all its books agree with each other."""
        if not (self.owner_folder(name) / "ledger.db").exists():
            return 0
        with closing(sqlite3.connect(f"{(self.owner_folder(name) / 'ledger.db').as_uri()}?mode=ro", uri=True)) as books:
            if books.execute("SELECT 1 FROM sqlite_master WHERE name = 'rounds'").fetchone() is None:
                return 0  # it is being made
            (balance,) = books.execute("SELECT coalesce(sum(nano), 0) FROM spent_by_all").fetchone()
            (charged, lines) = books.execute(
                "SELECT coalesce(sum(nano), 0), count(*) FROM entries WHERE purpose <> 'note'"
            ).fetchone()
            (kept,) = books.execute("SELECT count(*) FROM rounds").fetchone()
        assert (balance, lines) == (charged, kept)
        return int(balance)

    def all_spent(self) -> dict[str, int]:
        return {name: self.spent(name) for name in self.names}

    def add_user(self, name: str, allowance: float = 1e6, role: str = "user") -> str:
        """Add a user to the provider's books and return its token."""
        with closing(ProviderState(self.folder / "provider.db")) as state:
            return state.add_user(name, allowance=Epsilon.of(allowance), per_minute=100_000, role=role)

    def user_spent(self, name: str) -> int:
        with closing(sqlite3.connect(f"{(self.folder / 'provider.db').as_uri()}?mode=ro", uri=True)) as books:
            (spent,) = books.execute("SELECT spent FROM users WHERE name = ?", (name,)).fetchone()
            kept = books.execute("SELECT sum(nano) FROM questions WHERE user = ?", (name,)).fetchone()[0]
            forgotten = books.execute("SELECT sum(nano) FROM forgotten WHERE user = ?", (name,)).fetchone()[0]
        assert spent == (kept or 0) + (forgotten or 0)
        return int(spent)

    # --- files --------------------------------------------------------------------------------------------------------

    def _write(self, apart: bool, answers: dict[str, float]) -> None:
        make_trial(self.folder, owners=self.owners, seed=1, records_per_owner=1, hosts=self._hosts)
        provider = self.provider_file.read_text()
        provider = provider.replace("port = 0", f"port = {self.broker_port}", 1)
        provider = provider.replace("port = 0", f"port = {self.http_port}", 1)
        for name, value in answers.items():
            start = provider.index(f"\n{name} = ") + 1
            provider = provider[:start] + f"{name} = {value}\n" + provider[provider.index("\n", start) + 1 :]
        if apart:
            provider = provider.replace("embedded = true", "embedded = false")
        self.provider_file.write_text(provider)
        for number, name in enumerate(self.names):
            home = [self._homes[number % len(self._homes)]] * RECORDS_AT_HOME if self._homes else []
            places = [(PLACE.x, PLACE.y)] * self._records_of(number) + home
            self._write_owner(self.owner_folder(name), places)

    def _write_owner(self, place: Path, records: Sequence[tuple[float, float]]) -> None:
        file = place / "owner.toml"
        told = {"cap = 10.0": f"cap = {self._cap}", "highest_epsilon = 1.0": "highest_epsilon = 1000.0"}
        told |= {'modes = ["masked"]': 'modes = ["masked", "trusted"]', "trusted_with = []": 'trusted_with = ["*"]'}
        text = file.read_text()
        for usual, other in told.items():
            assert usual in text
            text = text.replace(usual, other)
        file.write_text(text)
        x, y = zip(*records, strict=True)
        table = {"owner": [place.name] * len(records), "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64())}
        pq.write_table(pa.table(table), place / "records.parquet")


def count(epsilon: Epsilon = PRECISE, radius: float = PLACE.radius) -> RangeQuery:
    """Return a question about the place; another radius makes it another question with the same answer."""
    return RangeQuery("count", Circle(PLACE.x, PLACE.y, radius), epsilon)


def require_right(answer: Answer, owners: int) -> None:
    """Make sure that an answer is the sum over as many owners as it says were heard, each once."""
    value = int(answer.value)
    assert value == answer.value
    assert 0 < value < 1 << owners
    assert value.bit_count() == answer.heard


def eventually(found: Callable[[], Any], good: Callable[[Any], bool], seconds: float = PATIENCE_S) -> Any:
    """Look until what is found is good, and return it."""
    end = time.monotonic() + seconds
    while not good(result := found()):
        assert time.monotonic() < end, f"still {result}"
        time.sleep(0.02)
    return result


async def until(true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait until something is true."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


async def until_all_are_here(client: AsyncClient, world: World, seconds: float = PATIENCE_S) -> None:
    """Wait until the provider serves users and all owners are here."""
    here = 0
    async with asyncio.timeout(seconds):
        while here != world.owners:
            await asyncio.sleep(0.05)
            with suppress(FedgroupError):
                here = (await client.owners())["present"]


def free_ports(count: int) -> list[int]:
    listeners = [socket.socket() for _ in range(count)]
    try:
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()
