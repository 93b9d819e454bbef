"""A process with a federation of six owners in memory and its pages; told by lines what to do, it answers by lines.

Its one argument is JSON: `degrees` puts the city at New York's place on earth, `tiles` names a server of tiles.
It is a process of its own because NiceGUI serves one application a process, and because browsers need a core, too.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
import service_city
from service_city import City, FragileSilo, open_city

from fedgroup.data.synthetic import synthesize
from fedgroup.epsilon import Epsilon
from fedgroup.lab.experiments.examples import example_city
from fedgroup.owner.records import Records
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import RangeQuery
from fedgroup.service.app import create_app
from fedgroup.service.pages.mounting import MOUNT, PageSettings, add_pages
from fedgroup.service.serving import served
from fedgroup.space import Box, Circle, PublicMap

OWNERS = 6
CREDIT = "Pictures by <b>nobody</b>"
DOMAIN = (0, 0, 20_000, 20_000)
DEGREES = (-74.1, 40.6, -73.8, 40.85)
COAST = {"type": "LineString", "coordinates": [[500, 3_000], [6_000, 1_500], [12_000, 2_600], [19_500, 900]]}


class FleetingSilo(FragileSilo):
    """Records whose owner may vanish the moment it is asked about them."""

    vanish: Callable[[], None] | None = None

    def totals(self, query: Any) -> dict[str, np.ndarray]:
        if self.vanish is not None:
            self.vanish()
        return super().totals(query)


class Lines(logging.Handler):
    """What was logged as a failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def install_city(*, degrees: bool) -> None:
    """Give the city of the service's tests another map, records on it, and owners that can vanish."""
    records = synthesize(OWNERS, records_per_owner=400, seed=3)
    west, south, east, north = DEGREES if degrees else DOMAIN
    service_city.MAP = PublicMap(Box(west, south, east, north), lonlat=degrees)
    xs = west + (east - west) * records.x / DOMAIN[2]
    ys = south + (north - south) * records.y / DOMAIN[3]

    numbers = itertools.cycle(range(OWNERS))

    def silo(_records: Records, public_map: PublicMap) -> FleetingSilo:
        rows = np.flatnonzero(records.code == next(numbers))
        fares = {"fare": np.full(len(rows), 2.0)}
        codes = np.zeros(len(rows), dtype=np.int64)
        own = Records(codes, xs[rows], ys[rows], attributes=fares, lonlat=degrees)
        return FleetingSilo(own, public_map)

    service_city.FragileSilo = silo


class Commands:
    """What tests may tell the process to do."""

    def __init__(self, city: City, sessions: Any, url: str, lines: Lines) -> None:
        self._city = city
        self._sessions = sessions
        self._url = url
        self._lines = lines

    def failures(self) -> list[str]:
        return self._lines.texts

    def charges(self) -> int:
        """How many lines all owners' ledgers have together."""
        return sum(len(owner.ledger.entries()) for owner in self._city.owners.values())

    def true_count(self, x: float, y: float, radius: float) -> int:
        query = RangeQuery("count", Circle(x, y, radius), Epsilon.of(1))
        return self._city.true_count(query)

    def user(self, name: str, allowance: float, role: str = "user") -> str:
        return self._city.state.add_user(name, allowance=Epsilon.of(allowance), per_minute=1000, role=role)

    def code(self, token: str) -> str:
        return f"{self._url}{MOUNT}/login?code={self._sessions.code_for(token)}"

    def spent(self, name: str) -> float:
        return float(self._city.state.user(name).spent)

    def remove(self, name: str) -> None:
        self._city.state.remove_user(name)

    def lose(self, name: str) -> None:
        """Let an owner's database be away from now on."""
        self._city.owners[name].silo.broken = True

    def find(self, name: str) -> None:
        self._city.owners[name].silo.broken = False

    def vanish(self, name: str) -> None:
        """Let an owner go without a word in the middle of the next question."""
        owner = self._city.owners[name]
        owner.silo.vanish = owner.link.drop  # type: ignore[attr-defined]

    async def leave(self, name: str) -> None:
        """Let an owner go without a word, and the provider notice it."""
        self._city.owners[name].link.drop()
        while name in self._city.provider.desk.present:
            await asyncio.sleep(0.01)

    async def back(self, name: str) -> None:
        """Let an owner that vanished come again."""
        owner = self._city.owners.pop(name)
        await service_city.ended(owner.task)
        owner.ledger.close()
        self._city.add(name, 0, cap=1e4)
        self._city.owners[name].silo = owner.silo
        while name not in self._city.provider.desk.present:
            await asyncio.sleep(0.01)

    def expire(self) -> None:
        self._sessions._clock = lambda: time.monotonic() + 9 * 3600

    def unexpire(self) -> None:
        self._sessions._clock = time.monotonic

    def offer(self, attributes: list[str] | None) -> None:
        """Name the attributes that can be asked about, or let nobody name any."""
        provider = self._city.provider
        provider.settings = replace(provider.settings, attributes=None if attributes is None else tuple(attributes))

    def cap(self, name: str, cap: float) -> None:
        self._city.owners[name].ledger.set_cap(Epsilon.of(cap))


async def story(*, degrees: bool = False, tiles: str | None = None) -> None:
    install_city(degrees=degrees)
    lines = Lines()
    logging.getLogger().addHandler(lines)
    with tempfile.TemporaryDirectory() as folder:
        async with open_city(Path(folder), OWNERS, dropouts=0.3) as city:
            similar = GroupingSettings(graph="likely", leftovers="cohort")
            await city.provider.regroup(similar, epsilon=Epsilon.of(1), grid=(5, 5))
            app = create_app(city.provider, city.state)
            outlines = None if degrees else COAST
            sessions = add_pages(
                app, PageSettings(outlines=outlines, tiles=tiles, credit=CREDIT, examples=example_city())
            )
            async with served(app, pages=True) as url:
                commands = Commands(city, sessions, url, lines)
                say({"url": f"{url}{MOUNT}/"})
                while line := await asyncio.to_thread(sys.stdin.readline):
                    told = json.loads(line)
                    said = getattr(commands, told[0])(*told[1:])
                    say({"said": await said if inspect.isawaitable(said) else said})


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(story(**json.loads(sys.argv[1])))
