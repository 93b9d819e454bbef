"""From options to a federation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedgroup.cli.options import DataOptions
from fedgroup.cli.output import notice, working
from fedgroup.cli.parsing import parse_domain
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.federation import Federation
    from fedgroup.owner.records import Records
    from fedgroup.privacy.noise import NoiseSource


def open_federation(options: DataOptions) -> Federation:
    """Return the federation that the options describe, and say what its user should know."""
    with working(f"reading {options.data}"):
        from fedgroup.federation import Federation

        records = _records(options)
        federation = Federation(
            records,
            parse_domain(options.domain, lonlat=records.lonlat),
            budget=options.budget,
            ledger=options.ledger,
            neighbours=options.neighbours,  # type: ignore[arg-type]  # checked where it is used
            unit=options.unit,  # type: ignore[arg-type]
            max_records=options.max_records,
            seed=None if options.float_laplace else options.seed,
            noise=_noise(options),
            evaluation=options.owners is not None,
        )
    if federation.ledger.cap is None:
        notice("nothing is capped: give --ledger FILE --budget B to keep count of what every owner spends")
    return federation


def _records(options: DataOptions) -> Records:
    from fedgroup.data.files import read
    from fedgroup.data.rosters import read_owner_list

    listed = None if options.owner_list is None else read_owner_list(options.owner_list)
    records = read(
        options.data,
        owner=options.owner,
        x=options.x,
        y=options.y,
        time=options.time,
        planar=options.planar,
        owners=listed,
    )
    if options.owners is None:
        return records
    from fedgroup.evaluation.selection import select_owners

    return select_owners(records, options.owners, min_records=options.min_records, seed=options.seed or 0)


def _noise(options: DataOptions) -> NoiseSource | None:
    if not options.float_laplace:
        return None
    if options.seed is None:
        raise InvalidInput("--float-laplace is for evaluation and needs a --seed")
    from fedgroup.privacy.noise import FloatingPointLaplace

    return FloatingPointLaplace(options.seed)
