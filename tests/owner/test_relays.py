"""Secure comparisons of an epoch are over one grid of one domain with one threshold, to the last digit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedgroup.errors import BudgetExhausted
from fedgroup.messages.asked import Relay
from fedgroup.owner.relays import Relays
from fedgroup.space import Box, PublicMap
from fedgroup.storage.owner_ledger import OwnerLedger
from owner_keys import Keys, believed

BOX = Box(0, 0, 10, 10)
OTHER = Keys("b")


def begin(ledger: OwnerLedger, number: int, *, threshold: float = 0.5, public_map: PublicMap = PublicMap(BOX)) -> None:  # noqa: B008
    relays = Relays(
        Keys("a"),
        ledger,
        verify=believed,
        public_map=public_map,
        vector=lambda grid: np.zeros(grid.cells, dtype=np.int32),
    )
    relays.receive(Relay(bytes([number]) * 16, OTHER.der, 2, 3, threshold, True), limit=9)


@pytest.mark.parametrize(
    "otherwise",
    [
        {"threshold": math.nextafter(0.5, 1)},
        {"threshold": 0.5000001},
        {"public_map": PublicMap(Box(0, 0, 10, math.nextafter(10, 11)))},
        {"public_map": PublicMap(BOX, lonlat=True)},
    ],
)
def test_a_second_threshold_or_domain_waits_for_another_epoch(
    otherwise: dict[str, object], ledger: OwnerLedger
) -> None:
    begin(ledger, 1)
    begin(ledger, 2)
    with pytest.raises(BudgetExhausted):
        begin(ledger, 3, **otherwise)
    assert ledger.comparisons() == 2
    ledger.begin_epoch()
    begin(ledger, 3, **otherwise)


def test_the_ledger_tells_what_is_compared(ledger: OwnerLedger) -> None:
    begin(ledger, 1, threshold=0.1 + 0.2, public_map=PublicMap(Box(-0.0, 1, 2, 3), lonlat=True))
    (entry,) = ledger.entries()
    assert "2x3 cells of 0.0,1.0,2.0,3.0 in degrees at 0.30000000000000004" in entry.question
