"""`fedgroup ask publish`, `read`, `standing`: maps of a running federation, paid once and read for nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.access import ServiceOptions, connected
from fedgroup.cli.answers import say_expectation
from fedgroup.cli.bins import MapMeasureOptions
from fedgroup.cli.grouped import grouped
from fedgroup.cli.maps import FileOptions, require_database, require_files, written_to
from fedgroup.cli.options import (
    HOW,
    OPTIONS,
    PRIVACY,
    LeastOwners,
    LeastShare,
    Name,
    OutputOptions,
    RangeOptions,
    RhoThere,
    flag,
    option,
)
from fedgroup.cli.output import print_json, print_table, result, working
from fedgroup.cli.parsing import parse_time
from fedgroup.cli.publish import ReadOptions, SizeOptions, say_published, say_reading
from fedgroup.questions.kinds import either
from fedgroup.questions.methods import PRIVATE

if TYPE_CHECKING:
    from fedgroup.service.calls import PublishAskDetails


@dataclass(frozen=True)
class PublishPriceOptions:
    """By which method, at what price."""

    epsilon: Annotated[
        float | None,
        option(PRIVACY, "--epsilon", "what the map costs every owner, and your allowance, once: such as 1", "E"),
    ] = None
    rho: RhoThere = None
    least_owners: LeastOwners = None
    least_share: LeastShare = None
    key: Annotated[
        Name, option(PRIVACY, "--key", "idempotency key: the same map with the same key is charged once", "KEY")
    ] = None
    method: Annotated[
        Name, option(HOW, "--method", f"{either(PRIVATE)}; default: the one with the fewest noises", "NAME")
    ] = None
    dry_run: Annotated[bool, flag(PRIVACY, "--dry-run", "show the expected error and the cost; spend nothing")] = False


@dataclass(frozen=True)
class LivePublishOptions:
    """All that can be said about a map that a running federation publishes."""

    size: SizeOptions
    what: MapMeasureOptions
    price: PublishPriceOptions
    service: ServiceOptions


@grouped
def publish(asked: LivePublishOptions, files: FileOptions, output: OutputOptions) -> None:
    """Publish a map of a running federation: paid once, then read by everybody for nothing with 'fedgroup ask read'."""
    publish_live(asked, files, output)


def publish_live(asked: LivePublishOptions, files: FileOptions, output: OutputOptions) -> None:
    """Publish a map of a running federation, or tell what it would be like."""
    require_files(files)
    with connected(asked.service) as federation:
        if asked.price.dry_run:
            said: Any = {"adaptive": True, **_details(asked)}
            expected = federation.expect_map(kind=asked.what.kind, epsilon=asked.price.epsilon, **said)
            say_expectation(expected, as_json=output.json)
            return
        require_database(files, lonlat=files.to is not None and bool(federation.federation().get("lonlat")))
        with working("publishing"):
            made = federation.publish(kind=asked.what.kind, epsilon=asked.price.epsilon, **_details(asked))
    say_published(made, as_json=output.json, **written_to(made, files))
    if not output.json:
        result.print("everybody reads it for nothing: fedgroup ask read --near X,Y --within R")


@dataclass(frozen=True)
class WhichOptions:
    """Which published map is read."""

    kind: Annotated[str, option(OPTIONS, "--kind", "what the map is of: count, people or sum", "KIND")] = "count"


@grouped
def read(
    where: RangeOptions, what: ReadOptions, which: WhichOptions, service: ServiceOptions, output: OutputOptions
) -> None:
    """Read the newest published map of a running federation; nobody is asked, and nothing is charged."""
    window = {"since": parse_time(where.since), "until": parse_time(where.until)}
    with connected(service) as federation:
        made = federation.published(kind=which.kind, **window)
    say_reading(made, where, what, as_json=output.json)


@grouped
def standing(
    service: ServiceOptions,
    output: OutputOptions,
    last: Annotated[int, option(OPTIONS, "--last", "show the latest N windows of each", "N")] = 10,
) -> None:
    """Show the standing maps of a running federation: their windows, the latest first; nothing is charged."""
    from rich.table import Table

    with connected(service) as federation:
        found = federation.standing(limit=last)
    if output.json:
        print_json({"standing": found})
        return
    for each in found:
        table = Table("window", "until", "state", "map", title=f"{each['name']}, every {each['every']}")
        for window in each["windows"]:
            told = window["map"] or window["why"] or ""
            table.add_row(window["since"], window["until"], window["state"], told)
        print_table(table)
        coming = each["next"]
        waits = f"; it waits: {coming['waits_for']}" if coming["waits_for"] else ""
        result.print(f"next: {coming['since']} until {coming['until']}, asked for at {coming['due_at']}{waits}")
    if not found:
        result.print("this federation has no standing maps")


def _details(asked: LivePublishOptions) -> PublishAskDetails:
    measure = {name: value for name, value in asdict(asked.what).items() if name != "kind"}
    price, size = asked.price, asked.size
    details: PublishAskDetails = {
        "rho": price.rho,
        "method": price.method,
        "least_owners": price.least_owners,
        "least_share": price.least_share,
        "key": price.key,
        "records": size.records_guess,
        "most_cells": size.most_cells,
        "since": parse_time(size.since),
        "until": parse_time(size.until),
        **measure,  # type: ignore[typeddict-item]
    }
    return details
