"""`fedgroup ask count`, `people`, `sum`, `avg`, `map`: ask a federation that runs somewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.access import ServiceOptions, connected
from fedgroup.cli.answers import USUAL_NOTE, say_answer, say_expectation, say_map
from fedgroup.cli.bins import BinOptions, MapMeasureOptions, parse_bins
from fedgroup.cli.grouped import grouped
from fedgroup.cli.maps import FileOptions, require_database, require_files, written_to
from fedgroup.cli.options import (
    HOW,
    PRIVACY,
    LeastOwners,
    LeastShare,
    MeasureOptions,
    Name,
    OutputOptions,
    RangeOptions,
    RhoThere,
    TrialOptions,
    flag,
    option,
)
from fedgroup.cli.output import working
from fedgroup.cli.parsing import parse_range, parse_time
from fedgroup.questions.kinds import either
from fedgroup.questions.methods import PRIVATE

if TYPE_CHECKING:
    from fedgroup.questions.kinds import Kind
    from fedgroup.service.calls import AskDetails, MapAskDetails


@dataclass(frozen=True)
class PriceOptions:
    """By which method, at what price."""

    epsilon: Annotated[
        float | None,
        option(PRIVACY, "--epsilon", "what the answer may cost every owner, and your allowance, such as 0.3", "E"),
    ] = None
    rho: RhoThere = None
    error: Annotated[
        Name,
        option(
            PRIVACY,
            "--error",
            "instead of --epsilon: how far off in 95 %, such as 10, '10% of 500', or 10% where a map is published",
            "X",
        ),
    ] = None
    fresh: Annotated[bool, flag(PRIVACY, "--fresh", "ask anew and pay anew, even if this was asked before")] = False
    dry_run: Annotated[bool, flag(PRIVACY, "--dry-run", "tell the expected error and the cost; spend nothing")] = False
    least_owners: LeastOwners = None
    least_share: LeastShare = None
    key: Annotated[
        Name, option(PRIVACY, "--key", "idempotency key: the same question with the same key is charged once", "KEY")
    ] = None
    method: Annotated[
        Name, option(HOW, "--method", f"{either(PRIVATE)}; default: fedgroup if there is a plan", "NAME")
    ] = None


@dataclass(frozen=True)
class LiveQueryOptions:
    """All that can be said about a question to a running federation."""

    where: RangeOptions
    price: PriceOptions
    service: ServiceOptions


@dataclass(frozen=True)
class LiveMapOptions:
    """All that can be said about a map of a running federation."""

    bins: BinOptions
    where: RangeOptions
    what: MapMeasureOptions
    price: PriceOptions
    service: ServiceOptions


@grouped
def map_(asked: LiveMapOptions, files: FileOptions, output: OutputOptions) -> None:
    """Count records or people, sum or average, in many bins at once, in a running federation, for one epsilon."""
    require_files(files)
    kind, epsilon = asked.what.kind, asked.price.epsilon
    with connected(asked.service) as federation:
        in_degrees = asked.where.rectangle is not None and bool(federation.federation().get("lonlat"))
        lonlat = files.to is not None and bool(federation.federation().get("lonlat"))
        require_database(files, lonlat=lonlat)
        details = _map_details(asked, parse_bins(asked.bins, asked.where, lonlat=in_degrees))
        if asked.price.dry_run:
            say_expectation(federation.expect_map(kind=kind, epsilon=epsilon, **details), as_json=output.json)
            return
        with working("asking"):
            made = federation.map(kind=kind, epsilon=epsilon, **details)
    say_map(made, as_json=output.json, **written_to(made, files))


def command(kind: Kind) -> Callable[..., None]:
    """Return the command that asks a running federation questions of a kind."""

    def ask(question: LiveQueryOptions, output: OutputOptions) -> None:
        _ask(kind.name, question, {}, as_json=output.json)

    def ask_measured(what: MeasureOptions, question: LiveQueryOptions, output: OutputOptions) -> None:
        _ask(kind.name, question, asdict(what), as_json=output.json)

    return grouped(ask_measured if kind.measured else ask, text=f"{kind.help}, in a running federation.")


def _ask(kind: str, question: LiveQueryOptions, measure: dict[str, Any], *, as_json: bool) -> None:
    where = question.where
    with connected(question.service) as federation:
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


def _details(question: LiveQueryOptions, measure: dict[str, Any]) -> AskDetails:
    where = question.where
    details: AskDetails = {
        "since": parse_time(where.since),
        "until": parse_time(where.until),
        **_priced(question.price),
        **measure,  # type: ignore[typeddict-item]
    }
    return details


def _map_details(asked: LiveMapOptions, bins: dict[str, Any]) -> MapAskDetails:
    measure = {name: value for name, value in asdict(asked.what).items() if name != "kind"}
    details: MapAskDetails = {**bins, **_priced(asked.price), **measure}  # type: ignore[typeddict-item]
    return details


def _priced(price: PriceOptions) -> AskDetails:
    return {
        "rho": price.rho,
        "error": price.error,
        "method": price.method,
        "fresh": price.fresh,
        "least_owners": price.least_owners,
        "least_share": price.least_share,
        "key": price.key,
    }
