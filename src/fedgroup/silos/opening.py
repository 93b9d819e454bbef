"""A silo opened from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.privacy.sensitivity import Protection
from fedgroup.silos.settings import Settings, settings_of
from fedgroup.silos.silo import DatabaseSilo, Silo, Table
from fedgroup.space import PublicMap


def open_silo(settings: Mapping[str, Any], public_map: PublicMap, *, protection: Protection | None = None) -> Silo:
    """Return the silo that a table of the configuration describes, after a look at its columns.

    Where `protection` cuts what an owner or a subject contributes, the first records inside the domain count, by the
    column `order`; records alike in it are taken by their place and values. Files are read into memory, if they fit. A
    database that does not answer is `SiloUnavailable`, now and later.
    """
    said = settings_of(settings)
    protects = Protection() if protection is None else protection
    if protects.max_records is not None and said.order is None:
        raise InvalidInput(
            "to count at most so many records of this owner or of each subject, say by the setting order of the silo "
            "which column tells the first ones"
        )
    silo = DatabaseSilo(_table(said, public_map), public_map, columns=said, protection=protects)
    if said.kind not in ("parquet", "csv"):
        return silo
    from fedgroup.silos.memory import in_memory

    return in_memory(silo, said, public_map, protection=protects)


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
