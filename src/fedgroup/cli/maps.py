"""`fedgroup map`: counts, people, sums or means of many bins at once, for one epsilon."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.answers import say_expectation, say_map
from fedgroup.cli.bins import BinOptions, MapMeasureOptions, parse_bins
from fedgroup.cli.extras import require_extras
from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import (
    mention_caps,
    open_federation,
    read_indexed,
    require_evaluate,
    require_writable,
)
from fedgroup.cli.options import (
    EVALUATION,
    OPTIONS,
    AskOptions,
    DataOptions,
    EvaluationOptions,
    File,
    Name,
    OutputOptions,
    ProtectionOptions,
    RangeOptions,
    flag,
    option,
)
from fedgroup.cli.output import notice, working
from fedgroup.cli.query import how_details
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.federation.questions import MapDetails
    from fedgroup.maps.private_map import PrivateMap


@dataclass(frozen=True)
class FileOptions:
    """Where the map goes."""

    out: Annotated[
        File, option(OPTIONS, "--out", "write the map: .gpkg, .parquet (GeoParquet), .geojson or .csv", "FILE")
    ] = None
    picture: Annotated[File, option(OPTIONS, "--picture", "draw the map: .png, .svg or .pdf", "FILE")] = None
    to: Annotated[
        Name, option(OPTIONS, "--to", "write the map into a PostGIS database: postgresql://USER@HOST/NAME", "URL")
    ] = None
    table: Annotated[Name, option(OPTIONS, "--table", "which table, in place of the map there", "NAME")] = None
    srid: Annotated[
        int | None, option(OPTIONS, "--srid", "of a map on a plane: its coordinate system, such as 28992", "N")
    ] = None


@dataclass(frozen=True)
class MapOptions:
    """All that can be said about a map."""

    bins: BinOptions
    where: RangeOptions
    what: MapMeasureOptions
    how: AskOptions
    protection: ProtectionOptions
    data: DataOptions
    evaluation: EvaluationOptions


@grouped
def map_(
    asked: MapOptions,
    files: FileOptions,
    output: OutputOptions,
    evaluate: Annotated[bool, flag(EVALUATION, "--evaluate", "add the true values; the ledger notes it")] = False,
) -> None:
    """Count records or people, sum or average an attribute, in many bins at once; one epsilon pays for them all."""
    require_evaluate("--method exact", exact=asked.how.method == "exact", evaluate=evaluate)
    require_files(files)
    records, index = read_indexed(asked.data, asked.evaluation)
    bins = parse_bins(asked.bins, asked.where, lonlat=records.lonlat, texts=records.texts)
    details = _details(asked, bins, evaluate=evaluate)
    with open_federation(
        index or records,
        domain=asked.data.domain,
        protection=asked.protection,
        evaluation=asked.evaluation,
        evaluate=evaluate,
    ) as federation:
        require_database(files, lonlat=records.lonlat, private=federation.private and not evaluate)
        kind, epsilon = asked.what.kind, asked.how.epsilon
        if asked.how.dry_run:
            say_expectation(federation.expect_map(kind=kind, epsilon=epsilon, **details), as_json=output.json)
            return
        with working("asking"):
            made = federation.map(kind=kind, epsilon=epsilon, **details)
        if made.charged:
            mention_caps(federation, asked.protection)
    say_map(made, as_json=output.json, **written_to(made, files))


def written_to(made: PrivateMap, files: FileOptions) -> dict[str, str | None]:
    """Write a map to the files that were named, and return their names."""
    if files.out is not None:
        import warnings

        with working(f"writing {files.out}"), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made.save(files.out)
        for warning in told:
            notice(str(warning.message))
    if files.picture is not None:
        with working(f"drawing {files.picture}"):
            from fedgroup.maps.pictures import save_picture

            save_picture(made, files.picture)
    if files.to is not None:
        with working("writing the table"):
            from fedgroup.outlets.postgis import write_postgis

            write_postgis(made, files.to, files.table or _usual_table(), srid=files.srid)
    table = None if files.to is None else f"table {files.table or _usual_table()}"
    return {"out": _name(files.out), "picture": _name(files.picture)} | ({} if table is None else {"to": table})


def require_database(files: FileOptions, *, lonlat: bool, private: bool = True) -> None:
    """Refuse a database that the map could not be written into, before anything is spent on it."""
    if files.to is None:
        if files.table is not None or files.srid is not None:
            raise InvalidInput("--table and --srid say more about --to, which is missing")
        return
    if not private:
        raise InvalidInput("--to shows a map to others, and this one is not private; leave --evaluate and --seed out")
    from fedgroup.outlets.postgis import require_postgis

    require_postgis(files.to, files.table or _usual_table(), lonlat=lonlat, srid=files.srid)


def require_files(files: FileOptions) -> None:
    """Refuse files that could not be written, before anything is spent on what should be in them."""
    if files.out is not None:
        from fedgroup.maps.files import require_writable_kind

        require_writable_kind(files.out)
        require_writable(files.out)
    if files.picture is not None:
        from fedgroup.maps.pictures import require_picture

        require_extras("a picture", "lab")
        require_picture(files.picture)
        require_writable(files.picture)


def _details(asked: MapOptions, bins: dict[str, Any], *, evaluate: bool) -> MapDetails:
    how = asked.how
    measure = {name: value for name, value in asdict(asked.what).items() if name != "kind"}
    details: MapDetails = {
        **how_details(how),
        "fresh": how.fresh,
        "evaluate": evaluate,
        **bins,  # type: ignore[typeddict-item]
        **measure,
    }
    return details


def _usual_table() -> str:
    from fedgroup.outlets.postgis import USUAL_TABLE

    return USUAL_TABLE


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)
