"""Rounds that begin together are counted one after the other, in what the ledger counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.storage.owner_ledger import OwnerLedger

CAP, EACH = Epsilon.of(1), Epsilon.of(0.1)


@pytest.mark.parametrize("accounting", [PURE, Accounting.of("zcdp", 1e-6)], ids=["pure", "zcdp"])
def test_rounds_begun_together_spend_what_they_would_one_by_one(accounting: Accounting, tmp_path: Path) -> None:
    ledgers = [OwnerLedger(tmp_path / f"{name}.db") for name in ("together", "apart")]
    rounds = [(bytes([at]) * 16, Charge(EACH, "query", "how many?"), "data") for at in range(40)]
    for ledger in ledgers:
        ledger.count_as(accounting)
        ledger.set_cap(CAP)
    together, apart = ledgers
    begun = together.begin_rounds(rounds)
    one_by_one = [apart.begin_rounds([each])[0] for each in rounds]
    assert [new for new, _ in begun] == [new for new, _ in one_by_one]
    assert 0 < sum(new for new, _ in begun) == accounting.units_within(CAP) // accounting.units_of(EACH, None)
    assert together.spent() == apart.spent() <= CAP
    for ledger in ledgers:
        ledger.close()
