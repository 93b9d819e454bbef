"""Maps that were paid for, opened for whoever may look at them: a bounded number stays open, and looking costs nothing.

Guarantee: nothing here spends, asks owners or writes. A published map is opened for every user, any other for the user
           who asked for it; to all others it looks like one that is not there.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fedgroup.maps.about import about
from fedgroup.maps.layers import Layer, extent_of
from fedgroup.maps.private_map import PrivateMap
from fedgroup.maps.tiles import Painting, category_said, painted
from fedgroup.service.calls import map_read
from fedgroup.service.problems import Problem
from fedgroup.service.requests import MAP
from fedgroup.storage.provider_state import ProviderState, Question, User

T = TypeVar("T")

MOST_LISTED = 100
MOST_OPEN_BINS = 2_000_000
"""The bins of all maps that stay open; a larger one is open while nobody opens another."""
MOST_TILE_BYTES = 16 << 20
MOST_ENTRIES = 10_000
AT_ONCE = 2
"""How many maps are worked on at once: looking leaves most of the machine to questions."""


@dataclass(frozen=True)
class MapEntry:
    """What is told about a map without its values."""

    id: str
    at: str
    about: dict[str, Any]
    extent: list[float]
    lonlat: bool


@dataclass(frozen=True)
class Choice:
    """Which part of a map is painted: a step of time, a category, and what colours tell."""

    step: int | None = None
    category: str | None = None
    per: str | None = None


class Bounded(Generic[T]):
    """What was used last, up to a weight in all; the last one stays, whatever it weighs."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._weight = 0
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> T | None:
        """Return what is kept under a key, and remember that it was used."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: T, *, weight: int = 1) -> T:
        """Keep something, and let go of what was not used for longest."""
        self._weight += weight - self._kept.pop(key, (value, 0))[1]
        self._kept[key] = value, weight
        while self._weight > self._most and len(self._kept) > 1:
            self._weight -= self._kept.popitem(last=False)[1][1]
        return value


class KeptMaps:
    """The maps that a provider keeps, used by one event loop."""

    def __init__(self, state: ProviderState, *, most_bins: int = MOST_OPEN_BINS, at_once: int = AT_ONCE) -> None:
        self._state = state
        self._turns = asyncio.Semaphore(at_once)
        self._layers: Bounded[Layer] = Bounded(most_bins)
        self._paintings: Bounded[Painting] = Bounded(most_bins)
        self._tiles: Bounded[bytes] = Bounded(MOST_TILE_BYTES)
        self._entries: Bounded[MapEntry] = Bounded(MOST_ENTRIES)

    async def listed(self, user: User) -> list[MapEntry]:
        """Return a user's latest maps, and those that anybody published, the newest first."""
        found = await asyncio.to_thread(self._state.maps_of, user.name, most=MOST_LISTED)
        return [await self._entry(each.id, each.at) for each in found if each.state == "answered"]

    async def entry(self, user: User, map_id: str) -> MapEntry:
        """Return what is told about a map that a user may look at; others look like unknown ones."""
        return await self._entry(map_id, await self._require(user, map_id))

    async def layer(self, user: User, map_id: str) -> Layer:
        """Return a map in degrees that a user may look at, with what is needed to find its places."""
        entry = await self.entry(user, map_id)
        if not entry.lonlat:
            raise Problem("no-crs", NO_CRS.format(map_id))
        return await self._opened(map_id)

    async def made(self, user: User, map_id: str) -> PrivateMap:
        """Return a map that a user may look at."""
        await self._require(user, map_id)
        return (await self._opened(map_id)).made

    async def looked(self, work: Callable[[], T]) -> T:
        """Return what comes of work on a map, done beside the event loop when it is its turn."""
        async with self._turns:
            return await asyncio.to_thread(work)

    async def painting(self, user: User, map_id: str, choice: Choice) -> Painting:
        """Return how a map is painted."""
        layer = await self.layer(user, map_id)
        found = self._paintings.get((map_id, choice))
        if found is not None:
            return found
        made = await self.looked(lambda: self._paintings.get((map_id, choice)) or _painted(layer, choice))
        return self._paintings.put((map_id, choice), made, weight=layer.made.bins)

    async def tile(self, user: User, map_id: str, choice: Choice, place: tuple[int, int, int]) -> bytes:
        """Return a tile of a map as a PNG file."""
        painting = await self.painting(user, map_id, choice)
        key = (map_id, choice, place)
        found = self._tiles.get(key)
        if found is None:
            found = await self.looked(lambda: painting.png(*place))
            self._tiles.put(key, found, weight=len(found))
        return found

    async def _require(self, user: User, map_id: str) -> str:
        """Return when a map was asked for, or refuse to know it."""
        found = await asyncio.to_thread(self._state.map_on_record, map_id)
        if found is None or found.state != "answered" or not await self._may_read(user, found):
            raise Problem("unknown-map", "you have no map with this id; GET /v1/maps lists yours")
        return found.at

    async def _may_read(self, user: User, found: Question) -> bool:
        return found.user == user.name or await asyncio.to_thread(self._state.is_published, found.id)

    async def _entry(self, map_id: str, at: str) -> MapEntry:
        found = self._entries.get(map_id)
        if found is not None:
            return found
        made = (await self._opened(map_id)).made
        entry = MapEntry(map_id, at, about(made), extent_of(made), made.public_map.lonlat)
        return self._entries.put(map_id, entry)

    async def _opened(self, map_id: str) -> Layer:
        found = self._layers.get(map_id)
        if found is not None:
            return found
        layer = await self.looked(lambda: self._layers.get(map_id) or self._read(map_id))
        return self._layers.put(map_id, layer, weight=layer.made.bins)

    def _read(self, map_id: str) -> Layer:
        question = self._state.question(map_id)
        if question is None or question.answer is None:  # forgotten in between
            raise Problem("unknown-map", "this map is no longer kept")
        return Layer(map_read({**question.answer, "request": question.request[MAP]}))


NO_CRS = (
    "this map is on a plane, and nobody told which coordinate system that is, so that other programs would draw it "
    "elsewhere; read it with GET /v1/maps/{}?format=geojson or parquet"
)


def _painted(layer: Layer, choice: Choice) -> Painting:
    category = None if choice.category is None else category_said(layer.made, choice.category)
    return painted(layer, step=choice.step, category=category, per=choice.per)
