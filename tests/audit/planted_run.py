"""Every row of the audit with a bug planted: noise for half of the sensitivity. Each must notice it.

`make audit-planted` runs it:

    python tests/audit/planted_run.py --effort 0.5 --only "live"

Ends with 1 if some row stays silent.
"""

from __future__ import annotations

import argparse
import sys
import time

from planted_noise import HalfNoise

from fedgroup.lab.audit import audited, chosen_rows


def main() -> int:
    parser = argparse.ArgumentParser(description="plant too little noise; every row must notice")
    parser.add_argument("--effort", type=float, default=1.0, help="a share of the draws of a full audit")
    parser.add_argument("--only", default="", help="words in the names of rows")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    started, silent = time.monotonic(), []
    rows = chosen_rows(only=asked.only)
    for verdict in audited(rows, effort=asked.effort, noise=HalfNoise, jobs=asked.jobs):
        told = f"{verdict.bound:.3f} of {verdict.charge:.3f}"
        print(f"{'noticed' if verdict.exceeds else 'SILENT'}  {verdict.row.name}: {told}", flush=True)
        silent += [] if verdict.exceeds else [verdict.row.name]
    print(f"{len(rows) - len(silent)} of {len(rows)} rows noticed it, {time.monotonic() - started:.0f} s")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
