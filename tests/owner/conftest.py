"""Owners to talk to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from node_world import MAP, WIRE, FakeSilo, Owner

from fedgroup.epsilon import Epsilon
from fedgroup.owner.node import OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.privacy.sensitivity import Protection
from fedgroup.storage.owner_ledger import OwnerLedger
from fixed_noise import fixed_noise
from owner_keys import Keys, believed


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[OwnerLedger]:
    with closing(OwnerLedger(tmp_path / "l.db")) as found:
        yield found


@pytest.fixture
def owner_of(tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    ledgers: list[OwnerLedger] = []

    def make(
        name: str = "a",
        *,
        cap: float = 10,
        silo: FakeSilo | None = None,
        parts: Mapping[str, Any] = MappingProxyType({}),
        **policy: Any,
    ) -> Owner:
        identity, silo = Keys(name), silo or FakeSilo()
        ledger = OwnerLedger(tmp_path / f"{name}.db")
        ledgers.append(ledger)
        ledger.set_cap(Epsilon.of(cap))
        node = OwnerNode(
            identity, silo, public_map=MAP, protection=Protection(), ledger=ledger, noise=fixed_noise(name),
            policy=Policy(**{"modes": ("trusted", "masked"), "trusted_with": ("*",)} | policy),
            encode=WIRE.encode, **{"verify": believed, **parts},
        )  # fmt: skip
        return Owner(node, identity, silo, ledger)

    yield make
    for ledger in ledgers:
        ledger.close()
