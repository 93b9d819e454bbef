"""Nothing is released that is not recorded: not by many processes at once, not by processes killed at any moment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.storage.sqlite import SQLiteLedger

CAP = 300

_SPENDER = """
import json, sys
from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import SQLiteLedger

path, nano, cap = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
ledger = SQLiteLedger(path)
ledger.set_cap(Epsilon(cap))
spent = 0
while True:
    try:
        spent += ledger.charge([Charge(Epsilon(nano), "query", "?")]).nano
    except BudgetExhausted:
        break
print(spent)
"""

_KILLER = """
import json, os, random, signal, sys
from fedgroup.epsilon import Epsilon
from fedgroup.privacy.budget import Charge
from fedgroup.storage.sqlite import SQLiteLedger

path, releases, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = SQLiteLedger(path)
chance = random.Random(7)

def spend(told):
    out = os.open(releases, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        ledger.charge([Charge(Epsilon(1), "query", "?")])
        os.write(out, b"released\\n")
        os.write(told, b".")

seen = []
for _ in range(kills):
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        spend(told)
    for _ in range(chance.randrange(5)):  # so many releases, and a moment more, which is never the same
        os.read(heard, 1)
    sum(range(chance.randrange(100_000)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(heard)
    os.close(told)
    released = os.path.getsize(releases) // len("released\\n") if os.path.exists(releases) else 0
    seen.append((released, ledger.spent().nano, len(ledger.entries())))
print(json.dumps(seen))
"""


def finished(process: subprocess.Popen[str], said: str | None = None) -> str:
    output, _ = process.communicate(said, timeout=300)
    assert process.returncode == 0
    return output


def started(script: str, *arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_eight_processes_that_start_a_ledger_together_spend_its_cap_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    spenders = [started(_SPENDER, path, nano, CAP) for nano in (1, 1, 2, 3, 5, 7, 11, 13)]
    for spender in spenders:
        assert spender.stdout is not None
        assert spender.stdout.readline() == "ready\n"
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("\n")
        spender.stdin.flush()
    believed = [int(finished(spender)) for spender in spenders]
    ledger = SQLiteLedger(path)
    recorded = sum(entry.epsilon.nano for entry in ledger.entries())
    assert sum(believed) == recorded == ledger.spent().nano == CAP
    ledger.close()


def test_a_process_killed_a_hundred_times_has_recorded_all_it_released(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    seen = json.loads(finished(started(_KILLER, path, tmp_path / "releases", 100)))
    assert len(seen) == 100
    for kills, (released, spent, entries) in enumerate(seen, start=1):
        assert released <= spent == entries <= released + kills
    assert seen[-1][0] > 100
    ledger = SQLiteLedger(path)
    assert ledger.spent() == Epsilon(seen[-1][1])
    ledger.close()
