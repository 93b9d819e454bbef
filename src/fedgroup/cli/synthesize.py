"""`fedgroup synthesize`: a city to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OutputOptions
from fedgroup.cli.output import print_json, result, working


@grouped
def synthesize(
    out: Annotated[Path, typer.Argument(help="the Parquet file to write", show_default=False)],
    output: OutputOptions,
    owners: Annotated[int, typer.Option(help="how many owners")] = 1_000,
    records_per_owner: Annotated[int, typer.Option(help="records per owner, on average")] = 20,
    seed: Annotated[int, typer.Option(help="same seed, same file")] = 0,
) -> None:
    """Write a synthetic city: districts, households, colleagues, fares and times, with its public domain."""
    with working(f"building a city of {owners:,} owners"):
        from fedgroup.data.synthetic import SIZE_M, write_synthetic

        write_synthetic(out, owners=owners, records_per_owner=records_per_owner, seed=seed)
    if output.json:
        print_json({"file": str(out), "owners": owners, "domain": [0, 0, SIZE_M, SIZE_M], "seed": seed})
    else:
        result.print(f"{out}: {owners:,} owners in a city of {SIZE_M / 1000:g} x {SIZE_M / 1000:g} km")
        result.print(f"try: fedgroup count {out} --near {SIZE_M / 2:g},{SIZE_M / 2:g} --within 500 --epsilon 0.3")
