"""What can be said on the command line, and how it is said everywhere alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from fedgroup.questions.methods import COHORT_SIZE, PRIVATE

OPTIONS = "Options"
WHERE = "Where and when"
WHAT = "What"
PRICE = "Price"
PRIVACY = "Privacy"
PROTECTED = "What is protected (the same in every question)"
HOW = "How"
COLUMNS = "Columns (found by their usual names)"
BINS = "Bins: places, and maybe steps of time and categories"
EVALUATION = 'Evaluation only: prints "private": false'


def option(panel: str, name: str, text: str, metavar: str) -> Any:
    """Return an option that takes a value, shown in a panel of the help."""
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel=panel)


def flag(panel: str, name: str, text: str) -> Any:
    """Return an option that is there or not."""
    return typer.Option(name, help=text, metavar="", rich_help_panel=panel, show_default=False)


def hidden_flag(name: str, text: str) -> Any:
    """Return an option for other commands of ours, which no help shows."""
    return typer.Option(name, help=text, hidden=True)


def argument(text: str, metavar: str) -> Any:
    """Return an argument that must be given."""
    return typer.Argument(help=text, metavar=metavar, show_default=False)


Domain = Annotated[
    str | None,
    option(WHERE, "--domain", "the agreed public rectangle, needed unless the file states one", "W,S,E,N"),
]
RhoThere = Annotated[
    float | None, option(PRIVACY, "--rho", "instead of --epsilon, in a federation that counts rho", "R")
]
"""The price of what is asked of a running federation."""
LeastOwners = Annotated[int | None, option(HOW, "--least-owners", "refuse, for nothing, if fewer owners are here", "N")]
LeastShare = Annotated[
    float | None, option(HOW, "--least-share", "likewise for a share of all known owners, from 0 to 1", "S")
]
File = Path | None
Name = str | None


@dataclass(frozen=True)
class RangeOptions:
    """One range, and optionally a time window."""

    near: Annotated[Name, option(WHERE, "--near", "centre of a circle", "X,Y")] = None
    within: Annotated[float | None, option(WHERE, "--within", "its radius; metres for lon/lat", "R")] = None
    rectangle: Annotated[Name, option(WHERE, "--rectangle", "a rectangle", "W,S,E,N")] = None
    across_antimeridian: Annotated[
        bool,
        flag(WHERE, "--across-antimeridian", "lon/lat: the rectangle goes east from W over 180 degrees to E, W > E"),
    ] = False
    polygon: Annotated[File, option(WHERE, "--polygon", "GeoJSON file with one polygon", "FILE")] = None
    since: Annotated[Name, option(WHERE, "--since", "from this time on (ISO, or seconds since 1970)", "T")] = None
    until: Annotated[Name, option(WHERE, "--until", "before this time", "T")] = None


@dataclass(frozen=True)
class MeasureOptions:
    """Which attribute, cut to what range."""

    attribute: Annotated[str, option(WHAT, "--attribute", "numeric column", "COLUMN")]
    clip: Annotated[float, option(WHAT, "--clip", "values are cut to 0..CLIP before they are summed", "CLIP")]
    signed: Annotated[bool, flag(WHAT, "--signed", "cut to -CLIP..CLIP instead")] = False
    resolution: Annotated[
        float | None,
        option(WHAT, "--resolution", "values are rounded to multiples of U; default about CLIP/1000", "U"),
    ] = None


@dataclass(frozen=True)
class AskOptions:
    """By which method, at what price."""

    epsilon: Annotated[
        float | None,
        option(PRICE, "--epsilon", "what the answer may cost every owner, such as 0.3 (not for --method exact)", "E"),
    ] = None
    rho: Annotated[
        float | None, option(PRICE, "--rho", "instead of --epsilon, where rho is counted (--accounting zcdp)", "R")
    ] = None
    error: Annotated[
        Name,
        option(
            PRICE,
            "--error",
            "instead of --epsilon: how far off in 95 %, such as 10 or '10% of 500'; costs no more than that takes",
            "X",
        ),
    ] = None
    fresh: Annotated[bool, flag(PRICE, "--fresh", "ask anew and pay anew, even if this was asked before")] = False
    dry_run: Annotated[bool, flag(PRICE, "--dry-run", "show the expected error and the cost; spend nothing")] = False
    method: Annotated[
        Name,
        option(HOW, "--method", f"{', '.join(PRIVATE)}, or exact (with --evaluate); default: see --plan", "NAME"),
    ] = None
    plan: Annotated[
        File, option(HOW, "--plan", "groups made by 'fedgroup group'; with it the method is fedgroup, else dp", "FILE")
    ] = None
    in_group: Annotated[
        str,
        option(HOW, "--in-group", "trusted: a group's leader sees its members' answers; masked: nobody does", "NAME"),
    ] = "trusted"
    cohort_size: Annotated[
        int, option(HOW, "--cohort-size", "for cohorts: how many owners mask their answers together", "N")
    ] = COHORT_SIZE
    colluders: Annotated[
        int, option(HOW, "--colluders", "for masked groups: how many members may pool what they know", "C")
    ] = 1
    dropouts: Annotated[
        float, option(HOW, "--dropouts", "for masked groups: which share of the members may be silent", "SHARE")
    ] = 0.1


@dataclass(frozen=True)
class ProtectionOptions:
    """Who is protected how far, and where spending is kept."""

    ledger: Annotated[File, option(PRIVACY, "--ledger", "file that keeps what was spent", "FILE")] = None
    budget: Annotated[float | None, option(PRIVACY, "--budget", "epsilon every owner may spend in all", "B")] = None
    accounting: Annotated[
        Name,
        option(PRIVACY, "--accounting", "pure epsilon, or zcdp: many answers are sharper; a ledger keeps one", "NAME"),
    ] = None
    delta: Annotated[
        float | None, option(PRIVACY, "--delta", "with --accounting zcdp: --budget holds with this delta", "D")
    ] = None
    per: Annotated[
        Name, option(PRIVACY, "--per", "windows of the records' time: hour, day, week, or a length such as 15min", "T")
    ] = None
    window_budget: Annotated[
        float | None,
        option(PRIVACY, "--window-budget", "with --per: epsilon that such windows may cost, besides --budget", "B"),
    ] = None
    windows: Annotated[
        int | None,
        option(PRIVACY, "--windows", "with --per: any N consecutive windows share --window-budget; default 1", "N"),
    ] = None
    raise_budget: Annotated[
        bool, flag(PRIVACY, "--raise-budget", "let --budget, or group's --comparisons, be more than before")
    ] = False
    neighbours: Annotated[
        str, option(PROTECTED, "--neighbours", "neighbouring databases differ by: add-remove or replace", "NAME")
    ] = "add-remove"
    unit: Annotated[
        str,
        option(PROTECTED, "--unit", "protect one record, one subject, or one owner with all of its records", "NAME"),
    ] = "record"
    max_records: Annotated[
        int | None,
        option(PROTECTED, "--max-records", "with --unit subject or owner: the most records one contributes", "K"),
    ] = None
    max_bins: Annotated[
        int | None, option(PROTECTED, "--max-bins", "for maps of people: the most bins that one counts in", "M")
    ] = None


@dataclass(frozen=True)
class DataOptions:
    """Which records, read how."""

    data: Annotated[Path, argument("Parquet, GeoParquet, CSV or SNAP check-in file (.txt, .gz)", "DATA")]
    domain: Domain = None
    owner: Annotated[Name, option(COLUMNS, "--owner", "owner ids", "COLUMN")] = None
    x: Annotated[Name, option(COLUMNS, "--x", "x or longitude", "COLUMN")] = None
    y: Annotated[Name, option(COLUMNS, "--y", "y or latitude", "COLUMN")] = None
    time: Annotated[Name, option(COLUMNS, "--time", "times", "COLUMN")] = None
    subject: Annotated[
        Name, option(COLUMNS, "--subject", "subjects, the people or cars of an owner, if there are any", "COLUMN")
    ] = None
    planar: Annotated[bool, flag(COLUMNS, "--planar", "read lon/lat columns as plain x and y")] = False
    owner_list: Annotated[
        File,
        option(COLUMNS, "--owner-list", "the agreed public list of owners: Parquet, CSV, or one id a line", "FILE"),
    ] = None


@dataclass(frozen=True)
class EvaluationOptions:
    """What makes a result repeatable or comparable, and not private."""

    seed: Annotated[int | None, option(EVALUATION, "--seed", "repeatable noise", "S")] = None
    float_laplace: Annotated[
        bool, flag(EVALUATION, "--float-laplace", "the paper's floating-point noise (needs --seed)")
    ] = False
    owners: Annotated[int | None, option(EVALUATION, "--owners", "take N owners at random", "N")] = None
    min_records: Annotated[
        int | None, option(EVALUATION, "--min-records", "with --owners: of those with at least K records", "K")
    ] = None


@dataclass(frozen=True)
class TrialOptions:
    """How an answer is compared with the truth."""

    repeat: Annotated[
        int | None, option(EVALUATION, "--repeat", "N fresh answers, each charged; 'value' is the first", "N")
    ] = None
    evaluate: Annotated[
        bool, flag(EVALUATION, "--evaluate", "add the true value, and the one after clipping; the ledger notes it")
    ] = False


@dataclass(frozen=True)
class QueryOptions:
    """All that can be said about any question."""

    where: RangeOptions
    how: AskOptions
    protection: ProtectionOptions
    data: DataOptions
    evaluation: EvaluationOptions
    trial: TrialOptions


@dataclass(frozen=True)
class OutputOptions:
    """For people, or for programs."""

    json: Annotated[bool, flag(OPTIONS, "--json", "print one JSON object on stdout")] = False
