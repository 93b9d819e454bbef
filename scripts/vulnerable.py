"""Known weaknesses of locked versions, without asking anybody: against a copy of the OSV database.

    python scripts/vulnerable.py locked.txt all.zip

all.zip is what osv.dev gives out for PyPI; whoever has a network fetches it. Ends with 1 if a locked version is affected.
Without such a copy nothing can be said, and this says so: there is no list of weaknesses in this repository.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import locked
from packaging.version import InvalidVersion, Version


def affected(packages: dict[str, tuple[str, str]], database: Path) -> list[str]:
    """Return a line for each weakness of one of the packages in the version that is locked."""
    found, versions = [], {_plain(name): version for name, (version, _) in packages.items()}
    for known in _entries(database):
        for each in known.get("affected", ()):
            name = _plain(str(each.get("package", {}).get("name", "")))
            version = versions.get(name)
            if version is not None and not known.get("withdrawn") and _is_hit(version, each):
                found.append(f"{name} {version}: {known['id']} {known.get('summary', '')}".rstrip())
    return sorted(set(found))


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _entries(database: Path) -> Iterator[dict[str, Any]]:
    with zipfile.ZipFile(database) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                yield json.loads(archive.read(name))


def _is_hit(version: str, said: dict[str, Any]) -> bool:
    ranges = [each for each in said.get("ranges", ()) if each.get("type") == "ECOSYSTEM"]
    return version in said.get("versions", ()) or any(_in_range(version, each["events"]) for each in ranges)


def _in_range(version: str, events: list[dict[str, str]]) -> bool:
    """Tell whether a version is in a range: events in order switch it on and off."""
    inside = False
    for event in events:
        ((kind, at),) = event.items()
        try:
            reached = at == "0" or Version(version) >= Version(at)
            beyond = Version(version) > Version(at) if kind == "last_affected" else reached
        except InvalidVersion:
            continue
        if kind == "introduced" and reached:
            inside = True
        elif kind in ("fixed", "last_affected") and beyond:
            inside = False
    return inside


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("say where a copy of the OSV database for PyPI is: make vulnerabilities OSV=all.zip; nothing was checked")
    lines = affected(locked.read(Path(sys.argv[1])), Path(sys.argv[2]))
    print("\n".join(lines) or "no locked version is in the database")
    sys.exit(1 if lines else 0)
