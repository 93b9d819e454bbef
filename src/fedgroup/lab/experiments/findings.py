"""The tables that say which method to use when: aims, equal totals, curves of misplaced owners, trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedgroup.lab.experiments.means import distinct, maybe, number, pick
from fedgroup.lab.experiments.methods import METHODS
from fedgroup.lab.experiments.protocols import SEQUENTIAL
from fedgroup.lab.experiments.sheets import Row
from fedgroup.lab.experiments.speed_tables import with_comparisons
from fedgroup.lab.experiments.tables import Results, around, markdown, per_data, seconds, share, size


@dataclass(frozen=True)
class Aim:
    """What a method was to reach on each data set: an MAE, about or at most, with a limit on misplaced owners."""

    method: str
    told: str
    most: dict[str, float]
    misplaced: float | None = None
    about: bool = False

    def reached(self, row: Row) -> bool:
        """Tell whether a row fulfils it; "about" leaves 5 %."""
        limit = self.most.get(str(row["data"]), 0.0)
        error, wrong = number(row, "mae"), maybe(row, "misplaced_share") or 0.0
        close = abs(error - limit) <= 0.05 * limit if self.about else error <= limit
        return close and (self.misplaced is None or wrong <= self.misplaced)


def _most(new_york: float, worldwide: float) -> dict[str, float]:
    return {"New York": new_york, "worldwide": worldwide}


AIMS = (
    Aim("DP", "about 84, by theory", _most(84, 84), about=True),
    Aim("FG likely", "epsilon-DP groups, at most 5 % of the owners misplaced", _most(50, 15), 0.05),
    Aim("FG mixed", "trusted groups and masked cohorts, at most 2 % misplaced", _most(22, 15), 0.02),
    Aim("FG hybrid", "compared owners, none misplaced", _most(20, 12), 0.0),
    Aim("cohorts", "masked cohorts of 50, 1 colluding, none silent", _most(13, 13)),
    Aim("cohorts, 10 % silent", "the same, 10 % may be silent", {}),
    Aim("cohorts, 20 % silent", "the same, 20 % may be silent", {}),
    Aim("MPC", "about 3.3, by theory", _most(3.3, 3.3), about=True),
)


def aims(results: Results) -> str:
    """Return what was aimed at beside what was measured, on the data that the aims are about."""
    rows = pick(results.of("accuracy-epsilon"), owners=results.facts["owners"], epsilon=results.facts["epsilon"])
    rows = [row for row in rows if row["data"] in AIMS[0].most]
    if not rows:
        return "The aims are about real check-ins, New York and worldwide."
    lines = []
    for aim in AIMS:
        for row in pick(rows, method=aim.method):
            limit = aim.most.get(str(row["data"]))
            sign = "about" if aim.about else "at most"
            told = [aim.method, aim.told, str(row["data"]), "" if limit is None else f"{sign} {limit:g}"]
            verdict = "" if limit is None else "yes" if aim.reached(row) else "**no**"
            groups = f"{number(row, 'groups'):,.1f}"
            lines.append([*told, around(row, "mae"), groups, share(row, "misplaced_share"), verdict])
    return markdown(["method", "what", "data", "aim (MAE)", "measured", "groups", "misplaced", "reached"], lines)


def equal_totals(results: Results) -> str:
    """Return errors when every method may spend the same in total, on one question and on ten."""
    rows = pick(results.of("accuracy-epsilon"), owners=results.facts["owners"], epsilon=results.facts["epsilon"])
    return per_data(rows, lambda some: _equal_totals(some, float(results.facts["epsilon"])))


def _equal_totals(rows: Sequence[Row], epsilon: float) -> str:
    one, ten = f"1 question (total {2 * epsilon:g})", f"10 questions (total {11 * epsilon:g})"
    found = {str(row["method"]): around(row, "mae") for row in rows}
    lines = [
        [name, found.get(f"{name}, total of 1", ""), found.get(f"{name}, total of 10", "")]
        for name in ("DP", "cohorts")
    ]
    lines += [[name, found.get(name, ""), found.get(name, "")] for name in ("FG", "FG hybrid", "FG likely", "FG mixed")]
    return markdown(["MAE of each answer to", one, ten], lines)


def misplaced_curves(results: Results) -> str:
    """Return groups against misplaced owners, for every graph."""
    head = ["graph", "setting", "groups", "misplaced", "strangers", "MAE (theory)", "with cohorts for those alone: MAE"]
    return per_data(results.of("misplaced"), lambda some: markdown(head, [_point(row) for row in some]))


def _point(row: Row) -> list[str]:
    errors = [f"{number(row, name):,.1f}" for name in ("expected_mae", "mixed_mae")]
    found = [around(row, "groups"), share(row, "misplaced_share"), share(row, "stranger_share")]
    return [str(row["graph"]), str(row["setting"]), *found, *errors]


def trust(results: Results) -> str:
    """Return accuracy against trust, messages, bytes and time."""
    rows = results.of("trust")
    sources = distinct(rows, "data")
    head = ["method", "who is trusted", *(f"MAE, {data}" for data in sources), "misplaced"]
    head += ["rounds: set-up + question", "an owner sends: set-up + question", "time: set-up + question"]
    lines = [_trusted(name, results, sources) for name in distinct(rows, "method")]
    return markdown(head, [*lines, *_sequential(results, len(sources))])


_SAID = {
    "DP": "`dp`",
    "FG likely": "`fedgroup`, trusted groups by `likely`",
    "FG mixed": "`fedgroup`, mixed plan by `likely`",
    "FG hybrid": "`fedgroup`, trusted groups by `hybrid`",
    "FG masked": "`fedgroup`, masked groups by `likely`",
    "cohorts": "`cohorts` of 50",
    "MPC": "`mpc`",
}


def trust_in_short(results: Results) -> str:
    """Return the methods as the command line names them, with what each takes, for a newcomer."""
    rows = results.of("trust")
    sources = distinct(rows, "data")
    lines = []
    for name, said in _SAID.items():
        _, who, *rest = _trusted(name, results, sources)
        errors, (_, rounds, sent, took) = rest[: len(sources)], rest[len(sources) :]
        lines.append([said, who, *errors, rounds, sent, took])
    head = ["method", "who is trusted", *(f"error, {data}" for data in sources), "rounds", "an owner sends", "time"]
    return markdown(head, lines)


def _trusted(name: object, results: Results, sources: Sequence[object]) -> list[str]:
    mine = pick(results.of("trust"), method=str(name))
    first = mine[0]
    wrong = [share(row, "misplaced_share") for row in mine if maybe(row, "misplaced_share") is not None]
    sent = f"{size(number(first, 'setup_bytes'))} + {size(number(first, 'question_bytes'))}"
    rounds = f"{number(first, 'setup_rounds'):,.0f} + {number(first, 'question_rounds'):g}"
    took = f"{seconds(with_comparisons(results, first))} + {seconds(maybe(first, 'query_s'))}"
    errors = [around(row, "mae") for data in sources for row in mine if row["data"] == data]
    return [str(name), METHODS[str(name)].trust, *errors, " / ".join(wrong), rounds, sent, took]


def _sequential(results: Results, sources: int) -> list[list[str]]:
    """Return the paper's MPC baseline, whose owners wait for one another."""
    owners = int(results.facts["owners"])
    return [
        [
            "sequential MPC (paper)",
            "nobody",
            *(["as MPC"] * sources),
            "",
            f"0 + {owners - 1:,}",
            f"0 B + {size(maybe(row, 'bytes_each'))}",
            f"0 s + {seconds(number(row, 'seconds_each') * owners)}",
        ]
        for row in pick(results.of("protocols"), what=SEQUENTIAL)
    ]


def clear_claims(results: Results) -> str:
    """Return what the paper says about noisy and exact graphs beside ours, at its default."""
    rows = pick(results.of("noisy-vs-clear"), owners=results.facts["owners"], epsilon=results.facts["epsilon"])
    found = {(row["data"], str(row["method"])): number(row, "mae") for row in rows}
    sources = distinct(rows, "data")

    def compared(one: str, other: str) -> str:
        return "; ".join(f"{data}: {found[data, one]:.1f} against {found[data, other]:.1f}" for data in sources)

    apart = "and by far: light owners' noisy similarity is nearly all noise"
    return markdown(
        ["what", "paper", "ours (MAE)", "how they differ"],
        [
            ["FG-C against FG", "better, by a small margin", compared("FG-C", "FG"), f"better, {apart}"],
            ["FG-ExC against FG-Ex", "slightly better", compared("FG-ExC", "FG-Ex"), f"better, {apart}"],
            ["FG against FG-Ex", "similar", compared("FG", "FG-Ex"), "similar: the algorithm matters little"],
        ],
    )
