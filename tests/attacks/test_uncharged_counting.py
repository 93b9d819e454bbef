"""An exhausted owner is asked for nothing: neither its silo nor the times of its refusals tell of records."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from fedgroup.epsilon import Epsilon
from fedgroup.errors import SiloUnavailable
from fedgroup.messages.asked import Ask, Describe, Relay
from fedgroup.messages.said import Refused
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
REFUSALS = 2_000
FALSE_ALARM = 1e-6


class Watched(TableSilo):
    """A table that tells when somebody counts in it."""

    looked = 0

    def totals(self, query: RangeQuery) -> dict[str, np.ndarray]:
        self.looked += 1
        return super().totals(query)

    def vector(self, grid: Grid) -> np.ndarray:
        self.looked += 1
        return super().vector(grid)


def owner(folder: Path, *, records: int, left: float = 0.0) -> tuple[OwnerNode, Watched]:
    """An owner with so many records around the middle; of its budget of 1 little is left."""
    place = np.full(records + 1, 5.0)
    place[0] = 1.0
    silo = Watched(Records(owner=np.zeros(records + 1, dtype=np.int64), x=place, y=place), MAP)
    ledger = OwnerLedger(folder / f"{records}.db")
    ledger.set_cap(Epsilon.of(left or 1e-9))
    node = OwnerNode(
        Keys("me"), silo, public_map=MAP, protection=Protection(), policy=Policy(comparisons=0), ledger=ledger,
        noise=SecureNoise(), verify=believed, encode=encode,
    )  # fmt: skip
    return node, silo


def question(number: int, plan: str | None = None) -> Ask:
    return Ask(
        number.to_bytes(16, "big"), WireQuery.of(RangeQuery("count", Circle(5, 5, 3), Epsilon.of(1))), plan, 9_000
    )


def reason(node: OwnerNode, message: object) -> str:
    ((to, payload),) = node.receive(PROVIDER, message)
    assert to == PROVIDER
    return decode(payload, (Refused,)).reason


@pytest.fixture
def exhausted(tmp_path: Path) -> Iterator[dict[int, tuple[OwnerNode, Watched]]]:
    owners = {records: owner(tmp_path, records=records) for records in (0, 10_000)}
    yield owners
    for node, _ in owners.values():
        node.ledger.close()  # type: ignore[attr-defined]


def test_what_is_not_charged_is_not_counted(exhausted: dict[int, tuple[OwnerNode, Watched]]) -> None:
    node, silo = exhausted[10_000]
    other = Keys("other")
    assert reason(node, question(1)) == "budget"
    assert reason(node, Describe(b"d" * 16, 5, 5, 10**9)) == "budget"
    assert reason(node, Relay(b"s" * 16, other.der, 4, 4, 0.5, True)) == "budget"
    assert silo.looked == 0


def test_times_of_refusals_do_not_tell_how_many_records_are_there(
    exhausted: dict[int, tuple[OwnerNode, Watched]],
) -> None:
    times: dict[int, list[int]] = {records: [] for records in exhausted}
    order = [records for records in exhausted for _ in range(REFUSALS // 2)]
    random.Random(1).shuffle(order)  # whatever else the machine does, it does to both
    for number, records in enumerate(order):
        node, _ = exhausted[records]
        ask = question(number)
        begun = time.perf_counter_ns()
        replies = node.receive(PROVIDER, ask)
        times[records].append(time.perf_counter_ns() - begun)
        assert decode(replies[0][1], (Refused,)).reason == "budget"
    assert mannwhitneyu(times[0], times[10_000]).pvalue > FALSE_ALARM


def test_what_was_counted_is_charged_even_if_the_database_then_fails(tmp_path: Path) -> None:
    node, silo = owner(tmp_path, records=5, left=10.0)

    def slow(query: RangeQuery) -> dict[str, np.ndarray]:
        raise SiloUnavailable("the statement took too long, which depends on how much there is to count")

    silo.totals = slow
    assert reason(node, question(1)) == "failed"
    assert node.ledger.spent() == Epsilon.of(1)  # type: ignore[attr-defined]
