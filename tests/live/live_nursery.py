"""A process that has everything loaded and forks roles on command, so that killing one fifty times takes seconds.

A line of JSON comes in, a line of JSON goes out. {"words": [...], "log": FILE, ...} runs `fedgroup WORDS` in a new
process and returns its id; {"status": ID} returns how a process ended, null while it runs. When the input ends, all
that were started end too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import live_faults
import numpy as np
import pandas  # noqa: F401  loaded once, here, as all that follow
import trial_broker

import fedgroup.cli.main
import fedgroup.data.files
import fedgroup.provider.role
import fedgroup.service.provider_process
from fedgroup.epsilon import Epsilon
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, PublicMap


def main() -> None:
    children: set[int] = set()
    _compile()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        told = _status(order["status"], children) if "status" in order else _born(order, children)
        print(json.dumps(told), flush=True)
    for pid in children:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _compile() -> None:
    """Load what counts records, so that no owner's first answer waits for a compiler."""
    public_map = PublicMap(Box(0, 0, 1, 1))
    silo = TableSilo(Records(owner=np.zeros(1, dtype=np.int64), x=np.zeros(1), y=np.zeros(1)), public_map)
    silo.totals(RangeQuery("count", Circle(0.5, 0.5, 0.4), Epsilon.of(1)))
    silo.vector(public_map.grid(2, 2))


def _status(pid: int, children: set[int]) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    if found == 0:
        return None
    children.discard(pid)  # its number may soon be that of somebody else's process
    return os.waitstatus_to_exitcode(status)


def _born(order: dict[str, Any], children: set[int]) -> int:
    pid = os.fork()
    if pid == 0:
        _live(order)
    children.add(pid)
    return pid


def _live(order: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        code = _run(order)
    finally:
        os._exit(code)


def _run(order: dict[str, Any]) -> int:
    words = order["words"]
    if order.get("clock"):
        live_faults.clock_jumps(Path(order["clock"]))
    if order.get("slept"):
        live_faults.sleeps(Path(order["slept"]))
    if order.get("dies"):
        (live_faults.owner_dies if words[0] == "owner" else live_faults.provider_dies)(
            order["dies"], Path(order["once"])
        )
    if order.get("hasty"):
        live_faults.comes_back_at_once()
    if order.get("plants"):
        live_faults.plant(order["plants"])
    if words[0] == "broker":
        trial_broker.main(*words[1:])
        return 0
    sys.argv = ["fedgroup", *words]
    try:
        fedgroup.cli.main.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    main()
