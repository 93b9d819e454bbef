"""`fedgroup bench`: our times beside a reference's, measured in the same run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, flag, option
from fedgroup.cli.output import notice, number, print_json, print_table, result, working
from fedgroup.errors import InvalidInput
from fedgroup.lab.bench import NAMES, obstacle, run

if TYPE_CHECKING:
    from fedgroup.lab.bench.measuring import BenchReport

_BESIDE = ("case", "ours_s", "reference", "reference_s", "ratio", "peak_mb")


@grouped
def bench(
    output: OutputOptions,
    names: Annotated[list[str] | None, argument(f"{', '.join(NAMES)}; default: all", "NAME...")] = None,
    quick: Annotated[bool, flag(OPTIONS, "--quick", "small sizes, to see that it runs; judges nothing")] = False,
    owners: Annotated[
        int | None, option(OPTIONS, "--owners", "how many owners, in the bench live-many; default: 1,000", "N")
    ] = None,
) -> None:
    """Measure this machine: our times beside a reference's in the same run; some references are extrapolated."""
    asked = tuple(dict.fromkeys(names or NAMES))
    if unknown := [name for name in asked if name not in NAMES]:
        raise InvalidInput(f"the benches are: {', '.join(NAMES)}; got {unknown[0]!r}")
    reports = [_measured(name, quick, owners) for name in _possible(asked, by_name=bool(names) and not quick)]
    if output.json:
        facts = [report.as_json() for report in reports]
        print_json(facts[0] if facts and len(asked) == 1 else {"benches": facts})
        return
    for report in reports:
        _show(report)


def _possible(asked: tuple[str, ...], *, by_name: bool) -> list[str]:
    """Return the benches that can run here; one that cannot is left out with a note, or refused if asked `by_name`."""
    lacking = {name: lack for name in asked if (lack := obstacle(name))}
    for name, lack in lacking.items():
        if by_name:
            raise InvalidInput(f"the bench {name} cannot run here: {lack}")
        notice(f"the bench {name} is left out: {lack}")
    return [name for name in asked if name not in lacking]


def _measured(name: str, quick: bool, owners: int | None) -> BenchReport:
    with working(f"measuring {name}"):
        return run(name, quick=quick, **({} if owners is None else {"owners": owners}))


def _show(report: BenchReport) -> None:
    from rich.table import Table

    rows = [row.as_json() for row in report.rows]
    columns = list(dict.fromkeys([*_BESIDE, *(column for row in rows for column in row)]))
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    result.print(f"{report.name}: {report.cores} cores; {versions}{'; quick, judges nothing' if report.quick else ''}")
    table = Table(*columns)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    print_table(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else number(value)
