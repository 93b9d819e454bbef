"""A silo's own SELECT, over whatever its database can join and compute.

The SELECT may use :west, :south, :east and :north, and :since and :until in seconds since 1970, to leave rows out
early; they are bound, never written into the text. It may return too many rows: they are cut and tested again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from fedgroup.errors import InvalidInput
from fedgroup.silos import duck_table, postgres_table, sqlite_table
from fedgroup.silos.duck import DuckDatabase
from fedgroup.silos.faults import asked
from fedgroup.silos.named_parameters import Spell, Statement, statement
from fedgroup.silos.postgres import PostgresDatabase
from fedgroup.silos.select import Fragments, Parameters
from fedgroup.silos.settings import Settings
from fedgroup.silos.sql_table import Database, Fetch, SqlTable, nothing, stated_version
from fedgroup.silos.sqlite import SqliteDatabase
from fedgroup.silos.wanted import EARLIEST_S, LATEST_S, CoarseBox, Wanted

Source = Callable[[int], str]

_NAMES = ("west", "south", "east", "north", "since", "until")
_NOWHERE = CoarseBox(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, repr=False)
class _Dialect:
    """A database, and how its SELECTs are written and described."""

    database: Database
    spell: Spell
    describe: Callable[[str, Parameters], dict[str, str]]
    fragments: Callable[[dict[str, str], Source], Fragments]
    literal: Callable[[str], str] = str
    fetch: Fetch | None = None


def hooked_table(settings: Settings) -> SqlTable:
    """Return what a SELECT returns as a table, after a look at its columns."""
    asks = statement(settings.given("query").strip().rstrip(";"), known=_NAMES)
    dialect = _dialect(settings)
    database = dialect.database

    def prepared() -> SqlTable:
        source = _source(asks, dialect)
        bound = _bound(asks)
        values = {f"{name}_0": value for name, value in bound(Wanted((_NOWHERE,)), _NOWHERE).items()}
        types = dialect.describe(f"SELECT * FROM {source(0)} LIMIT 0", values)  # noqa: S608  the owner's own text
        fragments = replace(dialect.fragments(types, source), near_parameters=bound)
        version = nothing if settings.version is None else stated_version(database, settings.version)
        return SqlTable(database, fragments, fetch=dialect.fetch, version=version)

    return asked(prepared, foreign=database.foreign, forget=database.close)


def _source(asks: Statement, dialect: _Dialect) -> Source:
    """Return what writes the SELECT for the box with a given number; its last line may be a comment."""

    def source(number: int) -> str:
        spell = lambda name: dialect.spell(f"{name}_{number}")
        return f"({asks.written(spell, literal=dialect.literal)}\n) AS t"

    return source


def _bound(asks: Statement) -> Callable[[Wanted, CoarseBox], Parameters]:
    """Return what gives the parameters that the SELECT uses; without a time window, all times."""

    def bound(wanted: Wanted, box: CoarseBox) -> Parameters:
        since = EARLIEST_S if wanted.since_s is None else wanted.since_s
        until = LATEST_S if wanted.until_s is None else wanted.until_s
        values = box._asdict() | {"since": since, "until": until}
        return {name: values[name] for name in asks.names}

    return bound


def _dialect(settings: Settings) -> _Dialect:
    url = settings.given("url")
    match urlsplit(url).scheme:
        case "postgresql" | "postgres":
            postgres = PostgresDatabase(url, timeout_s=settings.timeout_s)
            make = lambda types, source: postgres_table.fragments_of(types, settings, source=source)
            fetch = postgres_table.fetching(postgres)
            return _Dialect(postgres, postgres.spell, postgres.types, make, _doubled_signs, fetch)
        case "sqlite":
            sqlite = SqliteDatabase(_file(url), timeout_s=settings.timeout_s)
            make = lambda types, source: sqlite_table.fragments_of(types, settings, source=source)
            return _Dialect(sqlite, sqlite.spell, sqlite.types, make)
        case "duckdb":
            duck = DuckDatabase(_file(url) if urlsplit(url).path.strip("/") else None, folder=settings.folder)
            make = lambda types, source: duck_table.fragments_of(types, settings, source=source)
            return _Dialect(duck, duck.spell, duck.types, make)
    raise InvalidInput("the url of a silo of kind sql begins with postgresql://, sqlite:/// or duckdb:///")


def _doubled_signs(text: str) -> str:
    """Return a text in which percent signs begin no placeholder."""
    return text.replace("%", "%%")


def _file(url: str) -> Path:
    """Return the file of a url: sqlite:///here.db is in this folder, sqlite:////data/here.db is not."""
    path = Path(unquote(urlsplit(url).path)[1:]).absolute()
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    return path
