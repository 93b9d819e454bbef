"""From options to records, and from records to a federation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fedgroup.cli.options import DataOptions, EvaluationOptions, ProtectionOptions
from fedgroup.cli.output import notice, working
from fedgroup.cli.parsing import parse_domain
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.federation import Federation
    from fedgroup.owner.index import RecordIndex
    from fedgroup.owner.records import Records
    from fedgroup.privacy.noise import NoiseSource
    from fedgroup.space import Box


def read_records(options: DataOptions, evaluation: EvaluationOptions) -> Records:
    """Return the records that the options name."""
    if evaluation.min_records is not None and evaluation.owners is None:
        raise InvalidInput("--min-records goes with --owners N: it says among which owners N are taken")
    with working(f"reading {options.data}"):
        records = _records(options)
        if evaluation.owners is None:
            return records
        from fedgroup.evaluation.selection import select_owners

        least, seed = evaluation.min_records or 0, required_seed(evaluation.seed) or 0
        return select_owners(records, evaluation.owners, min_records=least, seed=seed)


def read_indexed(options: DataOptions, evaluation: EvaluationOptions) -> tuple[Records, RecordIndex | None]:
    """Return the records that the options name, and the saved index that DATA is, unless only some owners are taken."""
    from fedgroup.data.indexes import is_index

    if evaluation.owners is not None or not is_index(options.data):
        return read_records(options, evaluation), None
    index = _index(options)
    return index.records, index


def open_federation(
    records: Records | RecordIndex,
    *,
    domain: str | None,
    protection: ProtectionOptions,
    evaluation: EvaluationOptions,
    evaluate: bool = False,
    comparisons: int | None = None,
) -> Federation:
    """Return the federation that the options describe; one to `evaluate` shows exact values."""
    from fedgroup.federation import Federation
    from fedgroup.federation.opening import unpacked

    noise = _noise(evaluation)
    raised = (protection.budget, comparisons, protection.accounting, protection.window_budget)
    if protection.raise_budget and raised == (None, None, None, None):
        raise InvalidInput("--raise-budget goes with --budget B or --comparisons N: it says that more is meant")
    return Federation(
        records,
        required_domain(domain, unpacked(records)[0]),
        budget=protection.budget,
        raise_budget=protection.raise_budget,
        ledger=protection.ledger,
        accounting=protection.accounting,
        delta=protection.delta,
        per=protection.per,
        window_budget=protection.window_budget,
        windows=protection.windows,
        neighbours=protection.neighbours,  # type: ignore[arg-type]  # checked where it is used
        unit=protection.unit,  # type: ignore[arg-type]
        max_records=protection.max_records,
        max_bins=protection.max_bins,
        seed=required_seed(evaluation.seed) if noise is None else None,
        noise=noise,
        evaluation=evaluate or evaluation.owners is not None,
    )


def mention_caps(federation: Federation, protection: ProtectionOptions) -> None:
    """Tell a user who just spent something what is not kept count of."""
    if federation.ledger.cap is None:
        notice("nothing is capped: give --ledger FILE --budget B to keep count of what every owner spends")
    elif protection.ledger is None:
        notice("the budget held for this command only: give --ledger FILE to keep count of what every owner spends")


def required_domain(text: str | None, records: Records) -> Box:
    """Return the domain that was given, or else the one that the file states."""
    domain = parse_domain(text, lonlat=records.lonlat) or records.domain
    if domain is None:
        raise InvalidInput("--domain W,S,E,N is needed: the agreed public rectangle, never taken from the records")
    return domain


def require_evaluate(asked: str, *, exact: bool, evaluate: bool) -> None:
    """Refuse exact results where nobody said that this is an evaluation."""
    if exact and not evaluate:
        raise InvalidInput(f"{asked} shows what is exactly true, which is not private: it needs --evaluate")


def required_seed(seed: int | None) -> int | None:
    """Return the seed if generators can take it."""
    if seed is not None and seed < 0:
        raise InvalidInput(f"--seed must be at least 0, got {seed}")
    return seed


def require_writable(path: Path) -> None:
    """Refuse a file that could not be written, before anything is spent on what should be in it."""
    try:
        if not path.is_dir():
            with tempfile.TemporaryFile(dir=path.parent):
                return
    except OSError:
        pass
    raise InvalidInput(f"{path} cannot be written; give a file in a folder that exists and is writable")


def _records(options: DataOptions) -> Records:
    from fedgroup.data.files import read
    from fedgroup.data.indexes import is_index

    if is_index(options.data):
        return _index(options).records
    return read(
        options.data,
        owner=options.owner,
        x=options.x,
        y=options.y,
        time=options.time,
        subject=options.subject,
        planar=options.planar,
        owners=options.owner_list,
    )


def _index(options: DataOptions) -> RecordIndex:
    """Return the saved index; it keeps the list of owners that it was made with."""
    from fedgroup.data.indexes import load_index
    from fedgroup.data.rosters import read_owner_list
    from fedgroup.owner.identity import ascending

    index = load_index(options.data)
    if options.owner_list is not None:
        given = ascending(read_owner_list(options.owner_list, like=index.records.owners))
        if not index.records.listed or given.tolist() != index.records.owners.tolist():
            raise InvalidInput(
                f"{options.data} was made without this list of owners, which an index keeps; "
                f"make it again: fedgroup index DATA OUT --owner-list {options.owner_list}"
            )
    return index


def _noise(evaluation: EvaluationOptions) -> NoiseSource | None:
    if not evaluation.float_laplace:
        return None
    seed = required_seed(evaluation.seed)
    if seed is None:
        raise InvalidInput("--float-laplace is for evaluation and needs a --seed")
    from fedgroup.privacy.noise import FloatingPointLaplace

    return FloatingPointLaplace(seed)
