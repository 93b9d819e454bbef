"""The owners' ledgers of a trial federation as they are on disk, each in its own file or many in a host's.

Read by statements of their own, past the code that writes them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from chaos_books import Account
from live_world import PATIENCE_S, World

_OWN = {
    "times": "SELECT :name, count(*) FROM entries WHERE nano = :nano",
    "lines": "SELECT :name, nano, count(*) FROM entries WHERE purpose <> 'note' GROUP BY nano",
    "balances": "SELECT :name, coalesce(sum(nano), 0) FROM spent_by_all",
    "rounds": "SELECT :name, count(*) FROM rounds",
}
_HOSTED = {
    "times": "SELECT name, count(*) FROM entries JOIN holders ON number = owner WHERE nano = :nano GROUP BY name",
    "lines": """SELECT name, nano, count(*) FROM entries JOIN holders ON number = owner
        WHERE purpose <> 'note' GROUP BY name, nano""",
    "balances": "SELECT name, units FROM holders",
    "rounds": "SELECT name, count(*) FROM rounds JOIN holders ON number = owner GROUP BY name",
}


def read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)


def ledger_files(world: World) -> dict[str, Path]:
    """Return the file that each owner's ledger is in."""
    return {name: _file(world, role) for role in world.owner_roles for name in world.owners_in(role)}


def times_charged(world: World, role: str, nano: int) -> dict[str, int]:
    """Return how many lines of an amount each owner of a process has."""
    with _opened(world, role) as (books, sql):
        return dict(books.execute(sql["times"], {"name": role, "nano": nano}))


def accounts(world: World, role: str) -> dict[str, Account]:
    """Return the ledgers of a process with owners."""
    lines = {name: Counter[int]() for name in world.owners_in(role)}
    with _opened(world, role) as (books, sql):
        for name, nano, times in books.execute(sql["lines"], {"name": role}):
            lines[name][nano] = times
        balances, rounds = (dict(books.execute(sql[each], {"name": role})) for each in ("balances", "rounds"))
    return {name: Account(each, balances.get(name, 0), rounds.get(name, 0)) for name, each in lines.items()}


def _file(world: World, role: str) -> Path:
    return world.host_file(role) if _hosts(role) else world.owner_folder(role) / "ledger.db"


def _hosts(role: str) -> bool:
    return role.startswith("host-")


@contextmanager
def _opened(world: World, role: str) -> Iterator[tuple[sqlite3.Connection, Mapping[str, str]]]:
    with closing(read_only(_file(world, role))) as books:
        yield books, _HOSTED if _hosts(role) else _OWN
