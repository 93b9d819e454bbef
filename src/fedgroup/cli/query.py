"""`fedgroup count`, `people`, `sum`, `avg`: a command for every kind of question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedgroup.cli.answers import say_answer, say_expectation
from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import mention_caps, open_federation, read_indexed, require_evaluate
from fedgroup.cli.options import AskOptions, MeasureOptions, OutputOptions, QueryOptions
from fedgroup.cli.output import working
from fedgroup.cli.parsing import parse_range, parse_time

if TYPE_CHECKING:
    from fedgroup.data.plans import Plan
    from fedgroup.federation.questions import Details
    from fedgroup.questions.kinds import Kind


def command(kind: Kind) -> Callable[..., None]:
    """Return the command that asks questions of a kind."""

    def ask(question: QueryOptions, output: OutputOptions) -> None:
        _ask(kind.name, question, {}, as_json=output.json)

    def ask_measured(what: MeasureOptions, question: QueryOptions, output: OutputOptions) -> None:
        _ask(kind.name, question, asdict(what), as_json=output.json)

    return grouped(ask_measured if kind.measured else ask, text=f"{kind.help}.")


def _ask(kind: str, question: QueryOptions, measure: dict[str, Any], *, as_json: bool) -> None:
    data, epsilon, evaluate = question.data, question.how.epsilon, question.trial.evaluate
    require_evaluate("--method exact", exact=question.how.method == "exact", evaluate=evaluate)
    records, index = read_indexed(data, question.evaluation)
    asked = parse_range(question.where, lonlat=records.lonlat)
    details = _details(question, measure)
    with open_federation(
        index or records,
        domain=data.domain,
        protection=question.protection,
        evaluation=question.evaluation,
        evaluate=evaluate,
    ) as federation:
        if question.how.dry_run:
            say_expectation(federation.expect(kind, asked, epsilon=epsilon, **details), as_json=as_json)
            return
        with working("asking"):
            answer = federation.ask(kind, asked, epsilon=epsilon, **details)
        if answer.charged:
            mention_caps(federation, question.protection)
        say_answer(answer, question.trial, as_json=as_json)


def _details(question: QueryOptions, measure: dict[str, Any]) -> Details:
    where, how, trial = question.where, question.how, question.trial
    details: Details = {
        **how_details(how),
        "since": parse_time(where.since),
        "until": parse_time(where.until),
        "fresh": how.fresh or trial.repeat is not None,
        "repeat": 1 if trial.repeat is None else trial.repeat,
        "evaluate": trial.evaluate,
        **measure,  # type: ignore[typeddict-item]
    }
    return details


def how_details(how: AskOptions) -> Details:
    """Return by which method a question is to be answered."""
    return {
        "rho": how.rho,
        "error": how.error,
        "method": how.method,
        "plan": load_plan(how.plan),
        "in_group": how.in_group,
        "cohort_size": how.cohort_size,
        "colluders": how.colluders,
        "dropouts": how.dropouts,
    }


def load_plan(path: Path | None) -> Plan | None:
    """Return the plan in a file, if one was named."""
    if path is None:
        return None
    from fedgroup.data.plans import Plan

    return Plan.load(path)
