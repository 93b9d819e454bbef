"""A process with a federation of six owners in memory and its pages; told by lines what to do, it answers by lines.

Its one argument is JSON: `degrees` puts the city at New York's place on earth, `tiles` names a server of tiles,
`outlines` are drawn below areas, `districts` are areas with names, `layers` publishes a private map, `sessions` is a
folder to keep who is signed in.
It is a process of its own because NiceGUI serves one application a process, and because browsers need a core, too.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import logging
import shutil
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
from fedgroup.service.pages.layers import PageLayer, layers_of
from fedgroup.service.pages.mounting import MOUNT, PageSettings, add_pages
from fedgroup.service.requests import MapAsked
from fedgroup.service.serving import served
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.space.shapes import as_districts

OWNERS = 6
CREDIT = "Pictures by <b>nobody</b>"
DOMAIN = (0, 0, 20_000, 20_000)
DEGREES = (-74.1, 40.6, -73.8, 40.85)
WEEK_US, FIRST_US = 7 * 86_400_000_000, 1_762_128_000_000_000
"""A week, and the Monday 2025-11-03, in microseconds."""
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
        times = FIRST_US + np.arange(len(rows)) % 2 * WEEK_US
        own = Records(codes, xs[rows], ys[rows], attributes=fares, lonlat=degrees, time=times // 1_000_000)
        return FleetingSilo(own, public_map)

    service_city.FragileSilo = silo


class Slow:
    """An application whose requests wait before it hears of them, as on a slow network."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.seconds = 0.0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and self.seconds:
            await asyncio.sleep(self.seconds)
        await self._app(scope, receive, send)


class Commands:
    """What tests may tell the process to do."""

    def __init__(self, city: City, app: Any, sessions: Any, url: str, lines: Lines, slow: Slow) -> None:
        self._city = city
        self._app = app
        self._slow = slow
        self._sessions = sessions
        self._url = url
        self._lines = lines

    def delay(self, milliseconds: float) -> None:
        """Let every request wait so long from now on."""
        self._slow.seconds = milliseconds / 1000

    def keep(self, folder: str) -> None:
        """Leave the provider's file for a process that comes after this one."""
        self._city.state.backup(Path(folder) / "provider.db")

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
        owner.running.close()
        owner.ledger.close()
        self._city.add(name, 0, cap=1e4)
        self._city.owners[name].silo = owner.silo
        while name not in self._city.provider.desk.present:
            await asyncio.sleep(0.01)

    def expire(self) -> None:
        self._sessions._clock = lambda: time.time() + 9 * 3600

    def unexpire(self) -> None:
        self._sessions._clock = time.time

    def offer(self, attributes: list[str] | None) -> None:
        """Name the attributes that can be asked about, or let nobody name any."""
        provider = self._city.provider
        provider.settings = replace(provider.settings, attributes=None if attributes is None else tuple(attributes))

    async def publish(self, epsilon: float) -> str:
        """Publish a map of all times, and return its name."""
        service = self._app.state.service
        if self._city.state.user("publisher") is None:
            self.user("publisher", 1000, "operator")
        publisher = self._city.state.user("publisher")
        asked = MapAsked(adaptive=True, epsilon=epsilon, method="mpc", records=2400)
        return (await service.publications.publish(publisher, asked, key=None)).id

    def cap(self, name: str, cap: float) -> None:
        self._city.owners[name].ledger.set_cap(Epsilon.of(cap))


async def published(city: City) -> tuple[PageLayer, ...]:
    """A private map of the city in each of two weeks."""
    provider = city.provider
    domain = provider.settings.public_map.domain
    times = {"since": FIRST_US, "until": FIRST_US + 2 * WEEK_US, "every": WEEK_US}
    query = RangeQuery("count", Grid(domain, 20, 20), Epsilon.of(5), **times)
    async with provider.question(query, method="mpc", as_map=True) as live:
        made = await live.ask(by="nobody", quorum=provider.settings.quorum, may_rerun=lambda: True)
    return tuple(layers_of(made))


async def story(
    *,
    degrees: bool = False,
    tiles: str | None = None,
    layers: bool = False,
    outlines: dict[str, Any] | None = None,
    districts: dict[str, Any] | None = None,
    sessions: str | None = None,
) -> None:
    install_city(degrees=degrees)
    lines = Lines()
    logging.getLogger().addHandler(lines)
    with tempfile.TemporaryDirectory() as folder:
        if sessions is not None and (Path(sessions) / "provider.db").exists():
            shutil.copy(Path(sessions) / "provider.db", folder)
        async with open_city(Path(folder), OWNERS, dropouts=0.3) as city:
            similar = GroupingSettings(graph="likely", leftovers="cohort")
            await city.provider.regroup(similar, epsilon=Epsilon.of(1), grid=(5, 5))
            app = create_app(city.provider, city.state)
            shown = await published(city) if layers else ()
            settings = PageSettings(
                outlines=outlines or (None if degrees else COAST),
                tiles=tiles,
                credit=CREDIT,
                examples=example_city(),
                layers=lambda: shown,
                districts=None if districts is None else as_districts(districts, service_city.MAP),
                sessions=None if sessions is None else Path(sessions) / "provider.db.sessions",
            )
            signed_in = add_pages(app, settings)
            slow = Slow(app)
            async with served(slow, pages=True) as url:
                commands = Commands(city, app, signed_in, url, lines, slow)
                say({"url": f"{url}{MOUNT}/"})
                while line := await asyncio.to_thread(sys.stdin.readline):
                    told = json.loads(line)
                    said = getattr(commands, told[0])(*told[1:])
                    say({"said": await said if inspect.isawaitable(said) else said})


def say(what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    asyncio.run(story(**json.loads(sys.argv[1])))
