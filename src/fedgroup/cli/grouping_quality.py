"""`fedgroup experiment grouping`: every graph and algorithm on one file, as a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from fedgroup.cli.loading import required_domain
from fedgroup.cli.output import print_json, print_table, talk, working
from fedgroup.cli.parsing import parse_grid
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.cli.experiment import TrialSettings
    from fedgroup.experiments.grouping import Quality


def measure(settings: TrialSettings, *, as_json: bool) -> None:
    """Measure how well each graph and algorithm groups owners, and print it."""
    rows = _measured(settings)
    if as_json:
        print_json({"name": "grouping", "rows": [asdict(row) for row in rows], "private": False})
    else:
        _show(rows)


def _measured(settings: TrialSettings) -> list[Quality]:
    from rich.progress import track

    if settings.data is None:
        raise InvalidInput("grouping needs --data FILE: the records of the owners to group")
    selections = 10 if settings.selections is None else settings.selections
    if selections < 1:
        raise InvalidInput(f"--selections must be at least 1, got {selections}")
    grid = parse_grid(settings.grid)
    with working(f"reading {settings.data}"):
        from fedgroup.data.files import read
        from fedgroup.experiments.grouping import grouping_quality, settings_to_compare

        records = read(settings.data)
        domain = required_domain(settings.domain, records)
    found = grouping_quality(
        records,
        domain,
        owners=500 if settings.owners is None else settings.owners,
        min_records=settings.min_records,
        grid=grid,
        threshold=settings.threshold,
        epsilon=settings.epsilon,
        selections=selections,
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
