"""Benches: our time beside a reference's, measured in the same run. One module a bench, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.bench.measuring import Report

_HOME = {
    "noise": "fedgroup.bench.noise",
    "query": "fedgroup.bench.query",
    "graph": "fedgroup.bench.graph",
    "grouping": "fedgroup.bench.grouping",
    "gpu": "fedgroup.bench.gpu",
    "setup": "fedgroup.bench.setup",
    "growth": "fedgroup.bench.growth",
    "secure-similarity": "fedgroup.bench.secure_similarity",
    "secure-sum": "fedgroup.bench.secure_sum",
    "silos": "fedgroup.bench.silos",
    "live": "fedgroup.bench.live",
    "page": "fedgroup.bench.page",
}

NAMES = tuple(_HOME)
_NEEDY = ("gpu", "silos", "live", "page")
"""Benches that do not run everywhere."""


def obstacle(name: str) -> str | None:
    """Return what this machine lacks for the bench of that name, or none; the others run everywhere."""
    if name not in _NEEDY:
        return None
    lacking: str | None = import_module(_HOME[name]).missing()
    return lacking


def run(name: str, *, quick: bool = False) -> Report:
    """Return what the bench of that name measured; a quick one shows that it runs and judges nothing."""
    if name not in _HOME:
        raise InvalidInput(f"the benches are: {', '.join(NAMES)}; got {name!r}")
    if lacking := obstacle(name):
        raise InvalidInput(f"the bench {name} cannot run here: {lacking}")
    from fedgroup.bench.measuring import Report, cores, versions

    rows = import_module(_HOME[name]).measure(quick=quick)
    return Report(name=name, quick=quick, cores=cores(), versions=versions(), rows=tuple(rows))
