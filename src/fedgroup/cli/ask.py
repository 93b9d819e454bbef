"""`fedgroup ask count`, `sum` and `avg`: ask a federation that runs somewhere."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.access import ServiceOptions, find_access
from fedgroup.cli.answers import USUAL_NOTE, say_answer, say_expectation
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import (
    HOW,
    PRIVACY,
    MeasureOptions,
    Name,
    OutputOptions,
    RangeOptions,
    TrialOptions,
    flag,
    option,
)
from fedgroup.cli.output import working
from fedgroup.cli.parsing import parse_range, parse_time

if TYPE_CHECKING:
    from fedgroup.messages import Kind
    from fedgroup.service.calls import Details


@dataclass(frozen=True)
class PriceOptions:
    """By which method, at what price."""

    epsilon: Annotated[
        float,
        option(PRIVACY, "--epsilon", "what the answer may cost every owner, and your allowance, such as 0.3", "E"),
    ]
    fresh: Annotated[bool, flag(PRIVACY, "--fresh", "ask anew and pay anew, even if this was asked before")] = False
    dry_run: Annotated[bool, flag(PRIVACY, "--dry-run", "tell the expected error and the cost; spend nothing")] = False
    least_owners: Annotated[
        int | None, option(HOW, "--least-owners", "refuse, for nothing, if fewer owners are here", "N")
    ] = None
    least_share: Annotated[
        float | None, option(HOW, "--least-share", "likewise for a share of all known owners, from 0 to 1", "S")
    ] = None
    key: Annotated[
        Name, option(PRIVACY, "--key", "idempotency key: the same question with the same key is charged once", "KEY")
    ] = None
    method: Annotated[
        Name, option(HOW, "--method", "dp, fedgroup, cohorts or mpc; default: fedgroup if there is a plan", "NAME")
    ] = None


@dataclass(frozen=True)
class LiveQueryOptions:
    """All that can be said about a question to a running federation."""

    where: RangeOptions
    price: PriceOptions
    service: ServiceOptions


@grouped
def count(question: LiveQueryOptions, output: OutputOptions) -> None:
    """Count the records in a range, privately, in a running federation."""
    _ask("count", question, {}, as_json=output.json)


@grouped
def sum_(what: MeasureOptions, question: LiveQueryOptions, output: OutputOptions) -> None:
    """Sum an attribute over the records in a range, privately, in a running federation."""
    _ask("sum", question, asdict(what), as_json=output.json)


@grouped
def avg(what: MeasureOptions, question: LiveQueryOptions, output: OutputOptions) -> None:
    """Average an attribute over the records in a range, privately, in a running federation."""
    _ask("avg", question, asdict(what), as_json=output.json)


def _ask(kind: Kind, question: LiveQueryOptions, measure: dict[str, Any], *, as_json: bool) -> None:
    from fedgroup.service.client import connect

    access, where = find_access(question.service), question.where
    with connect(access.url, access.token, ca=access.ca) as federation:
        in_degrees = where.rectangle is not None and bool(federation.federation().get("lonlat"))
        asked = parse_range(where, lonlat=in_degrees)
        details = _details(question, measure)
        if question.price.dry_run:
            expected = federation.expect(kind, asked, epsilon=question.price.epsilon, **details)
            say_expectation(expected, as_json=as_json)
            return
        with working("asking"):
            answer = federation.ask(kind, asked, epsilon=question.price.epsilon, **details)
        say_answer(answer, TrialOptions(), as_json=as_json, without=USUAL_NOTE)


def _details(question: LiveQueryOptions, measure: dict[str, Any]) -> Details:
    where, price = question.where, question.price
    details: Details = {
        "method": price.method,
        "since": parse_time(where.since),
        "until": parse_time(where.until),
        "fresh": price.fresh,
        "least_owners": price.least_owners,
        "least_share": price.least_share,
        "key": price.key,
        **measure,  # type: ignore[typeddict-item]
    }
    return details
