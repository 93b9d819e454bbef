"""What a federation is opened with: records or an index, a domain, a ledger, noise."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass

from fedgroup.epsilon import Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.given import path_like, written, yes_or_no
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.noise import NoiseSource
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.windows import WindowBudget
from fedgroup.space import Box, PublicMap
from fedgroup.space.systems import require_domain_in, short
from fedgroup.storage.memory import MemoryLedger
from fedgroup.storage.sqlite import SQLiteLedger

SomeLedger = str | os.PathLike[str] | SQLiteLedger | MemoryLedger


def unpacked(given: Records | RecordIndex) -> tuple[Records, RecordIndex | None]:
    """Return the records, and their index if that was given."""
    if isinstance(given, RecordIndex):
        return given.records, given
    if not isinstance(given, Records):
        raise InvalidInput("a federation takes Records: fg.Records(...), fg.read(file) or fg.Records.from_frame(df)")
    return given, None


def agreed_domain(records: Records, domain: Box | None) -> Box:
    """Return the domain that was given, or else the one that the records' file states."""
    agreed = records.domain if domain is None else domain
    if agreed is None:
        raise InvalidInput(
            "a federation needs a public domain, e.g. Box(0, 0, 20_000, 20_000); it is never taken from the records"
        )
    return agreed


def agreed_map(records: Records, domain: Box, lonlat: bool | None) -> PublicMap:
    """Return the public map of a federation, with the name of its coordinate system if the records know it."""
    require_one_reading(records, lonlat)
    require_domain_in(domain, records.crs)
    return PublicMap(domain, records.lonlat if lonlat is None else lonlat, records.crs)


def require_one_reading(records: Records, lonlat: bool | None) -> None:
    """Refuse degrees on a plane, where a radius of 500 would be 500 degrees, and a plane as degrees."""
    if records.crs is not None and lonlat:
        raise InvalidInput(
            f"the records are in {short(records.crs)}, which is a plane; leave lonlat=True out, or use "
            "frame.to_crs('EPSG:4326') first"
        )
    if records.lonlat and lonlat is False:
        raise InvalidInput(
            "the records are in degrees, and the federation would be on a plane; leave lonlat=False out, or project "
            "the records first"
        )


def require_index(index: RecordIndex | None, public_map: PublicMap, protection: Protection) -> bool:
    """Refuse an index that was made for something else; tell whether it lacks records of owners that are cut."""
    if index is None:
        return False
    if (index.public_map, index.most) != (public_map, protection.max_records):
        raise InvalidInput("the index was made for another domain or another cut of records; make one for these")
    if protection.unit == "subject" or protection.max_bins is not None:
        # which bins come first would depend on the order of the index, and so on other units' records
        raise InvalidInput("an index does not know the table's order, by which subjects are cut; open the records")
    return index.most is not None and protection.of_subjects


def opened_ledger(ledger: SomeLedger | None) -> SQLiteLedger | MemoryLedger:
    """Return the ledger given, the one in the file given, or one in memory."""
    if ledger is None:
        return MemoryLedger()
    if isinstance(ledger, str | os.PathLike):
        return SQLiteLedger(path_like(ledger, name="a ledger"))
    if not isinstance(ledger, SQLiteLedger | MemoryLedger):
        raise InvalidInput(f"a ledger is the name of a file or an fg.SQLiteLedger, got {written(ledger)}")
    return ledger


@dataclass(frozen=True)
class Terms:
    """What a ledger is to cap, and how it is to count; None: as it does."""

    cap: Epsilon | None = None
    accounting: Accounting | None = None
    windows: WindowBudget | None = None

    @classmethod
    def said(
        cls, budget: float | None, accounting: str | None, delta: float | None, windows: WindowBudget | None
    ) -> Terms:
        """Return the terms that were said in words."""
        cap = None if budget is None else Epsilon.of(budget, name="budget")
        counted = None if (accounting, delta) == (None, None) else Accounting.of(accounting or "pure", delta)
        return cls(cap, counted, windows)


def set_terms(ledger: SQLiteLedger | MemoryLedger, terms: Terms, *, agreed: bool) -> None:
    """Let a ledger count and cap as was said, or close it: what weakens a promise is done only if it was `agreed`."""
    try:
        if terms.accounting is not None:
            ledger.count_as(terms.accounting, agreed=agreed)
        if terms.cap is not None:
            ledger.set_cap(terms.cap, raising=agreed)
        if terms.windows is not None:
            ledger.set_window_budget(terms.windows, raising=agreed)
    except BaseException:
        ledger.close()
        raise


def require_noise(seed: int | None, noise: NoiseSource | None, *, evaluation: bool) -> None:
    """Refuse what is no source of noise, and two of them."""
    if seed is not None and noise is not None:
        raise InvalidInput("give a seed or a source of noise, not both")
    if noise is not None and not (hasattr(noise, "laplace") and isinstance(getattr(noise, "private", None), bool)):
        raise InvalidInput(f"noise is a source such as fg.SecureNoise(), got {written(noise)}")
    yes_or_no(evaluation, name="evaluation")


def noise_name(noise: NoiseSource | None, seed: int | None) -> str:
    """Return what tells noises apart; a weak source that was handed in is like no other."""
    if noise is None:
        return "private" if seed is None else f"seed {seed}"
    return "private" if noise.private else secrets.token_hex(16)
