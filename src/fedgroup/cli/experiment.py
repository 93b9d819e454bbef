"""`fedgroup experiment`: measure, for evaluation only."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OutputOptions
from fedgroup.cli.output import print_json, result, talk
from fedgroup.cli.parsing import parse_domain, parse_grid
from fedgroup.errors import InvalidInput

NAMES = ("grouping",)


@grouped
def experiment(
    name: Annotated[
        str, typer.Argument(help="grouping: how well each graph and algorithm groups owners", show_default=False)
    ],
    output: OutputOptions,
    data: Annotated[Path, typer.Option(help="records of the owners to group")],
    domain: Annotated[str | None, typer.Option(help="the agreed public rectangle", metavar="W,S,E,N")] = None,
    owners: Annotated[int, typer.Option(help="owners per selection")] = 500,
    min_records: Annotated[int, typer.Option(help="among those with at least that many records")] = 10,
    grid: Annotated[str, typer.Option(help="cells of the count vectors")] = "5x5",
    threshold: Annotated[float, typer.Option(help="similarity above which two owners are joined")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="epsilon of the noisy vectors")] = 0.3,
    selections: Annotated[int, typer.Option(help="how many selections to average over")] = 10,
) -> None:
    """Measure how well owners are grouped; prints "private": false, for it looks at the exact records."""
    if name not in NAMES:
        raise InvalidInput(f"experiment is one of {', '.join(NAMES)}, got {name!r}")
    from rich.progress import track
    from rich.table import Table

    from fedgroup.data.files import read
    from fedgroup.experiments.grouping import grouping_quality, settings_to_compare

    records = read(data)
    box = parse_domain(domain, lonlat=records.lonlat) or records.domain
    if box is None:
        raise InvalidInput("--domain W,S,E,N is needed: the public rectangle is never taken from the records")
    found = grouping_quality(
        records, box, owners=owners, min_records=min_records, grid=parse_grid(grid), threshold=threshold,
        epsilon=epsilon, selections=selections,
    )  # fmt: skip
    rows = list(track(found, total=len(settings_to_compare()), description="grouping", console=talk, transient=True))
    if output.json:
        print_json({"name": name, "rows": [asdict(row) for row in rows], "private": False})
        return
    table = Table("graph", "algorithm", "q", "groups", "spread", "false pairs", "misplaced")
    for row in rows:
        table.add_row(
            row.graph, row.algorithm or "", "" if row.false_cells is None else f"{row.false_cells:g}", f"{row.groups:.1f}",
            f"{row.groups_spread:.1f}", f"{row.false_pair_share:.1%}", f"{row.misplaced_share:.1%}",
        )  # fmt: skip
    result.print(table)
