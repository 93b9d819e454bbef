"""A whole federation in one folder, on a synthetic city: certificates, files and records, for trying it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fedgroup.data.synthetic import synthesize
from fedgroup.errors import InvalidInput
from fedgroup.identity import Authority, Role, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.live.samples import owner_text, provider_text
from fedgroup.owner.records import Records
from fedgroup.transport.topics import PROVIDER

FEDERATION = "trial"
MOST_OWNERS = 500
HOSTS = ("localhost", "127.0.0.1")
_SILO = 'kind = "records"\npath = "records.parquet"'


@dataclass(frozen=True)
class Trial:
    """Where a trial federation's files are."""

    folder: Path

    @property
    def provider(self) -> Path:
        return self.folder / "provider.toml"

    @property
    def owners(self) -> list[Path]:
        return sorted(self.folder.glob("owners/*/owner.toml"))


def make_trial(
    folder: Path,
    *,
    owners: int,
    seed: int,
    http_port: int = 0,
    records_per_owner: int = 40,
    most: int = MOST_OWNERS,
) -> Trial:
    """Write a new trial federation into a folder; one that is there already is used as it is."""
    if not 2 <= owners <= most:
        raise InvalidInput(f"a trial federation has 2 to {most} owners, got {owners}")
    trial = Trial(folder)
    if trial.provider.exists():
        return trial
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    city = synthesize(owners, records_per_owner=records_per_owner, seed=seed)
    domain = city.domain
    if domain is None:
        raise InvalidInput("a synthetic city states its domain")
    facts: dict[str, Any] = {
        "federation": FEDERATION,
        "domain": ", ".join(f"{side:g}" for side in domain.sides),
        "host": "127.0.0.1",
    }
    authority = Authority.create(folder / "authority", FEDERATION)
    trust = Trust.load(folder / "authority")
    _issue(authority, trust, folder / "provider", PROVIDER, "provider")
    for number in range(owners):
        _write_owner(folder / "owners" / f"owner-{number:03d}", city, number, authority, trust, facts)
    trial.provider.write_text(
        provider_text(
            file="provider.toml",
            lonlat=False,
            port=0,
            http_port=http_port,
            folder="provider",
            authority="authority",
            **facts,
        )
    )
    return trial


def _write_owner(
    place: Path, city: Records, number: int, authority: Authority, trust: Trust, facts: dict[str, Any]
) -> None:
    _issue(authority, trust, place / "identity", place.name, "owner")
    rows = np.flatnonzero(city.code == number)
    table = {"owner": [place.name] * len(rows), "x": city.x[rows], "y": city.y[rows]}
    pq.write_table(pa.table(table), place / "records.parquet")
    (place / "owner.toml").write_text(
        owner_text(
            file="owner.toml", lonlat=False, port=0, silo=_SILO, folder="identity", authority="../../authority", **facts
        )
    )


def _issue(authority: Authority, trust: Trust, folder: Path, name: str, role: Role) -> None:
    request = write_request(folder, name, role, hosts=HOSTS if role == "provider" else ())
    write_answer(folder, authority.issue(request), trust)
