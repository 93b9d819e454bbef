"""`fedgroup audit`: attack this installation, and hold what that shows against what is charged."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, flag, option
from fedgroup.cli.output import notice, print_json, print_table, result, talk
from fedgroup.errors import InvalidInput
from fedgroup.given import whole_number

if TYPE_CHECKING:
    from fedgroup.lab.audit import Verdict
    from fedgroup.lab.audit.report import AuditReport
    from fedgroup.lab.audit.rows import AuditRow

EXCEEDED = 1
"""The exit code if some row shows more than it is charged."""


@grouped
def audit(
    output: OutputOptions,
    quick: Annotated[
        bool, flag(OPTIONS, "--quick", "a sample of the rows, fewer draws: two minutes, not an hour")
    ] = False,
    only: Annotated[str, option(OPTIONS, "--only", "rows with these words in their name", "WORDS")] = "",
    jobs: Annotated[int | None, option(OPTIONS, "--jobs", "so many processes at once; default: all cores", "N")] = None,
    html: Annotated[Path | None, option(OPTIONS, "--html", "write the report as a page too", "FILE")] = None,
) -> None:
    """Attack every kind of release and hold what that shows against its charge; exit code 1 if some row shows more."""
    from fedgroup.lab.audit import QUICK, audited, chosen_rows
    from fedgroup.lab.audit.report import AuditReport
    from fedgroup.lab.audit.rows import live_installed

    if not live_installed():
        notice("live owners are left out: they need the extra [live]")
    rows = chosen_rows(quick=quick, only=only)
    if not rows:
        raise InvalidInput(f"no row of the audit has {only!r} in its name")
    started = time.perf_counter()
    verdicts = []
    for verdict in audited(rows, effort=QUICK if quick else 1.0, jobs=_processes(jobs, len(rows))):
        verdicts.append(verdict)
        _tell(verdict, len(verdicts), rows)
    report = AuditReport(tuple(verdicts), quick, time.perf_counter() - started)
    if html is not None:
        html.write_text(report.as_html(), encoding="utf-8")
    print_json(report.as_json()) if output.json else _show(report)
    if report.exceeded:
        raise typer.Exit(EXCEEDED)


def _processes(asked: int | None, rows: int) -> int:
    most = os.cpu_count() or 1 if asked is None else whole_number(asked, name="--jobs", least=1)
    return min(most, rows)


def _tell(verdict: Verdict, done: int, rows: list[AuditRow]) -> None:
    """Tell how far it is: rows take seconds to minutes."""
    told = f"{verdict.bound:.3f} of {verdict.charge:.3f}{'  EXCEEDS ITS CHARGE' if verdict.exceeds else ''}"
    talk.print(f"{done}/{len(rows)}  {verdict.row.name}: {told}", style="dim")


def _show(report: AuditReport) -> None:
    from rich.table import Table

    from fedgroup.lab.audit.report import COLUMNS, SHOWN, cells
    from fedgroup.lab.audit.rows import NOT_AUDITED

    table = Table(*COLUMNS)
    for verdict in report.verdicts:
        table.add_row(*cells(verdict))
    print_table(table)
    result.print(report.summary)
    result.print(report.made_by)
    result.print(SHOWN)
    for what, why in NOT_AUDITED.items():
        result.print(f"not audited: {what}: {why}")
