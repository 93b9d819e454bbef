"""`fedgroup between`, `fedgroup ask between`: a time read from maps of windows, for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from fedgroup.cli.access import ServiceOptions, connected
from fedgroup.cli.answers import say_map
from fedgroup.cli.grouped import grouped
from fedgroup.cli.maps import FileOptions, require_database, require_files, written_to
from fedgroup.cli.options import OutputOptions, RangeOptions, argument
from fedgroup.cli.output import working
from fedgroup.cli.parsing import parse_range, parse_time
from fedgroup.cli.publish import say_free
from fedgroup.errors import InvalidInput, InvalidQuery

if TYPE_CHECKING:
    from fedgroup.maps.private_map import PrivateMap
    from fedgroup.maps.published import PublishedMap
    from fedgroup.questions.instants import When


@grouped
def between(
    maps: Annotated[list[Path], argument("maps of windows, as 'fedgroup map' or 'publish' wrote them", "MAP...")],
    where: RangeOptions,
    files: FileOptions,
    output: OutputOptions,
) -> None:
    """Add up maps of windows of time: a map of a longer time or, of published maps, what lies in a range then; free."""
    from fedgroup.maps.files import load_map

    since, until = _time_of(where)
    require_files(files)
    _say_between([load_map(path) for path in maps], since, until, where, files, as_json=output.json)


@grouped
def ask_between(
    name: Annotated[str, argument("a standing map, as 'fedgroup ask standing' names it", "NAME")],
    where: RangeOptions,
    service: ServiceOptions,
    files: FileOptions,
    output: OutputOptions,
) -> None:
    """Add up the windows of a standing map to a longer time: its map or, if it is adaptive, what lies in a range; free.

    Windows of all its levels are used, of each the latest 1,000: as few as make up the time, the sharpest way.
    """
    since, until = _time_of(where)
    require_files(files)
    with connected(service) as federation, working("reading maps"):
        found = federation.window_maps(name, since=since, until=until)
    _say_between(found, since, until, where, files, as_json=output.json)


def _time_of(where: RangeOptions) -> tuple[When, When]:
    since, until = parse_time(where.since), parse_time(where.until)
    if since is None or until is None:
        raise InvalidQuery("say which time: --since T and --until T")
    return since, until


def _say_between(
    maps: Sequence[PrivateMap], since: When, until: When, where: RangeOptions, files: FileOptions, *, as_json: bool
) -> None:
    from fedgroup.maps.ladder import Ladder
    from fedgroup.maps.published import PublishedMap
    from fedgroup.maps.window_sums import WindowMaps

    published = [isinstance(made, PublishedMap) for made in maps]
    if all(published):
        if files != FileOptions():
            raise InvalidInput("published maps have cells of their own, and answer ranges: leave files out")
        asked: Any = parse_range(where, lonlat=maps[0].public_map.lonlat)
        ladder = Ladder(cast("tuple[PublishedMap, ...]", tuple(maps)))
        say_free(ladder.count(asked, since=since, until=until), of="the maps", as_json=as_json)
        return
    if any(published):
        raise InvalidInput("published maps have cells of their own, and maps of bins have not: add up one sort")
    if any(each is not None for each in (where.near, where.within, where.rectangle, where.polygon)):
        raise InvalidQuery("maps of bins add up to a map of these bins: leave the range out")
    made = WindowMaps(tuple(maps)).between(since, until)
    require_database(files, lonlat=made.public_map.lonlat, private=made.private)
    say_map(made, as_json=as_json, **written_to(made, files))
