"""`fedgroup demo`: see it work."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.extras import require_extras
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, flag, option
from fedgroup.cli.output import print_json, print_table, result, talk, working
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.lab.experiments.demo import DemoRow
    from fedgroup.lab.experiments.demo_map import FreeRow
    from fedgroup.owner.records import Records

_NEXT = """
next:
  fedgroup synthesize city.parquet --owners 10000
  fedgroup group city.parquet --epsilon 0.3 --grid 5x5 --leftovers cohort --out plan.parquet
  fedgroup count city.parquet --near 10000,10000 --within 500 --epsilon 0.3 --plan plan.parquet
  fedgroup publish city.parquet --epsilon 1 --records-guess 200000 --out map.parquet
  fedgroup read map.parquet --near 10000,10000 --within 500"""


@grouped
def demo(
    output: OutputOptions,
    out: Annotated[Path, option(OPTIONS, "--out", "folder for the pictures", "FOLDER")] = Path("fedgroup-demo"),
    owners: Annotated[int, option(OPTIONS, "--owners", "how many owners the city has", "N")] = 1_000,
    seed: Annotated[int, option(OPTIONS, "--seed", "which city, and which noise", "S")] = 7,
    open_: Annotated[
        bool, flag(OPTIONS, "--open", "run a federation of 50 owners instead, and open its map in a browser")
    ] = False,
) -> None:
    """Ask a synthetic city of 1,000 owners with every method, and publish its private map; three pictures."""
    if open_:
        _open_map(out, seed)
        return
    require_extras("the demo", "lab")
    with working(f"building a city of {owners:,} owners"):
        from fedgroup.lab.experiments.demo import demo_city

        city = demo_city(owners=owners, seed=seed)
    _make_folder(out)
    rows = _run(city, seed)
    pictures = _draw(city, rows, out, seed)
    free, picture = _publish(city, out, seed)
    pictures.append(picture)
    if output.json:
        facts = {"rows": [asdict(row) for row in rows], "free": [asdict(row) for row in free]}
        print_json(facts | {"pictures": [str(path) for path in pictures], "private": False})
        return
    _show_free(free)
    _show(rows, pictures)


def _open_map(out: Path, seed: int) -> None:
    from fedgroup.cli.live import up

    up(folder=out / "federation", seed=seed, open_=True)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InvalidInput(f"the folder {out} cannot be made; give another one with --out") from None


def _run(city: Records, seed: int) -> list[DemoRow]:
    from rich.progress import Progress

    from fedgroup.lab.experiments.demo import EPSILONS, METHODS, run_demo

    rows = []
    with Progress(console=talk, transient=True, disable=not talk.is_terminal) as progress:
        task = progress.add_task("asking", total=len(METHODS) * len(EPSILONS))
        for row in run_demo(city, seed=seed):
            rows.append(row)
            progress.update(task, advance=1, description=f"asking with {row.method} at epsilon {row.epsilon}")
    return rows


def _draw(city: Records, rows: list[DemoRow], out: Path, seed: int) -> list[Path]:
    with working("drawing"):
        from fedgroup.federation import Federation
        from fedgroup.lab.experiments.demo import demo_questions
        from fedgroup.lab.experiments.pictures import draw_city, draw_errors

        plan = Federation(city, seed=seed).group(epsilon=0.5)
        pictures = [out / "city.png", out / "error.png"]
        try:
            draw_city(city, plan, demo_questions()[4], pictures[0])
            draw_errors(rows, pictures[1])
        except OSError:
            raise InvalidInput(f"no picture can be written to {out}; give another folder with --out") from None
    return pictures


def _publish(city: Records, out: Path, seed: int) -> tuple[list[FreeRow], Path]:
    with working("publishing the private map"):
        from fedgroup.lab.experiments.demo_map import draw_maps, publish_city

        made, free = publish_city(city, seed=seed)
        picture = out / "private-map.png"
        try:
            draw_maps(made, city, picture)
        except OSError:
            raise InvalidInput(f"no picture can be written to {out}; give another folder with --out") from None
    return free, picture


def _show_free(rows: list[FreeRow]) -> None:
    from rich.table import Table

    from fedgroup.lab.experiments.demo_map import EPSILON

    title = f"ten circles read from the private map for nothing; the map cost epsilon {EPSILON:g} once"
    table = Table("circle", "free answer", "95 %", "truth", "asking as sharply: epsilon", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        where = f"{row.radius:,.0f} m at {row.x:,.0f},{row.y:,.0f}"
        ends = f"{row.low:,.0f} to {row.high:,.0f}"
        table.add_row(where, f"{row.value:,.0f}", ends, f"{row.true_value:,}", f"{row.would_cost:.3f}")
    table.add_section()
    table.add_row("all ten", "", "", "", f"{sum(row.would_cost for row in rows):.3f}")
    print_table(table)


def _show(rows: list[DemoRow], pictures: list[Path]) -> None:
    from rich.table import Table

    from fedgroup.lab.experiments.demo import METHODS

    table = Table(
        "method", "setup", "epsilon", "groups", "MAE", "MRE", "seconds", title="error of a count, against the truth"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        errors = (f"{row.mean_absolute_error:.1f}", f"{row.mean_relative_error:.0%}", f"{row.seconds:.2f}")
        last = row.epsilon == rows[-1].epsilon
        setup = f"{row.setup_epsilon:g}" if row.setup_epsilon else ""
        table.add_row(row.method, setup, f"{row.epsilon}", f"{row.groups:,}", *errors, end_section=last)
    print_table(table)
    for method in METHODS:
        result.print(f"  {method.name:10} {method.what}")
    result.print("setup: epsilon that grouping costs once, before all questions. epsilon: that of each question.")
    result.print(
        "MAE: mean absolute error, in records. MRE: mean relative error. seconds: with compiling, the first time."
    )
    result.print("\nA group adds noise about once, however many owners it has: fewer groups, smaller errors.")
    result.print(
        "Grouping pays when its setup is shared by several questions; for one question alone, plain dp is better."
    )
    result.print(f"pictures: {', '.join(str(path) for path in pictures)}")
    result.print(_NEXT)
