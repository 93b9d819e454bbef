"""What can be said on the command line, and how it is said everywhere alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

_COLUMNS = "Columns (found by their usual names)"
_PRIVACY = "Privacy"
_EVALUATION = 'Evaluation only: prints "private": false'
_WHERE = "Where and when"
_HOW = "How"


def _option(name: str, text: str, panel: str, metavar: str | None = None) -> typer.models.OptionInfo:
    return typer.Option(name, help=text, rich_help_panel=panel, metavar=metavar)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class DataOptions:
    """Which records, read how, under which protection."""

    data: Annotated[Path, typer.Argument(help="Parquet, CSV or SNAP check-in file (.txt, .gz)", show_default=False)]
    domain: Annotated[
        str | None,
        _option(
            "--domain", "the agreed public rectangle; needed unless the file's metadata states one", _WHERE, "W,S,E,N"
        ),
    ] = None
    owner: Annotated[str | None, _option("--owner", "column of owner ids", _COLUMNS)] = None
    x: Annotated[str | None, _option("--x", "column of x or longitude", _COLUMNS)] = None
    y: Annotated[str | None, _option("--y", "column of y or latitude", _COLUMNS)] = None
    time: Annotated[str | None, _option("--time", "column of times", _COLUMNS)] = None
    planar: Annotated[
        bool, typer.Option("--planar", help="read lon/lat columns as plain x and y", rich_help_panel=_COLUMNS)
    ] = False
    owner_list: Annotated[
        Path | None, _option("--owner-list", "the public list of owners: Parquet, CSV, or one id per line", _COLUMNS)
    ] = None
    ledger: Annotated[Path | None, _option("--ledger", "file that keeps what was spent", _PRIVACY)] = None
    budget: Annotated[float | None, _option("--budget", "epsilon every owner may spend in all", _PRIVACY)] = None
    neighbours: Annotated[
        str, _option("--neighbours", "what changes between neighbouring databases: add-remove or replace", _PRIVACY)
    ] = "add-remove"
    unit: Annotated[str, _option("--unit", "what is protected: one record, or all records of one owner", _PRIVACY)] = (
        "record"
    )
    max_records: Annotated[
        int | None, _option("--max-records", "with --unit owner: the most records one owner contributes", _PRIVACY)
    ] = None
    seed: Annotated[int | None, _option("--seed", "repeatable noise", _EVALUATION)] = None
    float_laplace: Annotated[
        bool,
        typer.Option(
            "--float-laplace", help="the paper's floating-point noise (needs --seed)", rich_help_panel=_EVALUATION
        ),
    ] = False
    owners: Annotated[int | None, _option("--owners", "take that many owners at random", _EVALUATION)] = None
    min_records: Annotated[
        int, _option("--min-records", "with --owners: among those with at least that many records", _EVALUATION)
    ] = 0


@dataclass(frozen=True)
class RangeOptions:
    """One range, and optionally a time window."""

    near: Annotated[str | None, _option("--near", "centre of a circle", _WHERE, "X,Y")] = None
    within: Annotated[float | None, _option("--within", "its radius; metres for lon/lat", _WHERE)] = None
    rectangle: Annotated[str | None, _option("--rectangle", "a rectangle", _WHERE, "W,S,E,N")] = None
    polygon: Annotated[Path | None, _option("--polygon", "GeoJSON file with a Polygon or MultiPolygon", _WHERE)] = None
    since: Annotated[
        str | None, _option("--since", "only records from this time on (ISO, or seconds since 1970)", _WHERE)
    ] = None
    until: Annotated[str | None, _option("--until", "only records before this time", _WHERE)] = None


@dataclass(frozen=True)
class AskOptions:
    """By which method, at what price."""

    epsilon: Annotated[float | None, _option("--epsilon", "what the answer may cost every owner", _PRIVACY)] = None
    method: Annotated[
        str | None, _option("--method", "dp, fedgroup or exact; default: fedgroup with --plan, else dp", _HOW)
    ] = None
    plan: Annotated[Path | None, _option("--plan", "groups made by 'fedgroup group'", _HOW)] = None
    in_group: Annotated[
        str, _option("--in-group", "trusted: a group's leader sees its members' partial answers", _HOW)
    ] = "trusted"
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="tell the expected error and the cost; spend nothing", rich_help_panel=_HOW),
    ] = False
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="ask anew and pay anew, even if this was asked before", rich_help_panel=_PRIVACY),
    ] = False
    repeat: Annotated[int, _option("--repeat", "that many fresh answers", _EVALUATION)] = 1
    evaluate: Annotated[bool, typer.Option("--evaluate", help="add the true value", rich_help_panel=_EVALUATION)] = (
        False
    )


@dataclass(frozen=True)
class MeasureOptions:
    """Which attribute, cut to what range."""

    attribute: Annotated[str, _option("--attribute", "numeric column", _HOW)]
    clip: Annotated[float, _option("--clip", "values are cut to 0..CLIP before they are summed", _HOW)]
    signed: Annotated[bool, typer.Option("--signed", help="cut to -CLIP..CLIP instead", rich_help_panel=_HOW)] = False
    resolution: Annotated[
        float | None, _option("--resolution", "values are rounded to multiples of this; default about CLIP/1000", _HOW)
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """For people, or for programs."""

    json: Annotated[bool, typer.Option("--json", help="print one JSON object on stdout")] = False
