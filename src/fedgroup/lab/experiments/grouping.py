"""How well owners are grouped: lambda, false pairs and misplaced owners, for every graph, on real data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedgroup.evaluation.selection import select_owners
from fedgroup.federation import Federation
from fedgroup.owner.records import Records
from fedgroup.space import Box

Settings = dict[str, Any]


@dataclass(frozen=True)
class Quality:
    """Means over several selections of owners; the spread of lambda is its standard deviation."""

    graph: str
    algorithm: str | None
    false_cells: float | None
    groups: float
    groups_spread: float
    false_pair_share: float
    misplaced_share: float
    stranger_share: float


def settings_to_compare() -> list[Settings]:
    """Return exact, raw, thresholded and topcell, with greedy and dsatur, at several q."""
    graph_based: list[Settings] = [{"graph": "exact"}, {"graph": "noisy", "estimate": "raw"}]
    graph_based += [{"graph": "noisy", "estimate": "thresholded", "false_cells": q} for q in (0.1, 0.3, 1, 3)]
    both = [settings | {"algorithm": name} for settings in graph_based for name in ("greedy", "dsatur")]
    return both + [{"graph": "topcell", "false_cells": q} for q in (0.1, 0.3, 1, 3)]


def grouping_quality(
    records: Records,
    domain: Box,
    *,
    owners: int,
    min_records: int,
    grid: tuple[int, int],
    threshold: float,
    epsilon: float,
    selections: int,
) -> Iterator[Quality]:
    """Yield how each setting groups, as means over `selections` selections of owners."""
    chosen = [select_owners(records, owners, min_records=min_records, seed=seed) for seed in range(selections)]
    for settings in settings_to_compare():
        outcomes = []
        for seed, some in enumerate(chosen):
            federation = Federation(some, domain, seed=seed)
            plan = federation.group(epsilon=epsilon, grid=grid, threshold=threshold, **settings)
            shares = federation.judge(plan, threshold=threshold)
            outcomes.append((plan.groups, *shares.values()))
        yield _quality(settings, np.array(outcomes))


def _quality(settings: Settings, outcomes: np.ndarray[Any, np.dtype[np.float64]]) -> Quality:
    groups, *shares = outcomes.mean(axis=0).tolist()
    name = settings["estimate"] if settings["graph"] == "noisy" else settings["graph"]
    spread = float(outcomes[:, 0].std(ddof=1)) if len(outcomes) > 1 else 0.0
    return Quality(name, settings.get("algorithm"), settings.get("false_cells"), groups, spread, *shares)
