"""Benches: our time beside a reference's, measured in the same run. One module a bench, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.lab.bench.measuring import BenchReport

_HOME = {
    "noise": "fedgroup.lab.bench.noise",
    "query": "fedgroup.lab.bench.query",
    "map": "fedgroup.lab.bench.map",
    "graph": "fedgroup.lab.bench.graph",
    "grouping": "fedgroup.lab.bench.grouping",
    "comparing": "fedgroup.lab.bench.comparing",
    "gpu": "fedgroup.lab.bench.gpu",
    "setup": "fedgroup.lab.bench.setup",
    "growth": "fedgroup.lab.bench.growth",
    "secure-similarity": "fedgroup.lab.bench.secure_similarity",
    "secure-sum": "fedgroup.lab.bench.secure_sum",
    "silos": "fedgroup.lab.bench.silos",
    "live": "fedgroup.lab.bench.live",
    "live-many": "fedgroup.lab.bench.live_many",
    "page": "fedgroup.lab.bench.page",
}

NAMES = tuple(_HOME)
_NEEDY = ("gpu", "silos", "live", "live-many", "page")
"""Benches that do not run everywhere."""
SIZED = ("live-many",)
"""Benches of as many owners as one says."""


def obstacle(name: str) -> str | None:
    """Return what this machine lacks for the bench of that name, or none; the others run everywhere."""
    if name not in _NEEDY:
        return None
    lacking: str | None = import_module(_HOME[name]).missing()
    return lacking


def run(name: str, *, quick: bool = False, owners: int | None = None) -> BenchReport:
    """Return what the bench of that name measured; a quick one shows that it runs and judges nothing.

    `owners` is how many there are in a bench that can be had in any size.
    """
    if name not in _HOME:
        raise InvalidInput(f"the benches are: {', '.join(NAMES)}; got {name!r}")
    if lacking := obstacle(name):
        raise InvalidInput(f"the bench {name} cannot run here: {lacking}")
    from fedgroup.lab.bench.measuring import BenchReport, cores, versions

    sized = {} if owners is None else {"owners": owners}
    if sized and name not in SIZED:
        raise InvalidInput(f"the bench {name} has its own sizes; --owners is for {', '.join(SIZED)}")
    rows = import_module(_HOME[name]).measure(quick=quick, **sized)
    return BenchReport(name=name, quick=quick, cores=cores(), versions=versions(), rows=tuple(rows))
