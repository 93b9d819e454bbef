"""`fedgroup experiment`: measure, for evaluation only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import required_domain
from fedgroup.cli.options import OPTIONS, Domain, OutputOptions, argument, option
from fedgroup.cli.output import print_json, print_table, talk, working
from fedgroup.cli.parsing import parse_grid
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.experiments.grouping import Quality

NAMES = ("grouping",)


@dataclass(frozen=True)
class TrialSettings:
    """What owners are grouped by, and how often."""

    data: Annotated[Path, option(OPTIONS, "--data", "records of the owners to group", "FILE")]
    domain: Domain = None
    owners: Annotated[int, option(OPTIONS, "--owners", "owners per selection", "N")] = 500
    min_records: Annotated[int, option(OPTIONS, "--min-records", "of those with at least K records", "K")] = 10
    grid: Annotated[str, option(OPTIONS, "--grid", "cells of the count vectors", "COLUMNSxROWS")] = "5x5"
    threshold: Annotated[float, option(OPTIONS, "--threshold", "similarity above which two owners are joined", "R")] = (
        0.5
    )
    epsilon: Annotated[float, option(OPTIONS, "--epsilon", "epsilon of the noisy vectors", "E")] = 0.3
    selections: Annotated[int, option(OPTIONS, "--selections", "how many selections to average over", "N")] = 10


@grouped
def experiment(
    name: Annotated[str, argument("grouping: how well each graph and algorithm groups owners", "NAME")],
    settings: TrialSettings,
    output: OutputOptions,
) -> None:
    """Measure how well owners are grouped; prints "private": false, for it looks at the exact records."""
    if name not in NAMES:
        raise InvalidInput(f"the experiments are: {', '.join(NAMES)}; got {name!r}")
    rows = _measured(settings)
    if output.json:
        print_json({"name": name, "rows": [asdict(row) for row in rows], "private": False})
    else:
        _show(rows)


def _measured(settings: TrialSettings) -> list[Quality]:
    from rich.progress import track

    if settings.selections < 1:
        raise InvalidInput(f"--selections must be at least 1, got {settings.selections}")
    grid = parse_grid(settings.grid)
    with working(f"reading {settings.data}"):
        from fedgroup.data.files import read
        from fedgroup.experiments.grouping import grouping_quality, settings_to_compare

        records = read(settings.data)
        domain = required_domain(settings.domain, records)
    found = grouping_quality(
        records,
        domain,
        owners=settings.owners,
        min_records=settings.min_records,
        grid=grid,
        threshold=settings.threshold,
        epsilon=settings.epsilon,
        selections=settings.selections,
    )
    total, silent = len(settings_to_compare()), not talk.is_terminal
    return list(track(found, total=total, description="grouping", console=talk, transient=True, disable=silent))


def _show(rows: list[Quality]) -> None:
    from rich.table import Table

    table = Table("graph", "algorithm", "q", "groups", "spread", "false pairs", "misplaced", "strangers")
    for row in rows:
        cells = "" if row.false_cells is None else f"{row.false_cells:g}"
        groups = (f"{row.groups:.1f}", f"{row.groups_spread:.1f}")
        shares = (row.false_pair_share, row.misplaced_share, row.stranger_share)
        table.add_row(row.graph, row.algorithm or "", cells, *groups, *(f"{share:.1%}" for share in shares))
    print_table(table)
