"""The public facts a Parquet file states about itself, in its schema's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.space import Box

KEY = b"fedgroup"
MOST_OWNERS = 2**31 - 1


@dataclass(frozen=True)
class PublicFacts:
    """The agreed domain, how places are to be read, and how many owners there are, where a file says so."""

    domain: Box | None = None
    lonlat: bool | None = None
    owners: int | None = None

    def __post_init__(self) -> None:
        if not (self.lonlat is None or isinstance(self.lonlat, bool)):
            raise InvalidInput("the file's metadata must say lonlat: true or false")
        if self.owners is not None and not (type(self.owners) is int and 1 <= self.owners <= MOST_OWNERS):
            raise InvalidInput("the file's metadata must give the number of owners as a whole number of at least 1")


def facts_in(metadata: Mapping[bytes, bytes] | None) -> PublicFacts:
    """Return the public facts in a schema's metadata; a file without them states none."""
    stated = header_in(metadata)
    sides = stated.get("domain")
    try:
        domain = None if sides is None else Box(*(float(side) for side in sides))
    except (TypeError, ValueError):
        raise InvalidInput("the file's metadata must give the domain as west, south, east, north") from None
    return PublicFacts(domain=domain, lonlat=stated.get("lonlat"), owners=stated.get("owners"))


def header_in(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return what fedgroup wrote into a schema's metadata, nothing when it wrote nothing."""
    try:
        stated = json.loads((metadata or {}).get(KEY, b"{}"))
    except ValueError:
        stated = None
    if not isinstance(stated, dict):
        raise InvalidInput("the file's metadata for fedgroup is damaged; write the file again")
    return stated


def header_of(stated: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return `stated` as a schema's metadata; equal facts give equal bytes."""
    return {KEY: json.dumps(stated, sort_keys=True, allow_nan=False).encode()}
