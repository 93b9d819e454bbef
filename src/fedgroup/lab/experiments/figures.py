"""The figures, one for each experiment, drawn from means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from fedgroup.lab.experiments import charts
from fedgroup.lab.experiments.means import distinct, maybe, number, pick
from fedgroup.lab.experiments.methods import BITS, CLEAR, LEADERS, METHODS, MIXED, NOBODY, OURS, PAPER
from fedgroup.lab.experiments.paper import HOURS, MPC_HOURS_AT_1M, SECONDS_AT_1M, printed
from fedgroup.lab.experiments.protocols import SEQUENTIAL
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.speed_tables import is_grouped, seconds_each, with_comparisons
from fedgroup.lab.experiments.tables import Results, seconds, size

_EPSILON = ("epsilon", "epsilon of a question")
_OWNERS = ("owners", "owners")
_MAE = ("mae", "mean absolute error (records)")
_MRE = ("fixed_mre", "mean relative error, one question")
_ERRORS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
_RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2)
_TIMES = tuple(10.0**power for power in range(-4, 7))
_LINES = (*PAPER, *OURS)


def draw_accuracy(results: Results, folder: Path, name: str) -> None:
    """Draw MAE and MRE against epsilon or owners, with the paper's printed points as hollow marks."""
    rows = results.of(name)
    x = _EPSILON if name == "accuracy-epsilon" else _OWNERS
    sources = distinct(rows, "data")
    drawn, panels = charts.figure(2, len(sources))
    for position, data in enumerate(sources):
        mine = pick(rows, data=data)
        for axes, y, ticks in zip(panels[2 * position :], (_MAE, _MRE), (_ERRORS, _RATIOS), strict=False):
            charts.lines(axes, mine, x=x, y=y, names=_LINES)
            measured = {number(row, x[0]) for row in mine}
            for method in ("DP", "FG"):
                stated = [point for point in printed(name, method, y[0], along=x[0]) if point[0] in measured]
                charts.points(axes, stated, name=method, label=f"{method}, paper")
            charts.logarithmic(axes, ticks=ticks)
            charts.at_values(axes, mine, x[0])
            axes.set_title(str(data), loc="left")
    charts.legend_below(drawn, panels, columns=5)
    charts.save(drawn, folder, name)


def draw_noisy_vs_clear(results: Results, folder: Path) -> None:
    """Draw MAE of noisy and exact graphs, against epsilon and against owners."""
    rows, facts = results.of("noisy-vs-clear"), results.facts
    sources = distinct(rows, "data")
    drawn, panels = charts.figure(2, len(sources))
    for position, data in enumerate(sources):
        left, right = panels[2 * position : 2 * position + 2]
        for axes, x, fixed in ((left, _EPSILON, "owners"), (right, _OWNERS, "epsilon")):
            mine = pick(rows, data=data, **{fixed: facts[fixed]})
            charts.lines(axes, mine, x=x, y=_MAE, names=CLEAR)
            charts.at_values(axes, mine, x[0])
            axes.set_ylim(bottom=0)
            axes.set_title(f"{data}, {fixed} {facts[fixed]:g}", loc="left")
    charts.legend_below(drawn, panels, columns=4)
    charts.save(drawn, folder, "noisy-vs-clear")


def draw_misplaced(results: Results, folder: Path) -> None:
    """Draw how many groups each graph needs against how many owners it misplaces."""
    rows = results.of("misplaced")
    sources = distinct(rows, "data")
    drawn, panels = charts.figure(len(sources), width=5.4, height=4.2)
    widest = max(0.01, *(number(row, "misplaced_share") for row in rows))
    for axes, data in zip(panels, sources, strict=True):
        charts.lines(
            axes,
            pick(rows, data=data),
            x=("misplaced_share", "owners misplaced"),
            y=("groups", "groups (lambda): noise terms in an answer"),
            by="graph",
        )
        axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        axes.set_xlim(-0.002, widest * 1.04)
        charts.logarithmic(axes, ticks=_ERRORS)
        axes.set_title(str(data), loc="left")
    charts.legend_below(drawn, panels, columns=5)
    charts.save(drawn, folder, "misplaced")


