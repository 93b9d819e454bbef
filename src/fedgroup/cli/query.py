"""`fedgroup count`, `sum` and `avg`: ask a question."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import open_federation
from fedgroup.cli.options import AskOptions, DataOptions, MeasureOptions, OutputOptions, RangeOptions
from fedgroup.cli.output import notice, number, print_json, result, working
from fedgroup.cli.parsing import parse_range, parse_time

if TYPE_CHECKING:
    from fedgroup.federation.questions import Details
    from fedgroup.messages import Answer, Expectation, Kind

_FIELDS = (
    "value", "interval", "confidence", "epsilon", "method", "in_group", "trust", "groups", "owners", "heard", "missing",
    "private", "seconds", "stored", "charged", "asked_at",
)  # fmt: skip


@grouped
def count(data: DataOptions, where: RangeOptions, how: AskOptions, output: OutputOptions) -> None:
    """Count the records in a range, privately."""
    _ask("count", data, where, how, output, {})


@grouped
def sum_(data: DataOptions, where: RangeOptions, what: MeasureOptions, how: AskOptions, output: OutputOptions) -> None:
    """Sum an attribute over the records in a range, privately."""
    _ask("sum", data, where, how, output, asdict(what))


@grouped
def avg(data: DataOptions, where: RangeOptions, what: MeasureOptions, how: AskOptions, output: OutputOptions) -> None:
    """Average an attribute over the records in a range, privately: SUM / COUNT with half of the epsilon each."""
    _ask("avg", data, where, how, output, asdict(what))


def _ask(
    kind: Kind, data: DataOptions, where: RangeOptions, how: AskOptions, output: OutputOptions, measure: dict[str, Any]
) -> None:
    federation = open_federation(data)
    asked = parse_range(where, lonlat=federation.map.lonlat)
    details: Details = {
        "method": how.method, "in_group": how.in_group, "fresh": how.fresh, "repeat": how.repeat,
        "evaluate": how.evaluate, "since": parse_time(where.since), "until": parse_time(where.until), **measure,
    }  # type: ignore[typeddict-item]  # fmt: skip
    if how.plan is not None:
        from fedgroup.data.plans import Plan

        details["plan"] = Plan.load(how.plan)
    with working("asking"):
        if how.dry_run:
            expected = federation.expect(kind, asked, epsilon=how.epsilon, **details)
        else:
            answer = federation.ask(kind, asked, epsilon=how.epsilon, **details)
    if how.dry_run:
        _say_expectation(expected, as_json=output.json)
    else:
        _say_answer(answer, as_json=output.json)


def _say_answer(answer: Answer, *, as_json: bool) -> None:
    for note in answer.notes:
        notice(note)
    if as_json:
        facts = asdict(answer)
        shown = {name: facts[name] for name in _FIELDS}
        shown |= {"values": answer.values} if answer.values else {}
        shown |= {"true_value": answer.true_value} if answer.true_value is not None else {}
        print_json(shown)
        return
    low, high = answer.interval
    result.print(f"[bold]{number(answer.value)}[/bold]   95 %: {number(low)} to {number(high)}")
    if answer.true_value is not None:
        result.print(f"true value {number(answer.true_value)}")
    cost = "an earlier answer, free" if answer.stored else f"epsilon {answer.epsilon:g}"
    result.print(
        f"{answer.method}: {answer.groups:,} noises for {answer.owners:,} owners, {cost}, {answer.seconds * 1000:.0f} ms"
    )
    result.print(answer.trust if answer.private else f"{answer.trust}; this answer is not private", soft_wrap=True)


def _say_expectation(expected: Expectation, *, as_json: bool) -> None:
    if as_json:
        only = expected.errors.get(expected.kind)
        errors = {"expected_error": only and only.mean_absolute, "half_width": only and only.half_width}
        print_json(asdict(expected) | errors | {"dry_run": True})
        return
    for part, error in expected.errors.items():
        result.print(
            f"{part}: off by {number(error.mean_absolute)} on average, by at most {number(error.half_width)} in 95 %"
        )
    left = "nothing is capped" if expected.left is None else f"{expected.left:g} is left"
    verdict = "" if expected.affordable else ": it would be refused"
    result.print(
        f"{expected.method}: {expected.groups:,} noises for {expected.owners:,} owners; cost {expected.charge:g}, {left}{verdict}"
    )
    result.print("nothing was spent")
