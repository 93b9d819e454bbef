"""A federation whose processes are killed by a seeded schedule, started again, and watched until it is whole."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from chaos_books import Books, Down, Row
from chaos_ledgers import accounts, read_only, times_charged
from live_world import PATIENCE_S, World, eventually

from fedgroup.identity import Identity, Trust
from fedgroup.lab.bench.mosquitto_server import program
from fedgroup.live.trial import FEDERATION
from fedgroup.transport.acl import mosquitto, mosquitto_acl
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import Topics

BROKERS = ("mosquitto", "embedded")
_KINDS = {"owner": 5, "owners": 2, "provider": 2, "broker": 2}
_MOST_AT_ONCE = 3
_LOOK_S = 0.1


@dataclass(frozen=True)
class Blow:
    """One blow of the schedule: who dies, how long after the last, and for how long.

    `patient`: only once everybody is back from the blow before. `after` is how many questions are begun before.
    """

    kind: str
    victims: tuple[str, ...]
    patient: bool
    after: int
    pause_s: float
    down_s: float


def blows(seed: int, roles: Sequence[str], *, broker: str, pause_s: float, down_s: float) -> Iterator[Blow]:
    """Yield a schedule without an end for these processes of owners; the same seed gives the same one."""
    chance = random.Random(f"blows {seed}")
    kinds = {kind: weight for kind, weight in _KINDS.items() if broker == "mosquitto" or kind != "broker"}
    while True:
        (kind,) = chance.choices(list(kinds), list(kinds.values()))
        count = {"owner": 1, "owners": chance.randint(2, min(_MOST_AT_ONCE, len(roles)))}.get(kind, 0)
        victims = tuple(chance.sample(list(roles), count)) or (kind,)
        pauses = chance.uniform(0, pause_s), chance.uniform(0, down_s)
        yield Blow(kind, victims, chance.random() < 0.7, chance.randint(1, 4), *pauses)


@dataclass
class Outage:
    """From the first death to the moment when everybody is back."""

    kinds: list[str]
    began: float
    restarted: float = 0.0
    ended: float | None = None

    @property
    def recovery_s(self) -> float:
        """How long it took from the last restart on."""
        return 0.0 if self.ended is None else self.ended - self.restarted


class Mosquitto:
    """The broker of a federation as a process of ours, which does not mind being killed."""

    def __init__(self, world: World) -> None:
        identity, trust = Identity.load(world.folder / "provider"), Trust.load(world.folder / "authority")
        files = (trust.authority_file, identity.certificate_file, identity.key_file, trust.revoked_file)
        rules, self._settings = world.folder / "mosquitto.acl", world.folder / "mosquitto.conf"
        rules.write_text(mosquitto_acl(Topics(FEDERATION)))
        listening = Listening("127.0.0.1", world.broker_port, *files)
        as_root = "user root\n" if os.geteuid() == 0 else ""
        self._settings.write_text(mosquitto(listening, acl_file=rules) + as_root)
        self._port, self._log = world.broker_port, world.folder / "mosquitto.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        found = program()
        assert found, "mosquitto is not installed: run `make services`"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [found, "-c", self._settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        eventually(self._listens, bool)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


@dataclass
class Stage:
    """The processes of a federation: who runs, who was dead when, and how long it took to be whole again."""

    world: World
    mosquitto: Mosquitto | None
    patience_s: float = PATIENCE_S
    hasty: bool = False
    plants: str | None = None
    running: set[str] = field(default_factory=set)
    downs: list[Down] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    kills: Counter[str] = field(default_factory=Counter)
    whole: asyncio.Event = field(default_factory=asyncio.Event)
    _died: dict[str, float] = field(default_factory=dict)

    @classmethod
    def set_up(cls, world: World, *, broker: str, **facts: Any) -> Stage:
        """Prepare a federation's broker; nobody runs yet."""
        return cls(world, Mosquitto(world) if broker == "mosquitto" else None, **facts)

    def start_all(self) -> None:
        for role in (*(("broker",) if self.mosquitto else ()), "provider", *self.world.owner_roles):
            self._start(role)

    def end(self) -> None:
        """Kill everybody who runs."""
        if self.mosquitto is not None:
            self.mosquitto.kill()
        self.world.end()

    async def strike(self, blow: Blow) -> None:
        """Kill, wait, and start again."""
        self._kill(blow)
        await asyncio.sleep(blow.down_s)
        for victim in blow.victims:
            self._start(victim)
        self.outages[-1].restarted = time.monotonic()

    async def watch(self, look: Callable[[], Awaitable[set[str]]]) -> None:
        """Note when everybody who runs is here again, until cancelled."""
        while True:
            # who looks may be told of what was before a kill: only what was asked for after it counts
            outage = self.outages[-1] if self.outages else None
            kills, running = sum(self.kills.values()), set(self.running)
            here = await look()
            owners = {name for role in self.world.owner_roles if role in running for name in self.world.owners_in(role)}
            if here == owners and kills == sum(self.kills.values()) and not self._died:
                if outage is not None and outage.ended is None and outage.restarted:
                    outage.ended = time.monotonic()
                self.whole.set()
            await asyncio.sleep(_LOOK_S)

    async def until_whole(self, *, anew: bool = False) -> bool:
        """Wait until everybody is here, or is seen so `anew`; tell whether that came about."""
        if anew:
            self.whole.clear()
        try:
            await asyncio.wait_for(self.whole.wait(), self.patience_s)
        except TimeoutError:
            return False
        return True

    def lines(self, nano: int) -> dict[str, Counter[int]]:
        """Return how many lines every owner's ledger has for a charge, now."""
        found = {name: Counter[int]() for name in self.world.names}
        for role in self.world.owner_roles:
            for name, times in times_charged(self.world, role, nano).items():
                found[name][nano] = times
        return found

    def books(self) -> Books:
        """Return all that is on disk."""
        with closing(read_only(self.world.folder / "provider.db")) as file:
            spent = dict(file.execute("SELECT name, spent FROM users"))
            found = file.execute("SELECT key, user, nano, state, answer FROM questions").fetchall()
        rows = {key: Row(user, nano, state, json.loads(answer or "null")) for key, user, nano, state, answer in found}
        ledgers = [accounts(self.world, role) for role in self.world.owner_roles]
        return Books(spent, rows, {name: account for each in ledgers for name, account in each.items()})

    def _kill(self, blow: Blow) -> None:
        self.whole.clear()
        if not self.outages or self.outages[-1].ended is not None:
            self.outages.append(Outage([], time.monotonic()))
        self.outages[-1].kinds.append(blow.kind)
        for victim in blow.victims:
            if victim == "broker" and self.mosquitto is not None:
                self.mosquitto.kill()
            else:
                self.world.kill(victim)
            self._died[victim] = time.monotonic()
            self.running.discard(victim)
            self.kills[blow.kind if victim in ("broker", "provider") else "owner"] += 1

    def _start(self, role: str) -> None:
        if role in self._died:
            began, ended = self._died.pop(role), time.monotonic()
            self.downs += [Down(name, began, ended) for name in self.world.owners_in(role)]
        if role == "broker" and self.mosquitto is not None:
            self.mosquitto.start()
        else:
            facts = {"hasty": True} if self.hasty else {}
            self.world.start(role, **facts, **({} if self.plants is None else {"plants": self.plants}))
        self.running.add(role)