def draw_time(results: Results, folder: Path) -> None:
    """Draw the time of a question and of the set-up against owners."""
    rows = pick(results.of("time"), epsilon=results.facts["epsilon"])
    each = seconds_each(results, SEQUENTIAL)
    slow: list[Row] = [
        {"owners": owners, "method": "sequential MPC", "query_s": each * int(str(owners))}
        for owners in distinct(rows, "owners")
    ]
    setups: list[Row] = [
        {"owners": row["owners"], "method": row["method"], "setup_s": with_comparisons(results, row)}
        for row in rows
        if is_grouped(row)
    ]
    drawn, (left, right) = charts.figure(2, width=5.2, height=4.2)
    charts.lines(left, [*rows, *slow], x=_OWNERS, y=("query_s", "a question (s)"))
    charts.lines(right, setups, x=_OWNERS, y=("setup_s", "set-up of groups, with comparisons (s)"))
    for axes in (left, right):
        charts.logarithmic(axes, ticks=_TIMES)
        charts.at_values(axes, rows, "owners")
    charts.legend_below(drawn, [left, right], columns=6)
    charts.save(drawn, folder, "time")


def draw_scalability(results: Results, folder: Path) -> None:
    """Draw the time of a question and its error in cities of up to a million owners, with what the paper states."""
    rows = pick(results.of("scalability"), epsilon=results.facts["epsilon"])
    each = seconds_each(results, SEQUENTIAL)
    slow: list[Row] = [
        {"owners": owners, "method": "sequential MPC", "query_s": each * int(str(owners))}
        for owners in distinct(rows, "owners")
    ]
    drawn, (left, right) = charts.figure(2, width=5.2, height=4.2)
    charts.lines(left, [*rows, *slow], x=_OWNERS, y=("query_s", "a question (s)"))
    if not results.facts["quick"]:
        charts.points(left, [(1e6, SECONDS_AT_1M)], name="FG", label="DP and FG, paper (at most)")
        charts.points(left, [(1e6, MPC_HOURS_AT_1M * HOURS)], name="sequential MPC", label="MPC, paper (at least)")
    charts.lines(right, rows, x=_OWNERS, y=_MAE)
    charts.logarithmic(left, ticks=_TIMES)
    charts.logarithmic(right, ticks=_ERRORS)
    for axes in (left, right):
        charts.at_values(axes, rows, "owners")
    charts.legend_below(drawn, [left, right], columns=4)
    charts.save(drawn, folder, "scalability")


_TRUST = {
    NOBODY: ("#009e73", "trusts nobody"),
    MIXED: ("#56b4e9", "trusts its group's leader if it could be placed, else nobody"),
    LEADERS: ("#e69f00", "trusts its group's leader"),
    BITS: ("#d55e00", "trusts its group's leader; exact bits of similarity leave"),
}


def draw_trust(results: Results, folder: Path) -> None:
    """Draw each method's error as a bar in the colour of its trust assumption, with what it costs beside it."""
    rows = results.of("trust")
    sources = distinct(rows, "data")
    names = [str(name) for name in distinct(rows, "method")]
    drawn, panels = charts.figure(len(sources), width=10.5 / max(1, len(sources)), height=0.4 * len(names) + 1.9)
    for axes, data in zip(panels, sources, strict=True):
        _bars(axes, {str(row["method"]): row for row in pick(rows, data=data)}, names)
        axes.set_title(str(data), loc="left")
    for axes in panels[1:]:
        axes.set_yticklabels([])
    for colour, label in _TRUST.values():
        panels[0].bar(0, 0, color=colour, label=label)
    charts.legend_below(drawn, panels[:1], columns=2)
    charts.save(drawn, folder, "trust")


def _bars(axes: Axes, rows: dict[str, Row], names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        row = rows[name]
        error, width = number(row, "mae"), maybe(row, "mae_pm") or 0.0
        colour = _TRUST[METHODS[name].trust][0]
        axes.barh(place, error, xerr=width, color=colour, error_kw={"elinewidth": 1, "capsize": 2})
        axes.annotate(
            _costs(row), (error + width, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8
        )
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 1.6 * max(number(row, "mae") for row in rows.values()))
    axes.set_xlabel("mean absolute error (records)\nbeside: error, sent by an owner in all, time of a question")


def _costs(row: Row) -> str:
    sent = size(number(row, "setup_bytes") + number(row, "question_bytes"))
    return f"{number(row, 'mae'):.1f}   {sent}   {seconds(maybe(row, 'query_s'))}"
