"""`fedgroup synthesize`: a city to try things on."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.clusters import Cluster, workers_of
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, option
from fedgroup.cli.output import print_json, result, several, working

if TYPE_CHECKING:
    from concurrent.futures import Executor

_CHUNKS_AHEAD = 16
"""How many chunks of 50,000 owners workers may be ahead of the file."""


@grouped
def synthesize(
    out: Annotated[Path, argument("the Parquet file to write", "OUT.parquet")],
    output: OutputOptions,
    owners: Annotated[int, option(OPTIONS, "--owners", "how many owners", "N")] = 1_000,
    records_per_owner: Annotated[
        int | None, option(OPTIONS, "--records-per-owner", "records per owner, on average; else 20", "K")
    ] = None,
    subjects: Annotated[
        int | None, option(OPTIONS, "--subjects", "so many cars or people in all, whom the owners have", "N")
    ] = None,
    records_per_subject: Annotated[
        int | None, option(OPTIONS, "--records-per-subject", "with --subjects: records each, on average; else 20", "K")
    ] = None,
    seed: Annotated[int, option(OPTIONS, "--seed", "same seed, same file", "S")] = 0,
    cluster: Cluster = None,
) -> None:
    """Write a synthetic city: districts, households, colleagues, fares and times, with its public domain."""
    from fedgroup.data.city import SIZE_M

    whom = several(owners, "owner") + ("" if subjects is None else f" with {several(subjects, 'subject')}")
    with workers_of(cluster) as executor, working(f"building a city of {whom}"):
        records = {"records_per_owner": records_per_owner, "records_per_subject": records_per_subject}
        _write(out, executor, owners=owners, subjects=subjects, seed=seed, **records)
    if output.json:
        told = {} if subjects is None else {"subjects": subjects}
        print_json({"file": str(out), "owners": owners, **told, "domain": [0, 0, SIZE_M, SIZE_M], "seed": seed})
        return
    file, centre = shlex.quote(str(out)), f"{SIZE_M / 2:g},{SIZE_M / 2:g}"
    result.print(f"{out}: {whom} in a city of {SIZE_M / 1000:g} x {SIZE_M / 1000:g} km")
    ask = f"count {file}" if subjects is None else f"people {file} --unit subject --max-records 20"
    result.print(f"try: fedgroup {ask} --near {centre} --within 500 --epsilon 0.3")


def _write(out: Path, executor: Executor | None, **city: Any) -> None:
    from fedgroup.data.synthetic import write_synthetic

    if executor is None:
        write_synthetic(out, **city)
        return
    from fedgroup.cluster.ordered import in_order

    write_synthetic(out, **city, run=partial(in_order, executor, ahead=_CHUNKS_AHEAD))
