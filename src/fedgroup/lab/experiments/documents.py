"""Tables and figures of the documents, taken from a run's means: `make results` refreshes them, a test compares them.

A document asks for a table between two marks, `<!-- table: NAME -->` and `<!-- /table -->`.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.lab.experiments.report import TABLES
from fedgroup.lab.experiments.running import EXPERIMENTS, PARTS, SETTINGS, load_results
from fedgroup.lab.experiments.tables import Results

DATA = Path("docs/data")
IMAGES = Path("docs/images")
PAGES = (Path("README.md"), Path("docs/results.md"))
_MARKED = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- /table -->", flags=re.S)


def filled(text: str, results: Results) -> str:
    """Return a document with every marked table written from the results."""

    def table(found: re.Match[str]) -> str:
        name = found[1]
        if name not in TABLES:
            raise InvalidInput(f"there is no table {name!r}; there are {', '.join(TABLES)}")
        return f"<!-- table: {name} -->\n{TABLES[name](results)}\n<!-- /table -->"

    return _MARKED.sub(table, text)


def refresh(root: Path) -> None:
    """Write the tables of all documents from the means that are kept with them."""
    results = load_results(root / DATA)
    for page in PAGES:
        path = root / page
        path.write_text(filled(path.read_text(encoding="utf-8"), results), encoding="utf-8")


def keep(folder: Path, root: Path) -> None:
    """Copy the means and the figures of a full run to where the documents expect them."""
    results = load_results(folder)
    if results.facts["quick"] or any(not results.of(part) for part in PARTS):
        raise InvalidInput(f"{folder} does not hold a full run; make one with 'fedgroup experiment all'")
    (root / DATA).mkdir(exist_ok=True)
    for name in [SETTINGS, *(f"{part}-means.csv" for part in PARTS)]:
        shutil.copyfile(folder / name, root / DATA / name)
    for name in EXPERIMENTS:
        shutil.copyfile(folder / f"{name}.png", root / IMAGES / f"{name}.png")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        keep(Path(sys.argv[1]), Path())
    refresh(Path())
