"""`fedgroup synthesize`: a city to try things on."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, option
from fedgroup.cli.output import print_json, result, working


@grouped
def synthesize(
    out: Annotated[Path, argument("the Parquet file to write", "OUT.parquet")],
    output: OutputOptions,
    owners: Annotated[int, option(OPTIONS, "--owners", "how many owners", "N")] = 1_000,
    records_per_owner: Annotated[
        int, option(OPTIONS, "--records-per-owner", "records per owner, on average", "K")
    ] = 20,
    seed: Annotated[int, option(OPTIONS, "--seed", "same seed, same file", "S")] = 0,
) -> None:
    """Write a synthetic city: districts, households, colleagues, fares and times, with its public domain."""
    with working(f"building a city of {owners:,} owners"):
        from fedgroup.data.city import SIZE_M
        from fedgroup.data.synthetic import write_synthetic

        write_synthetic(out, owners=owners, records_per_owner=records_per_owner, seed=seed)
    if output.json:
        print_json({"file": str(out), "owners": owners, "domain": [0, 0, SIZE_M, SIZE_M], "seed": seed})
        return
    file, centre = shlex.quote(str(out)), f"{SIZE_M / 2:g},{SIZE_M / 2:g}"
    result.print(f"{out}: {owners:,} owners in a city of {SIZE_M / 1000:g} x {SIZE_M / 1000:g} km")
    result.print(f"try: fedgroup count {file} --near {centre} --within 500 --epsilon 0.3")
