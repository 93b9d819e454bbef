"""`fedgroup check`: what a file holds and what may be wrong with it, for the eyes of its owner only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import DataOptions, OutputOptions
from fedgroup.cli.output import print_json, result, several, talk, working
from fedgroup.cli.parsing import parse_domain
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.evaluation.checking import FileCheck

WARNING = "FOR THE OWNER OF THESE RECORDS ONLY: all of this is exact and private; do not show it to others"


@grouped
def check(data: DataOptions, output: OutputOptions) -> None:
    """Show what a file holds and what may be wrong with it: exact and private, for its owner's own eyes."""
    with working(f"looking at {data.data}"):
        found = _looked_at(data)
    if output.json:
        talk.print(WARNING, style="bold")
        print_json(_facts(found))
        return
    result.print(WARNING, style="bold")
    for line in _lines(found):
        result.print(line)


def _looked_at(data: DataOptions) -> FileCheck:
    from fedgroup.data.indexes import is_index
    from fedgroup.data.rosters import read_owner_list
    from fedgroup.evaluation.checking import WantedColumns, check_file

    if is_index(data.data):
        raise InvalidInput(f"{data.data} is an index, which holds good records only; check the file it was made from")
    wanted = WantedColumns(
        owner=data.owner,
        x=data.x,
        y=data.y,
        time=data.time,
        subject=data.subject,
        planar=data.planar,
        domain=parse_domain(data.domain, lonlat=not data.planar),
        owners=None if data.owner_list is None else read_owner_list(data.owner_list),
    )
    return check_file(data.data, wanted)


def _facts(found: FileCheck) -> dict[str, Any]:
    facts = asdict(found)
    if facts["columns"] is not None:
        del facts["columns"]["doubts"]  # they are among the suspicions
    return {"warning": WARNING, "loads": found.loads} | facts | {"private": False}


def _lines(found: FileCheck) -> Iterator[str]:
    yield f"{found.file}: {found.kind}{_size(found)}"
    yield "fedgroup can read it" if found.loads else f"fedgroup cannot read it: {found.refusal}"
    if found.columns is not None:
        yield from _column_lines(found)
        yield from _place_lines(found)
    if found.time_span is not None:
        yield f"times: {found.time_span[0]} to {found.time_span[1]}"
    yield "looks suspicious:" if found.suspicions else "nothing looks suspicious"
    for suspicion in found.suspicions:
        yield f"  - {suspicion}"


def _size(found: FileCheck) -> str:
    if found.rows is None:
        return ""
    owners = "" if found.owners is None else f" of {several(found.owners, 'owner')}"
    return f", {several(found.rows, 'row')}{owners}"


def _column_lines(found: FileCheck) -> Iterator[str]:
    taken = found.columns
    if taken is None:
        return
    roles = {"owner": taken.owner, "x": taken.x, "y": taken.y, "time": taken.time}
    roles |= {} if taken.subject is None else {"subject": taken.subject}
    yield "columns: " + ", ".join(f"{role} is {name or 'not found'}" for role, name in roles.items())
    yield f"attributes: {', '.join(taken.attributes) or 'none'}"
    if taken.texts:
        yield f"texts: {', '.join(taken.texts)}"
    if taken.left_out:
        yield f"left out, as they are neither numbers nor texts: {', '.join(taken.left_out)}"


def _place_lines(found: FileCheck) -> Iterator[str]:
    if found.coordinates is not None:
        kind = "lon/lat in degrees" if found.coordinates.lonlat else "planar"
        yield f"coordinates: {kind}; {found.coordinates.why}"
    if found.extent is not None:
        yield f"extent: {_sides(found.extent)}"
    if found.domain is None:
        yield "domain: none is stated; agree on one and give it with --domain, and do not take it from the extent"
    elif found.outside is not None and found.outside_share is not None:
        outside = f"{several(found.outside, 'row')} ({found.outside_share:.1%}) outside are not counted"
        yield f"domain: {_sides(found.domain)}; {outside}"


def _sides(sides: tuple[float, ...]) -> str:
    return ",".join(f"{side:.10g}" for side in sides)
