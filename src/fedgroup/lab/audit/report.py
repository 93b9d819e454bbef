"""The report of an audit: for people, for programs, and as a page that needs nothing else."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

import fedgroup
from fedgroup.lab.audit import FALSE_ALARM, Verdict
from fedgroup.lab.audit.power import MOST
from fedgroup.lab.audit.rows import NOT_AUDITED

COLUMNS = (
    "release", "bins", "how", "protected", "seen by", "price", "shown, at least", "charged", "noticed from", "draws",
)  # fmt: skip
SHOWN = (
    "Shown, at least: a lower bound of epsilon from counted outcomes of two neighbouring worlds. Charged: the epsilon "
    "that the ledger says. Noticed from: noise for a sensitivity so many times too small would have raised an alarm in "
    "nine runs of ten. A row is evidence, never a proof: it tells of the events that were looked for."
)


@dataclass(frozen=True)
class AuditReport:
    """All verdicts of one audit."""

    verdicts: tuple[Verdict, ...]
    quick: bool
    seconds: float

    @property
    def exceeded(self) -> tuple[Verdict, ...]:
        """The rows that showed more than they were charged."""
        return tuple(verdict for verdict in self.verdicts if verdict.exceeds)

    @property
    def summary(self) -> str:
        """Return the outcome in a sentence."""
        rows = len(self.verdicts)
        found = "none shows more than it is charged" if not self.exceeded else f"{len(self.exceeded)} SHOW MORE"
        sample = " (a sample: --quick)" if self.quick else ""
        return (
            f"{rows} rows{sample}, {found}; the chance of one false alarm in all of them is at most {FALSE_ALARM:g}, "
            f"so {FALSE_ALARM / max(1, rows):.2g} a row; {self.seconds:.0f} s"
        )

    @property
    def made_by(self) -> str:
        """Return what was audited, where and when."""
        when = f"{datetime.now(UTC):%Y-%m-%d}"
        return f"fedgroup {fedgroup.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores, {when}"

    def as_json(self) -> dict[str, Any]:
        """Return the report for programs."""
        return {
            "made_by": self.made_by,
            "quick": self.quick,
            "false_alarm": FALSE_ALARM,
            "seconds": self.seconds,
            "exceeded": len(self.exceeded),
            "rows": [row_facts(verdict) for verdict in self.verdicts],
            "not_audited": dict(NOT_AUDITED),
        }

    def as_html(self) -> str:
        """Return the report as a page of its own."""
        head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
        rows = "".join(_html_row(verdict) for verdict in self.verdicts)
        left_out = "".join(f"<li>{escape(what)}: {escape(why)}.</li>" for what, why in NOT_AUDITED.items())
        return _PAGE.format(
            summary=escape(self.summary), made_by=escape(self.made_by), shown=escape(SHOWN), head=head, rows=rows,
            left_out=left_out,
        )  # fmt: skip


def row_facts(verdict: Verdict) -> dict[str, Any]:
    """Return one row for programs."""
    row = verdict.row
    return {
        "release": row.release,
        "bins": row.bins,
        "how": row.how,
        "seen_by": row.seen_by,
        "protection": str(row.protection),
        "epsilon": row.price.epsilon,
        "rho": row.price.rho,
        "delta": row.price.delta,
        "shown": verdict.bound,
        "charged": verdict.charge,
        "noticed_from": verdict.noticed,
        "worlds": verdict.pair,
        "draws": verdict.draws,
        "seconds": verdict.seconds,
        "exceeds": verdict.exceeds,
    }


def cells(verdict: Verdict) -> tuple[str, ...]:
    """Return one row for people, as `COLUMNS` names it."""
    row, price = verdict.row, verdict.row.price
    paid = f"epsilon {price.epsilon:g}" if price.rho is None else f"rho {price.rho:g} (delta {price.delta:g})"
    noticed = f"above {MOST:g} x" if verdict.noticed is None else f"{verdict.noticed:.2f} x"
    return (
        row.release, row.bins, row.how, str(row.protection), row.seen_by, paid,
        f"{verdict.bound:.3f}{' EXCEEDS' if verdict.exceeds else ''}", f"{verdict.charge:.3f}", noticed,
        f"{verdict.draws:,}",
    )  # fmt: skip


def _html_row(verdict: Verdict) -> str:
    mark = ' class="exceeds"' if verdict.exceeds else ""
    return f"<tr{mark}>{''.join(f'<td>{escape(cell)}</td>' for cell in cells(verdict))}</tr>\n"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fedgroup: audit</title>
<style>
body {{ font: 15px/1.5 sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #ccc; padding: 0.2em 0.6em; text-align: left; }}
tr.exceeds {{ background: #fdd; font-weight: bold; }}
</style></head><body>
<h1>Audit</h1>
<p><strong>{summary}</strong></p>
<p>{made_by}</p>
<p>{shown}</p>
<table><thead><tr>{head}</tr></thead><tbody>
{rows}</tbody></table>
<h2>Not audited, because no epsilon is promised for it</h2>
<ul>{left_out}</ul>
</body></html>
"""
