"""The maps that live owners published, as layers of a page: the newest of every kind and window, as they come.

Guarantee: nothing here spends or asks owners. What is listed and opened was published, and everybody may read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fedgroup.maps.published import PublishedMap
from fedgroup.questions.instants import as_instant
from fedgroup.questions.query import Measure
from fedgroup.service.accounts import Service
from fedgroup.service.kept_maps import MOST_OPEN_BINS, Bounded
from fedgroup.service.pages.layers import About, PageLayer, PublishedShelf, layers_of, newest_of
from fedgroup.service.problems import Problem
from fedgroup.service.requests import MAP
from fedgroup.storage.provider_state import Question, User

MOST_LISTED = 100
"""So many of the latest publications are looked through."""
MOST_COUNTED = 2_000
"""Of so many of the latest publications it is told what they cost together."""


class Layers:
    """What a page can show: maps of an operator's files, and what is published now, which goes before them."""

    def __init__(self, service: Service, named: Callable[[], Sequence[PageLayer]] = tuple) -> None:
        self._service = service
        self._named = named
        self._opened: Bounded[PageLayer] = Bounded(MOST_OPEN_BINS)

    async def listed(self) -> list[About]:
        """Return what can be shown now, the earliest window first; the newest of each kind and window."""
        return newest_of(await self.every())

    async def every(self) -> list[About]:
        """Return every map that can be read, also those that a newer one replaced, the newest last."""
        found = await asyncio.to_thread(self._service.state.published, most=MOST_LISTED)
        drawn = filter(_is_drawn, reversed(found))
        return [*(layer.about for layer in self._files()), *map(_about, drawn)]

    async def shelf(self) -> PublishedShelf:
        """Return what can be shown now, and every map that was paid for, whether it can be drawn or not."""
        found = await asyncio.to_thread(self._service.state.published, most=MOST_COUNTED)
        paid = [replace(_about(each), epsilon=float(each.epsilon)) for each in found]
        files = [layer.about for layer in self._files()]
        return PublishedShelf(await self.listed(), [*files, *paid], whole=len(found) < MOST_COUNTED)

    async def layer(self, user: User, name: Any) -> PageLayer:
        """Return a layer by its name; one that was replaced stays readable."""
        for file in self._files():
            if file.name == name:
                return file
        found = self._opened.get(name) if isinstance(name, str) else None
        if found is not None:
            return found
        made = await self._service.maps.made(user, str(name))
        if not (isinstance(made, PublishedMap) or self._service.state.is_published(str(name))):
            raise Problem("unknown-map", "no such map is published")
        layer = await self._service.maps.looked(lambda: replace(layers_of(made)[0], name=str(name)))
        return self._opened.put(name, layer, weight=made.bins)

    async def from_afar(self, user: User, name: Any, side: int) -> PageLayer:
        """Return a layer as squares of which so many lie along a side, where it can be seen so."""
        layer = await self.layer(user, name)
        if layer.from_afar is None:
            return layer
        found, seen = self._opened.get((name, side)), layer.from_afar
        if found is None:
            found = await self._service.maps.looked(lambda: replace(seen(side), from_afar=seen))
            self._opened.put((name, side), found, weight=len(found.cells))
        return found

    def _files(self) -> list[PageLayer]:
        return [replace(layer, name=layer.name or str(at)) for at, layer in enumerate(self._named())]


def _is_drawn(question: Question) -> bool:
    """Tell whether a publication is cut into cells: those of standing maps may be of other places, or of means."""
    said = question.request[MAP]
    return bool(said.get("adaptive")) or (bool(said.get("grid")) and said.get("kind") != "avg")


def _about(question: Question) -> About:
    """Return what a publication on record is of."""
    said = question.request[MAP]
    since, until = (None if said.get(name) is None else as_instant(said[name], name=name) for name in _WINDOW)
    chosen = {name: said[name] for name in ("attribute", "clip", "signed", "resolution") if name in said}
    return About(
        kind=said.get("kind", "count"),
        epsilon=float(said.get("epsilon", question.epsilon)),
        name=question.id,
        at=question.at,
        since=since,
        until=until,
        measure=Measure(**chosen) if "attribute" in chosen else None,
    )


_WINDOW = ("since", "until")
