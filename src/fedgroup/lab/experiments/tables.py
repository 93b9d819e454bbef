"""Tables of the report and of the documents, written from means and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fedgroup.lab.experiments.means import distinct, maybe, number, pick
from fedgroup.lab.experiments.methods import CLEAR, OURS, PAPER
from fedgroup.lab.experiments.paper import PRINTED, Printed
from fedgroup.lab.experiments.sheets import Row, Value

Cells = Sequence[str]


@dataclass(frozen=True)
class Results:
    """The means of every experiment that was run, and the facts of the run."""

    means: Mapping[str, Sequence[Row]]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> Sequence[Row]:
        return self.means.get(name, ())


def markdown(head: Cells, rows: Iterable[Cells]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def around(row: Row, name: str, *, digits: int = 1) -> str:
    """Return a mean with its 95 % half-width."""
    value, width = maybe(row, name), maybe(row, f"{name}_pm")
    if value is None:
        return ""
    return f"{value:,.{digits}f}" + ("" if width is None else f" ± {width:,.{digits}f}")


def share(row: Row, name: str) -> str:
    value = maybe(row, name)
    return "" if value is None else f"{value:.1%}"


def seconds(value: float | None) -> str:
    """Return a time as people read it."""
    if value is None:
        return ""
    for limit, unit, name in ((1e-3, 1e6, "us"), (1, 1e3, "ms"), (120, 1, "s"), (7200, 1 / 60, "min")):
        if value < limit:
            return f"{value * unit:.3g} {name}"
    return f"{value / 3600:.3g} h"


def size(value: float | None) -> str:
    """Return a number of bytes as people read it."""
    if value is None:
        return ""
    return f"{value:.0f} B" if value < 1000 else f"{value / 1e3:.0f} KB" if value < 1e6 else f"{value / 1e6:.1f} MB"


def along(rows: Sequence[Row], axis: str, methods: Iterable[str], cell: Callable[[Row], str], head: str) -> str:
    """Return a table with a row for each method and a column for each value of an axis."""
    values = sorted(distinct(rows, axis), key=lambda value: float(str(value)))
    found = {(row["method"], row[axis]): cell(row) for row in rows}
    named = [name for name in methods if any((name, value) in found for value in values)]
    columns = [f"{value:,}" if isinstance(value, int) else f"{value}" for value in values]
    return markdown([head, *columns], [[name, *(found.get((name, value), "") for value in values)] for name in named])


def per_data(rows: Sequence[Row], table: Callable[[Sequence[Row]], str]) -> str:
    """Return a table for each data set, with its name above."""
    return "\n\n".join(f"*{data}*\n\n{table(pick(rows, data=data))}" for data in distinct(rows, "data"))


_SHOWN = tuple(dict.fromkeys([*PAPER, *CLEAR, *OURS]))


def errors_by_epsilon(results: Results) -> str:
    """Return MAE against epsilon."""
    rows = [row for row in results.of("accuracy-epsilon") if row["method"] in _SHOWN]
    return per_data(rows, lambda some: along(some, "epsilon", _SHOWN, _mae, "MAE at epsilon"))


def errors_by_owners(results: Results) -> str:
    """Return MAE against owners."""
    return per_data(results.of("accuracy-owners"), lambda some: along(some, "owners", _SHOWN, _mae, "MAE at owners"))


def relative_errors(results: Results) -> str:
    """Return MRE of the fixed question against epsilon."""
    rows = [row for row in results.of("accuracy-epsilon") if row["method"] in _SHOWN]
    return per_data(rows, lambda some: along(some, "epsilon", _SHOWN, _fixed_mre, "MRE, one question, at epsilon"))


def _mae(row: Row) -> str:
    return around(row, "mae")


def _fixed_mre(row: Row) -> str:
    return around(row, "fixed_mre", digits=2)


def noisy_and_clear(results: Results) -> str:
    """Return groups and MAE of noisy and exact graphs, along both axes."""
    rows, facts = results.of("noisy-vs-clear"), results.facts
    by_epsilon, by_owners = pick(rows, owners=facts["owners"]), pick(rows, epsilon=facts["epsilon"])
    first = per_data(by_epsilon, lambda some: along(some, "epsilon", CLEAR, _with_groups, "MAE (groups) at epsilon"))
    second = per_data(by_owners, lambda some: along(some, "owners", CLEAR, _with_groups, "MAE (groups) at owners"))
    stopped = "\\*: in some selections the search for largest cliques stopped at its limit and kept the best it found."
    return "\n\n".join([first, second, *([stopped] if any(maybe(row, "limited") for row in rows) else [])])


def _with_groups(row: Row) -> str:
    star = "\\*" if maybe(row, "limited") else ""
    return f"{around(row, 'mae')} ({number(row, 'groups'):,.0f}{star})"


def every_method(results: Results) -> str:
    """Return all measures of all methods at the paper's default."""
    rows = pick(results.of("accuracy-epsilon"), owners=results.facts["owners"], epsilon=results.facts["epsilon"])
    head = ["method", "groups", "MAE", "theory", "MRE", "one question: MRE", "misplaced", "false pairs", "comparisons"]
    head += ["epsilon spent", "set-up", "a question", "bytes sent: set-up"]
    return per_data(rows, lambda some: markdown(head, [_everything(row) for row in some]))


def _everything(row: Row) -> list[str]:
    compared = maybe(row, "comparisons")
    return [
        str(row["method"]),
        f"{number(row, 'groups'):,.1f}",
        around(row, "mae"),
        f"{number(row, 'expected_mae'):,.1f}",
        around(row, "mre", digits=2),
        around(row, "fixed_mre", digits=2),
        share(row, "misplaced_share"),
        share(row, "false_pair_share"),
        "" if compared is None else f"{compared:,.0f}",
        f"{number(row, 'epsilon_spent'):g}",
        seconds(maybe(row, "setup_s")),
        seconds(maybe(row, "query_s")),
        size(maybe(row, "setup_bytes")),
    ]


def against_paper(results: Results, experiment: str) -> str:
    """Return the paper's numbers beside ours, and how they differ."""
    rows = results.of(experiment)
    sources = [name for name in distinct(rows, "data") if name is not None]
    lines = []
    for one in PRINTED:
        ours = [_found(rows, one, data) for data in sources]
        if one.experiment == experiment and any(row is not None for row in ours):
            lines.append(_line(one, sources, ours))
    head = ["what", "paper", *(f"ours, {data}" for data in sources), "how they differ"]
    return markdown(head, lines) if lines else "The paper prints nothing at these settings."


def _found(rows: Sequence[Row], one: Printed, data: Value) -> Row | None:
    found = pick(rows, data=data, method=one.method, owners=one.owners, epsilon=one.epsilon)
    return found[0] if found else None


def _line(one: Printed, sources: Sequence[Value], ours: Sequence[Row | None]) -> list[str]:
    digits = 2 if one.measure == "fixed_mre" else 1
    shown = ["" if row is None else around(row, one.measure, digits=digits) for row in ours]
    apart = [
        f"{data} {number(row, one.measure) / one.value - 1:+.0%}"
        for data, row in zip(sources, ours, strict=True)
        if row is not None
    ]
    return [one.told, f"{one.value:g}", *shown, f"{', '.join(apart)}: {one.why}"]
