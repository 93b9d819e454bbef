"""`fedgroup publish`: a map that is paid once; `fedgroup read`: what it answers for nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.bins import MapMeasureOptions, parse_districts
from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import mention_caps, open_federation, read_indexed
from fedgroup.cli.maps import FileOptions, require_database, require_files, written_to
from fedgroup.cli.options import (
    BINS,
    OPTIONS,
    WHERE,
    AskOptions,
    DataOptions,
    EvaluationOptions,
    File,
    Name,
    OutputOptions,
    ProtectionOptions,
    RangeOptions,
    argument,
    flag,
    option,
)
from fedgroup.cli.output import notice, number, print_json, result, several, working
from fedgroup.cli.parsing import parse_numbers, parse_range, parse_time
from fedgroup.cli.query import how_details
from fedgroup.errors import InvalidInput, InvalidQuery

if TYPE_CHECKING:
    from fedgroup.federation.publishing import PublishDetails
    from fedgroup.maps.free import FreeAnswer
    from fedgroup.maps.planning import MapPlan
    from fedgroup.maps.published import PublishedMap

LIVE = Path("live")
"""Said in place of a file: the owners of a running federation."""
SIZE = "The size of the map"
PLAN = "Publish or ask? (with --dry-run)"


@dataclass(frozen=True)
class SizeOptions:
    """How fine a map is; all of it is public."""

    records_guess: Annotated[
        int | None,
        option(SIZE, "--records-guess", "about how many records there are; never looked up; default 20 an owner", "N"),
    ] = None
    most_cells: Annotated[int | None, option(SIZE, "--most-cells", "a cap on cells: above it all are coarser", "N")] = (
        None
    )
    since: Annotated[Name, option(WHERE, "--since", "from this time on (ISO, or seconds since 1970)", "T")] = None
    until: Annotated[Name, option(WHERE, "--until", "before this time", "T")] = None


@dataclass(frozen=True)
class PlanOptions:
    """How many questions will be asked, of which size."""

    questions: Annotated[int, option(PLAN, "--questions", "how many questions are expected", "Q")] = 20
    within: Annotated[
        float | None, option(PLAN, "--within", "the radius of their circles; metres for lon/lat; default 1000", "R")
    ] = None


@dataclass(frozen=True)
class PublishOptions:
    """All that can be said about a map to publish."""

    size: SizeOptions
    what: MapMeasureOptions
    how: AskOptions
    protection: ProtectionOptions
    data: DataOptions
    evaluation: EvaluationOptions


@grouped
def publish(asked: PublishOptions, plan: PlanOptions, files: FileOptions, output: OutputOptions) -> None:
    """Publish a map that is paid once and then read for nothing, with 'fedgroup read'; by mpc, unless you say how.

    'fedgroup publish live' is 'fedgroup ask publish': the owners of a running federation publish it.
    """
    if asked.data.data == LIVE and not LIVE.exists():
        _publish_live(asked, files, output)
        return
    require_files(files)
    records, index = read_indexed(asked.data, asked.evaluation)
    details = _details(asked)
    with open_federation(
        index or records,
        domain=asked.data.domain,
        protection=asked.protection,
        evaluation=asked.evaluation,
        evaluate=False,
    ) as federation:
        require_database(files, lonlat=records.lonlat, private=federation.private)
        kind, epsilon = asked.what.kind, asked.how.epsilon
        if asked.how.dry_run:
            _say_plan(federation.plan_map(kind=kind, epsilon=epsilon, **details), plan, as_json=output.json)
            return
        with working("publishing"):
            made = federation.publish(kind=kind, epsilon=epsilon, **details)
        if made.charged:
            mention_caps(federation, asked.protection)
    say_published(made, as_json=output.json, **written_to(made, files))


@dataclass(frozen=True)
class ReadOptions:
    """What to read besides one range."""

    districts: Annotated[File, option(BINS, "--districts", "GeoJSON file with polygons that have names", "FILE")] = None
    district_names: Annotated[
        Name, option(BINS, "--district-names", "the property that has their names; default: name", "PROPERTY")
    ] = None
    top: Annotated[int | None, option(OPTIONS, "--top", "the K densest cells that noise does not explain", "K")] = None
    holding: Annotated[
        float | None, option(OPTIONS, "--holding", "with --near: the radius that holds so much", "K")
    ] = None
    snap: Annotated[bool, flag(OPTIONS, "--snap", "take the cells that the range covers by half or more")] = False


@grouped
def read(
    path: Annotated[Path, argument("a map that 'fedgroup publish' wrote", "MAP")],
    where: RangeOptions,
    what: ReadOptions,
    output: OutputOptions,
) -> None:
    """Read a published map: a range, districts, hot spots, or a radius; nobody is asked, and nothing is charged."""
    from fedgroup.maps.files import load_map
    from fedgroup.maps.published import PublishedMap

    if where.since is not None or where.until is not None:
        raise InvalidQuery("a map is of one time window, which it tells; publish another for another window")
    made = load_map(path)
    if not isinstance(made, PublishedMap):
        raise InvalidInput(f"{path} is a map of bins; ranges are read from maps that 'fedgroup publish' wrote")
    say_reading(made, where, what, as_json=output.json)


def say_reading(made: PublishedMap, where: RangeOptions, what: ReadOptions, *, as_json: bool) -> None:
    """Print what a published map says about what was asked."""
    if what.top is not None:
        _say_top(made, what.top, as_json=as_json)
    elif what.holding is not None:
        _say_radius(made, where, what.holding, as_json=as_json)
    elif what.districts is not None:
        _say_districts(made, what, as_json=as_json)
    else:
        _say_range(made, where, snap=what.snap, as_json=as_json)


def _publish_live(asked: PublishOptions, files: FileOptions, output: OutputOptions) -> None:
    """Publish as 'fedgroup ask publish' does; what has no meaning there is refused."""
    from fedgroup.cli.access import ServiceOptions
    from fedgroup.cli.ask_publish import LivePublishOptions, PublishPriceOptions, publish_live

    how, said = asked.how, {"method", "epsilon", "rho", "dry_run"}
    other = {each.name for each in fields(how) if getattr(how, each.name) != each.default} - said
    if other or asked.protection != ProtectionOptions() or asked.evaluation != EvaluationOptions():
        raise InvalidInput(
            "owners of a running federation have budgets and settings of their own; say what a map is of, its size, "
            "its price and its method, or see 'fedgroup ask publish --help'"
        )
    if (how.epsilon, how.rho) == (None, None):
        raise InvalidQuery("say what the map may cost every owner: --epsilon 1")
    price = PublishPriceOptions(epsilon=how.epsilon, rho=how.rho, method=how.method, dry_run=how.dry_run)
    publish_live(LivePublishOptions(asked.size, asked.what, price, ServiceOptions()), files, output)


def _details(asked: PublishOptions) -> PublishDetails:
    measure = {name: value for name, value in asdict(asked.what).items() if name != "kind"}
    details: PublishDetails = {
        **how_details(asked.how),
        "fresh": asked.how.fresh,
        "records": asked.size.records_guess,
        "most_cells": asked.size.most_cells,
        "since": parse_time(asked.size.since),
        "until": parse_time(asked.size.until),
        **measure,  # type: ignore[typeddict-item]
    }
    return details


def say_published(made: PublishedMap, *, as_json: bool, **files: str | None) -> None:
    """Print what a map that was published is like."""
    for note in made.notes:
        notice(note)
    total = made.total()
    if as_json:
        from fedgroup.maps.private_map import told_of

        facts = told_of(made) | {"kind": made.kind, "cells": made.bins, "protection": made.protection}
        print_json(facts | {"total": total.value, "interval": total.interval, "shown": int(made.shown.sum())} | files)
        return
    low, high = (number(end) for end in total.interval)
    result.print(f"{several(made.bins, 'cell')}, {int(made.shown.sum()):,} of them beyond noise", style="bold")
    result.print(f"{number(total.value)} in all   95 %: {low} to {high}")
    for name in files.values():
        if name is not None:
            result.print(f"written to {name}")
    counted = "" if made.rho is None else f" (rho {made.rho:g})"
    cost = f"the map of {made.asked_at}, free" if made.stored else f"epsilon {made.epsilon:g}{counted}, once for all"
    result.print(f"{made.method}: {number(round(made.noises, 2))} noises a cell, {cost}, {made.seconds:.1f} s")
    result.print(made.trust if made.private else f"{made.trust}; this map is not private")
    out = files.get("out")
    if out is not None:
        result.print(f"read it for nothing: fedgroup read {out} --near X,Y --within R")


def _say_plan(plan: MapPlan, said: PlanOptions, *, as_json: bool) -> None:
    within = 1_000.0 if said.within is None else said.within
    told = plan.against_asking(said.questions, within)
    if as_json:
        facts: dict[str, Any] = {"charge": plan.charge, "left": plan.left, "affordable": plan.affordable}
        facts["rho"] = plan.rho
        facts["method"] = plan.method
        facts |= {"noises": plan.sizes.noises, "cells": plan.cells, "trust": plan.trust, "dry_run": True}
        print_json(facts | asdict(told) | {"publish": told.publish})
        return
    coarse, blocks, cells = plan.cells
    result.print(f"{coarse:,} coarse cells, {blocks:,} blocks, then {cells:,} cells or more, where records are many")
    verdict = "publish" if told.publish else "ask"
    result.print(
        f"{several(said.questions, 'circle')} within {number(within)}, if records lay evenly: off by "
        f"{number(told.of_map)} on average from the map, by {number(told.of_ask)} if each is asked: {verdict}",
        style="bold",
    )
    result.print(f"the map is better from {several(told.break_even, 'question')} on")
    left = "nothing is capped" if plan.left is None else f"{plan.left:g} is left"
    result.print(f"{plan.method}: cost {plan.charge:g}, {left}{'' if plan.affordable else ': it would be refused'}")
    result.print("nothing was spent")


def _say_range(made: PublishedMap, where: RangeOptions, *, snap: bool, as_json: bool) -> None:
    asked: Any = parse_range(where, lonlat=made.public_map.lonlat)
    say_free(made.count(made.snap(asked) if snap else asked), as_json=as_json)


def say_free(answer: FreeAnswer, *, of: str = "the map", as_json: bool) -> None:
    """Print what is read from published maps about a range."""
    for note in answer.notes:
        notice(note)
    if as_json:
        from fedgroup.maps.free import facts_of
        from fedgroup.questions.answers import answer_facts

        print_json(answer_facts(answer) | facts_of(answer))
        return
    low, high = (number(end) for end in answer.interval)
    result.print(f"{number(answer.value)}   95 %: {low} to {high}", style="bold")
    result.print(
        f"± {number(1.96 * answer.noise)} by noise, ± {number(1.96 * answer.uneven)} by unevenness inside cells"
    )
    counted = "" if answer.rho is None else f" (rho {answer.rho:g})"
    result.print(f"free; {of} cost epsilon {answer.epsilon:g}{counted} once")


def _say_districts(made: PublishedMap, what: ReadOptions, *, as_json: bool) -> None:
    found = made.districts(parse_districts(what.districts or Path()), names=what.district_names)
    if as_json:
        rows = [{"name": name, "value": each.value, "interval": each.interval} for name, each in found.items()]
        print_json({"districts": rows, "epsilon": made.epsilon, "charged": 0.0})
        return
    for name, each in sorted(found.items(), key=lambda pair: -(pair[1].value or 0.0)):
        low, high = (number(end) for end in each.interval)
        result.print(f"{name}: {number(each.value)}   95 %: {low} to {high}")


def _say_top(made: PublishedMap, most: int, *, as_json: bool) -> None:
    spots = made.top(most)
    if as_json:
        print_json({"top": [asdict(spot) for spot in spots], "shown_above": made.threshold})
        return
    for spot in spots:
        low, high = (number(end) for end in spot.interval)
        sides = ",".join(f"{side:.6g}" for side in spot.cell.box.sides)
        result.print(f"{sides}: {number(spot.value)}   95 %: {low} to {high}; {number(spot.density)} per km²")


def _say_radius(made: PublishedMap, where: RangeOptions, holding: float, *, as_json: bool) -> None:
    if where.near is None:
        raise InvalidQuery("--holding goes with --near X,Y")
    x, y = parse_numbers(where.near, 2, name="--near", form="X,Y")
    found = made.radius_holding(holding, x, y)
    if as_json:
        print_json(asdict(found))
        return
    if found.radius is None:
        result.print(f"the map does not hold {number(holding)} around there")
        return
    low, high = found.interval
    far = "beyond the map" if high is None else number(high)
    result.print(f"{number(found.radius)}   95 %: {number(low)} to {far}", style="bold")
