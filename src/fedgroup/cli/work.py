"""`fedgroup expect`: how sharp a whole plan of work can be under one total, before anything is asked."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, PRIVACY, PROTECTED, WHAT, Name, OutputOptions, option
from fedgroup.cli.output import print_json, print_table, result
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.user.workload import Work, WorkExpected


@grouped
def expect(
    output: OutputOptions,
    budget: Annotated[float, option(PRIVACY, "--budget", "epsilon of all answers together", "B")],
    delta: Annotated[float, option(PRIVACY, "--delta", "the delta that it may hold with", "D")] = 1e-6,
    maps: Annotated[int, option(WHAT, "--maps", "how many maps", "N")] = 0,
    questions: Annotated[int, option(WHAT, "--questions", "how many questions about a range", "Q")] = 0,
    answers: Annotated[
        Name, option(WHAT, "--answers", "instead: a table for so many answers in all, such as 24,168,1000", "N,N,...")
    ] = None,
    max_bins: Annotated[
        int, option(PROTECTED, "--max-bins", "maps of people: the most bins that one counts in", "M")
    ] = 1,
    noises: Annotated[
        float, option(OPTIONS, "--noises", "how many noises an answer holds: 1 with mpc, one an owner with dp", "L")
    ] = 1.0,
) -> None:
    """Show how far off each of many answers is under one total: by pure epsilon, and by zcdp accounting."""
    from fedgroup.user.workload import Work, expect_work

    if answers is not None and (maps or questions):
        raise InvalidInput("--answers is a table of its own; leave --maps and --questions out")
    if answers is None:
        work = [Work("map", maps, max_bins, max_bins), Work("question", questions)]
        found = expect_work(work, budget=budget, delta=delta, noises=noises)
    else:
        found = [
            each for work in _counts(answers) for each in expect_work([work], budget=budget, delta=delta, noises=noises)
        ]
    if output.json:
        rows = [asdict(each) | {"best": each.best} for each in found]
        print_json({"budget": budget, "delta": delta, "noises": noises, "work": rows})
        return
    _print(found)
    result.print(f"epsilon {budget:g} in all, with delta {delta:g} where zcdp counts; each of one sort gets as much")


def _counts(text: str) -> list[Work]:
    from fedgroup.user.workload import Work

    try:
        return [Work("answer", int(part)) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"--answers takes whole numbers such as 24,168,1000, got {text!r}") from None


def _print(found: list[WorkExpected]) -> None:
    from rich.table import Table

    from fedgroup.user.workload import WAYS

    table = Table("how many", "of", *(f"{way}: std, 95 %" for way in WAYS), "sharpest")
    for each in found:
        errors = [each.errors[way] for way in WAYS]
        shown = [f"{error.standard_deviation:,.1f}, {error.half_width:,.0f}" for error in errors]
        table.add_row(f"{each.times:,}", each.name, *shown, each.best)
    print_table(table)
