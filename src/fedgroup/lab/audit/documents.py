"""The report of a full audit as the documents show it: `make audit` refreshes it, a test holds it against the rows.

Every row is in docs/data/audit.csv; the page has a line for each release and method, between two marks.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedgroup.errors import InvalidInput
from fedgroup.lab.audit.power import MOST

DATA = Path("docs/data/audit.csv")
PAGE = Path("docs/audit.md")
COLUMNS = (
    "release", "bins", "how", "protection", "epsilon", "rho", "delta", "seen_by", "shown", "charged", "noticed_from",
    "draws",
)  # fmt: skip
_MARKED = re.compile(r"<!-- audit -->\n.*?<!-- /audit -->", flags=re.S)

Facts = Mapping[str, Any]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a report as they were kept."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[Facts]) -> str:
    """Return a line for each release, method and price: the row that shows most of its charge, and the weakest one."""
    lines = [
        "| release | how | price | rows | shown, at most | of a charge of | noticed from, at worst |",
        "|---" * 7 + "|",
    ]
    kinds = dict.fromkeys((row["release"], row["how"], _price(row)) for row in rows)
    for kind in kinds:
        mine = [row for row in rows if (row["release"], row["how"], _price(row)) == kind]
        most = max(mine, key=lambda row: float(row["shown"]) / float(row["charged"]))
        weakest = max(noticed_from(row) for row in mine)
        noticed = f"{weakest:.2f} x" if math.isfinite(weakest) else f"above {MOST:g} x"
        shown = f"{float(most['shown']):.2f} | {float(most['charged']):.2f} | {noticed}"
        lines.append(f"| {' | '.join(kind)} | {len(mine)} | {shown} |")
    return "\n".join(lines)


def noticed_from(row: Facts) -> float:
    """Return from which factor on too little noise would have been noticed; infinity beyond all factors looked for."""
    return float(row["noticed_from"] or math.inf)


def filled(text: str, rows: Sequence[Facts]) -> str:
    """Return a page with its table written from the rows."""
    return _MARKED.sub(f"<!-- audit -->\n{table(rows)}\n<!-- /audit -->", text)


def keep(report: Facts, root: Path) -> None:
    """Write a full report to where the documents expect it."""
    if report["quick"] or report["exceeded"]:
        raise InvalidInput("documents show a full audit in which no row exceeds its charge")
    with (root / DATA).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(_written(report["rows"]))
    page = root / PAGE
    page.write_text(filled(page.read_text(encoding="utf-8"), rows_of(root / DATA)), encoding="utf-8")


def _written(rows: Iterable[Facts]) -> Iterable[Sequence[str]]:
    yield COLUMNS
    for row in rows:
        yield [
            "" if row[name] is None else f"{row[name]:.4g}" if _is_float(row[name]) else row[name] for name in COLUMNS
        ]


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


def _price(row: Facts) -> str:
    return f"rho {row['rho']}" if row["rho"] else f"epsilon {row['epsilon']}"


if __name__ == "__main__":
    keep(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path())
