"""`fedgroup experiment`: the paper's figures on your data, for evaluation only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.extras import require_extras
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, Domain, OutputOptions, argument, flag, option
from fedgroup.cli.output import print_json, result, talk, working
from fedgroup.cli.parsing import parse_domain, parse_grid
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.lab.experiments.running import World
    from fedgroup.lab.experiments.trial import TrialPlan
from dataclasses import asdict
from typing import TYPE_CHECKING

from fedgroup.cli.loading import required_domain
from fedgroup.cli.output import print_table

if TYPE_CHECKING:
    from fedgroup.lab.experiments.grouping import Quality


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
        from fedgroup.lab.experiments.grouping import grouping_quality, settings_to_compare

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


NAMES = ("accuracy-epsilon", "accuracy-owners", "noisy-vs-clear", "misplaced", "time", "scalability", "trust")
OTHERS = ("published-maps", "ladder", "liars", "scale")
SAMPLE = "How much is measured"
SETTINGS = "Settings of the methods"
_OUT, _QUICK_OUT = Path("fedgroup-experiments"), Path("fedgroup-experiments-quick")


@dataclass(frozen=True)
class TrialSettings:
    """On which data, and how much of it."""

    data: Annotated[
        Path | None,
        option(
            OPTIONS, "--data", "folder or file with check-ins; default: a synthetic city (grouping: a file)", "PATH"
        ),
    ] = None
    out: Annotated[
        Path | None, option(OPTIONS, "--out", f"folder for rows, figures and report.md; default {_OUT}", "FOLDER")
    ] = None
    quick: Annotated[bool, flag(OPTIONS, "--quick", "small sizes, to see that it runs; judges nothing")] = False
    repeats: Annotated[
        int | None, option(SAMPLE, "--repeats", "fresh answers to every question; default 20 (quick: 5)", "N")
    ] = None
    selections: Annotated[
        int | None, option(SAMPLE, "--selections", "selections to average over; default 10 (quick: 2)", "N")
    ] = None
    owners: Annotated[int | None, option(SAMPLE, "--owners", "owners per selection; default 500 (quick: 150)", "N")] = (
        None
    )
    min_records: Annotated[int, option(SAMPLE, "--min-records", "of those with at least K records", "K")] = 10
    domain: Domain = None
    grid: Annotated[str, option(SETTINGS, "--grid", "cells of the count vectors", "COLUMNSxROWS")] = "5x5"
    threshold: Annotated[float, option(SETTINGS, "--threshold", "owners more similar than R are joined", "R")] = 0.5
    epsilon: Annotated[float, option(SETTINGS, "--epsilon", "epsilon of the set-up and of a question", "E")] = 0.3


@grouped
def experiment(
    name: Annotated[
        str,
        argument(
            f"{', '.join(NAMES)}; all of them: all; or grouping: every graph in a table; or {', '.join(OTHERS)}",
            "NAME",
        ),
    ],
    settings: TrialSettings,
    output: OutputOptions,
) -> None:
    """Measure the paper's figures and ours against the truth; prints "private": false.

    Rows, means, figures and report.md go to a folder. A run that was interrupted goes on where it stopped.
    """
    if name == "grouping":
        measure(settings, as_json=output.json)
        return
    if name == "published-maps":
        _measure_maps(settings, as_json=output.json)
        return
    if name == "ladder":
        _measure_ladder(settings, as_json=output.json)
        return
    if name == "liars":
        _measure_liars(settings, as_json=output.json)
        return
    if name == "scale":
        _simulate_scale(settings, as_json=output.json)
        return
    if name not in (*NAMES, "all"):
        raise InvalidInput(f"the experiments are: {', '.join((*NAMES, 'all', 'grouping', *OTHERS))}; got {name!r}")
    require_extras("an experiment with figures", "lab")
    out = settings.out or (_QUICK_OUT if settings.quick else _OUT)
    files = _run(NAMES if name == "all" else (name,), settings, out)
    facts = {"name": name, "out": str(out), "files": [str(path) for path in files], "quick": settings.quick}
    if output.json:
        print_json(facts | {"private": False})
        return
    result.print(f"report: {files[0]}; {len(files) - 1} figures and sheets beside it. Evaluation only, not private.")


def _measure_maps(settings: TrialSettings, *, as_json: bool) -> None:
    """Measure errors and coverage of published maps, and write their tables."""
    from fedgroup.lab.experiments.published_maps import MapRow, measure, write

    out = settings.out or (_QUICK_OUT if settings.quick else _OUT)
    rows: list[MapRow] = []
    with working("publishing maps"):
        more = {} if settings.selections is None else {"maps": settings.selections}
        rows.extend(measure(settings.data, quick=settings.quick, **more))
    files = write(rows, out)
    if as_json:
        facts = {"name": "published-maps", "rows": [asdict(row) for row in rows], "files": [str(f) for f in files]}
        print_json(facts | {"private": False})
        return
    result.print(f"tables: {files[0]}; rows: {files[1]}. Evaluation only, not private.")


def _measure_liars(settings: TrialSettings, *, as_json: bool) -> None:
    """Measure how far lying owners move the answers of a synthetic city, and print it."""
    from rich.table import Table

    from fedgroup.lab.experiments.liars import liars_measured

    owners, trials = (
        settings.owners or (150 if settings.quick else 500),
        settings.repeats or (5 if settings.quick else 20),
    )
    with working("asking owners of whom one in a hundred lies"):
        rows = list(liars_measured(owners=owners, epsilon=settings.epsilon, trials=trials))
    if as_json:
        print_json({"name": "liars", "owners": owners, "rows": [asdict(row) for row in rows], "private": False})
        return
    table = Table("1 % liars", "question", f"heard of {owners:,}", "mean absolute error")
    for row in rows:
        table.add_row(row.liars, str(row.question), f"{row.heard:.1f}", f"{row.mae:,.1f}")
    print_table(table)


def _simulate_scale(settings: TrialSettings, *, as_json: bool) -> None:
    """Simulate questions to a thousand live owners up to a million, from costs that were measured, and print them."""
    from rich.table import Table

    from fedgroup.lab.experiments.scale import scale_rows

    most = settings.owners or (10_000 if settings.quick else 1_000_000)
    with working("simulating many live owners"):
        rows = list(scale_rows(most=most))
    if as_json:
        print_json({"name": "scale", "simulated": True, "rows": [asdict(row) for row in rows], "private": False})
        return
    table = Table("method", "owners", "shards", "on a core", "line", "99 % in", "all in", "heard", "cores", "Mbit/s")
    for row in rows:
        table.add_row(
            row.method, f"{row.owners:,}", f"{row.shards:,}", f"{row.hosted:,}", row.line, f"{row.most_s:.2f} s",
            f"{row.seconds:.2f} s", f"{row.heard:.2%}", f"{row.cores:.1f}", f"{row.broker_mbit_s:.0f}",
        )  # fmt: skip
    print_table(table)
    result.print("a simulation from measured costs; nobody ran so many owners")


def _measure_ladder(settings: TrialSettings, *, as_json: bool) -> None:
    """Measure how much maps of 28 days, and trees of 16, help those of days."""
    from fedgroup.lab.experiments.ladder import measure, table

    with working("publishing maps"):
        rows = list(measure(settings.data, quick=settings.quick))
    if as_json:
        print_json({"name": "ladder", "rows": [asdict(row) for row in rows], "private": False})
        return
    result.print(table(rows))


def _run(names: tuple[str, ...], settings: TrialSettings, out: Path) -> list[Path]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with working("reading data"):
        from fedgroup.lab.experiments.report import write_report
        from fedgroup.lab.experiments.running import cells_of, run

        world = _world(settings)
    shown = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*shown, console=talk, transient=True, disable=not talk.is_terminal) as progress:
        task = progress.add_task("", total=cells_of(names, world))
        for told in run(names, world, out):
            progress.update(task, advance=1, description=told)
    with working("drawing figures and writing the report"):
        return write_report(out, new=names)


def _world(settings: TrialSettings) -> World:
    from fedgroup.lab.experiments.running import World
    from fedgroup.lab.experiments.scenes import open_scenes

    if settings.data is not None and not settings.data.exists():
        raise InvalidInput(f"{settings.data} does not exist; give a folder or a file with check-ins")
    trial = _trial(settings)
    stated = lambda records: parse_domain(settings.domain, lonlat=records.lonlat)
    return World(open_scenes(settings.data, trial, stated=stated), trial)


def _trial(settings: TrialSettings) -> TrialPlan:
    from fedgroup.lab.experiments.trial import FULL, QUICK

    chosen = QUICK if settings.quick else FULL
    said: dict[str, Any] = {
        name: value for name in ("repeats", "selections", "owners") if (value := getattr(settings, name)) is not None
    }
    if settings.owners is not None:
        said["sizes"] = tuple(sorted({settings.owners, *(size for size in chosen.sizes if size > settings.owners)}))
    if settings.epsilon not in chosen.epsilons:
        said["epsilons"] = tuple(sorted({settings.epsilon, *chosen.epsilons}))
    grid = parse_grid(settings.grid)
    return replace(
        chosen,
        min_records=settings.min_records,
        threshold=settings.threshold,
        epsilon=settings.epsilon,
        grid=grid,
        **said,
    )
