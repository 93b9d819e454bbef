"""Every row of the audit with a bug planted: noise for half of the sensitivity. Each must notice it.

`make audit-planted` runs it:

    python tests/audit/planted_run.py --effort 0.25 --only "live"

Ends with 1 if some row stays silent.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from planted_noise import HalfNoise

from fedgroup.lab.audit import FALSE_ALARM, Verdict, audited, chosen_rows
from fedgroup.lab.audit.rows import AuditRow, every_row


def told(rows: list[AuditRow], effort: float, jobs: int) -> Iterator[Verdict]:
    """Yield verdicts on rows with half the noise, each with the alarm of a whole audit, and tell of them."""
    for verdict in audited(rows, effort=effort, noise=HalfNoise, jobs=jobs, share=FALSE_ALARM / len(every_row())):
        shown = f"{verdict.bound:.3f} of {verdict.charge:.3f}, {verdict.draws} draws"
        print(f"{'noticed' if verdict.exceeds else 'silent'}  {verdict.row.name}: {shown}", flush=True)
        yield verdict


def main() -> int:
    parser = argparse.ArgumentParser(description="plant too little noise; every row must notice")
    parser.add_argument(
        "--effort", type=float, default=0.25, help="a share of the draws of a full audit; all where it is not enough"
    )
    parser.add_argument("--only", default="", help="words in the names of rows")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    started, silent = time.monotonic(), list[AuditRow]()
    rows = chosen_rows(only=asked.only)
    waiting = rows
    for effort in (asked.effort, 1.0):
        if waiting:
            silent = [verdict.row for verdict in told(waiting, effort, asked.jobs) if not verdict.exceeds]
        waiting = silent
    print(f"{len(rows) - len(silent)} of {len(rows)} rows noticed it, {time.monotonic() - started:.0f} s")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
