"""What a ledger in memory promises besides: it serves one process."""

from __future__ import annotations

import subprocess
import sys

from fedgroup.epsilon import Epsilon
from fedgroup.privacy.budget import Charge
from fedgroup.storage.memory import MemoryLedger

_FORK = """
import os
from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable
from fedgroup.privacy.budget import Charge
from fedgroup.storage.memory import MemoryLedger

ledger = MemoryLedger(Epsilon(1))
child = os.fork()
try:
    ledger.charge([Charge(Epsilon(1), "query", "?")])
except LedgerUnavailable:
    os._exit(75)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if child else 0)
"""


def test_a_cap_can_be_given_at_birth() -> None:
    assert MemoryLedger(Epsilon(7)).cap == Epsilon(7)


def test_a_forked_process_cannot_spend_its_copy_of_the_balances() -> None:
    assert subprocess.run([sys.executable, "-c", _FORK], check=False, timeout=300).returncode == 75


def test_the_list_of_entries_is_a_copy() -> None:
    ledger = MemoryLedger()
    ledger.charge([Charge(Epsilon(1), "query", "?")])
    ledger.entries().clear()
    assert len(ledger.entries()) == 1
