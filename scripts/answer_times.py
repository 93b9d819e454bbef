"""Measure how well the time of a live owner's answer tells how many records it has: at no pace, and at a public one.

    python scripts/answer_times.py --answers 1000 --every-ms 10

Owners answer over links in memory, charge ledgers on disk, and are timed by whoever asks. Two that differ in their
records are asked in random turns. A rank test tells how likely it is that the owner with more records is the later one:
0.5 tells nothing, 0 or 1 everything. In brackets: how likely such ranks are by chance; then the median time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

from fedgroup.epsilon import Epsilon
from fedgroup.live.flushing import Flushing
from fedgroup.live.owner import RunningOwner
from fedgroup.live.pacing import Moments, paced
from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.said import Described, Noisy
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub

MAP = PublicMap(Box(0, 0, 10, 10))
PRICE = Epsilon.of(0.0001)
WORLDS = {"0 or 90,000": (0, 90_000), "0 or 10,000": (0, 10_000), "10,000 or 10,001": (10_000, 10_001)}
QUESTIONS = {
    "count": lambda: _ask(RangeQuery("count", Circle(5, 5, 3), PRICE)),
    "map of 10x10": lambda: _ask(RangeQuery("count", MAP.grid(10, 10), PRICE)),
    "vector of 5x5": lambda: Describe(secrets.token_bytes(16), 5, 5, PRICE.nano),
}


@dataclass(frozen=True)
class _Named:
    """An owner's name and key."""

    name: str
    owner_key: OwnerKey = field(default_factory=OwnerKey.fresh)


def _ask(query: RangeQuery) -> Ask:
    return Ask(secrets.token_bytes(16), WireQuery.of(query), None, 60_000)


def owner(folder: Path, *, records: int) -> OwnerNode:
    """Return an owner with so many records in the middle, and one at the edge."""
    place = np.full(records + 1, 5.0)
    place[0] = 1.0
    table = Records(owner=np.zeros(records + 1, dtype=np.int64), x=place, y=place)
    ledger = OwnerLedger(folder / f"{records}.db", flushed_later=True)
    ledger.set_cap(Epsilon.of(1_000_000))
    return OwnerNode(
        _Named(f"o{records}"), TableSilo(table, MAP), public_map=MAP, protection=Protection(), policy=Policy(),
        ledger=ledger, noise=SecureNoise(), verify=lambda _: None, encode=encode,
    )  # fmt: skip


async def times(nodes: dict[int, OwnerNode], make: Any, *, answers: int, every_s: float) -> dict[int, list[float]]:
    """Return how long each of so many answers took, for whoever asked, by the number of records."""
    hub, flushing = MemoryHub(), Flushing()
    links: dict[int, Any] = {records: hub.owner(node.name) for records, node in nodes.items()}
    moments, how = Moments(every_s), {"decode": decode, "flushing": flushing, "in_thread": False}
    owners = [RunningOwner(node, paced(links[records], moments), **how) for records, node in nodes.items()]
    provider = hub.provider()
    heard = provider.received()
    for _ in nodes:
        await anext(heard)  # that they are here
    found: dict[int, list[float]] = {records: [] for records in nodes}
    turns = [records for records in nodes for _ in range(answers // len(nodes))]
    random.shuffle(turns)
    for records in turns:
        if every_s:  # at any moment between two
            await asyncio.sleep(random.random() * every_s)  # noqa: S311
        asked = make()
        begun = time.perf_counter()
        await provider.send(nodes[records].name, encode(asked))
        _, reply = await anext(heard)
        found[records].append(time.perf_counter() - begun)
        decode(reply, (Noisy, Described))
    for each in owners:
        each.close()
    flushing.close()
    return found


def row(worlds: tuple[int, int], make: Any, *, answers: int, every_s: float) -> str:
    """Return how well times tell two owners apart, and how long an answer took."""
    with tempfile.TemporaryDirectory() as folder:
        nodes = {records: owner(Path(folder), records=records) for records in worlds}
        found = asyncio.run(times(nodes, make, answers=answers, every_s=every_s))
        for node in nodes.values():
            node.ledger.close()  # type: ignore[attr-defined]
    fewer, more = (found[records] for records in worlds)
    ranks = mannwhitneyu(more, fewer)
    later = ranks.statistic / (len(fewer) * len(more))
    return f"{later:.2f} ({ranks.pvalue:.0e}), {np.median(fewer + more) * 1e3:.1f} ms"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--answers", type=int, default=1_000)
    words.add_argument("--every-ms", type=float, default=10.0)
    said = words.parse_args()
    print(f"| question | records | when ready | every {said.every_ms:g} ms |\n|---|---|---|---|")
    for name, make in QUESTIONS.items():
        for records, worlds in WORLDS.items():
            cells = [row(worlds, make, answers=said.answers, every_s=ms / 1e3) for ms in (0.0, said.every_ms)]
            print(f"| {name} | {records} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    main()
