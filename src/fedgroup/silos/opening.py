"""A silo opened from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.silos.settings import Settings, settings_of
from fedgroup.silos.silo import DatabaseSilo, Silo, Table
from fedgroup.space import PublicMap


def open_silo(settings: Mapping[str, Any], public_map: PublicMap, *, max_records: int | None = None) -> Silo:
    """Return the silo that a table of the configuration describes, after a look at its columns.

    With `max_records` only the first records inside the domain count, so many, by the column `order`; records alike in
    it are taken by their place and values. Files are read into memory, if they fit. A database that does not answer
    is `SiloUnavailable`, now and later.
    """
    said = settings_of(settings)
    if max_records is not None:
        _require_cut(max_records, said)
    silo = DatabaseSilo(
        _table(said, public_map),
        public_map,
        attributes=said.attributes,
        has_time=said.time is not None,
        max_records=max_records,
    )
    if said.kind not in ("parquet", "csv"):
        return silo
    from fedgroup.silos.memory import in_memory

    return in_memory(silo, said, public_map)


def _require_cut(max_records: int, said: Settings) -> None:
    if max_records < 1:
        raise InvalidInput(f"max_records must be at least 1, got {max_records}")
    if said.order is None:
        raise InvalidInput(
            "to count at most so many records of this owner, say by the setting order of the silo which column tells "
            "the first ones"
        )


def _table(said: Settings, public_map: PublicMap) -> Table:
    """Return the table; a database's driver is loaded only for its own kind."""
    match said.kind:
        case "parquet" | "csv":
            from fedgroup.silos.duck_table import file_table

            return file_table(said)
        case "sqlite":
            from fedgroup.silos.sqlite_table import sqlite_table

            return sqlite_table(said)
        case "postgres":
            from fedgroup.silos.postgres_table import postgres_table

            return postgres_table(said, public_map)
        case "ibis":
            from fedgroup.silos.ibis_table import ibis_table

            return ibis_table(said)
        case _:
            from fedgroup.silos.hook import hooked_table

            return hooked_table(said)
