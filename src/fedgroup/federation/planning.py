"""How owners get into groups: noisy vectors from the owners, groups from the provider, a plan for the user."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from fedgroup.cluster.graphs import Folder as Folder
from fedgroup.cluster.graphs import joining
from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING, Epsilon, weak_notes
from fedgroup.errors import InvalidInput
from fedgroup.federation.masks import MaskRoom, with_cohorts
from fedgroup.federation.questions import some_epsilon
from fedgroup.given import number, written
from fedgroup.messages import Grouping, NoisyVectors
from fedgroup.owner.identity import OwnerIds, as_ids, positions
from fedgroup.owner.records import Records
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.borderline import require_comparable
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.role import Join, Provider
from fedgroup.provider.settings import COMPARED, GroupingSettings, require_blocks
from fedgroup.space import Grid, PublicMap

_COMPARED = "exact comparisons"


class Planner:
    """Makes plans for the owners of one federation, and judges them."""

    def __init__(
        self,
        records: Records,
        public_map: PublicMap,
        protection: Protection,
        *,
        owners: DataOwners,
        provider: Provider,
        masks: MaskRoom,
        ledger: Ledger,
        private: bool,
    ) -> None:
        self._records = records
        self._map = public_map
        self._protection = protection
        self._owners = owners
        self._provider = provider
        self._masks = masks
        self._ledger = ledger
        self._private = private

    def plan(
        self,
        settings: GroupingSettings,
        grid: tuple[int, int] | Grid,
        epsilon: float | Epsilon | None,
        *,
        executor: Executor | None = None,
        shared: Folder | None = None,
    ) -> Plan:
        """Return a plan made with these settings; an executor's workers compute the graph, from files in `shared`."""
        grid = grid if isinstance(grid, Grid) else self._map.grid(*_cells(grid))
        if grid.box != self._map.domain:
            raise InvalidInput(
                f"the grid must cut the domain {self._map.domain.written}, got one of {grid.box.written}"
            )
        if settings.graph in COMPARED:
            require_comparable(len(self._records.owners))
        if executor is not None:
            require_blocks(settings.graph, settings.device)
        join = joining(executor, shared=shared)
        plan_id = secrets.token_hex(16)
        grouping = self._grouping(settings, grid, epsilon, plan_id, join)
        grouping = replace(grouping, notes=(*grouping.notes, *weak_notes(grouping.epsilon)))
        if settings.leftovers == "cohort":
            mixed = with_cohorts(grouping.partition, size=settings.cohort_size, seed=self._masks.seed)
            grouping = replace(grouping, partition=mixed)
        shown = {
            "grid": f"{grid.columns}x{grid.rows}",
            "domain": list(self._map.domain.sides),
            "lonlat": self._map.lonlat,
            "protection": str(self._protection),
        }
        return Plan(self._records.owners, replace(grouping, settings=dict(grouping.settings) | shown), plan_id)

    def judge(self, plan: Plan, *, threshold: float) -> dict[str, float]:
        """Return how far a plan is from the truth, by exact records."""
        if not isinstance(plan, Plan):
            raise InvalidInput(f"a plan is what Federation.group or fg.Plan.load returns, got {written(plan)}")
        threshold = number(threshold, name="threshold")
        from fedgroup.evaluation.shares import judge
        from fedgroup.evaluation.truth import exact_vectors

        columns, rows = (int(part) for part in plan.settings["grid"].split("x"))
        roster, partition = plan.aligned(self._records.owners)
        if len(roster) != len(self._records.owners):
            raise InvalidInput("a plan is judged by the records of all of its owners, and some have none here")
        grid = self._map.grid(columns, rows)
        vectors = exact_vectors(self._records, grid, self._map, most=self._protection.max_records)
        return asdict(judge(partition, vectors, threshold=threshold))

    def _grouping(
        self, settings: GroupingSettings, grid: Grid, epsilon: float | Epsilon | None, plan_id: str, join: Join
    ) -> Grouping:
        if settings.graph == "exact":
            return self._exact_grouping(settings, grid)
        if settings.graph == "secure":
            self._announce_comparisons(settings, grid, plan_id)
            return self._compared_grouping(settings, grid, None)
        if epsilon is None:
            raise InvalidInput(f"grouping by the graph {settings.graph!r} needs an epsilon")
        cost = some_epsilon(epsilon)
        if settings.graph == "hybrid":
            self._announce_comparisons(settings, grid, plan_id)
        vectors = self._described(grid, cost, plan_id)
        if settings.graph == "hybrid":
            return self._compared_grouping(settings, grid, vectors)
        return self._provider.group(vectors, settings, private=self._private, join=join)

    def _described(self, grid: Grid, cost: Epsilon, plan_id: str) -> NoisyVectors:
        text = f"count vectors over {grid.columns}x{grid.rows} cells, for plan {plan_id[:8]}"
        charge = Charge(cost, "setup", text, plan=plan_id, protection=str(self._protection))
        return self._owners.describe(grid, epsilon=cost, charge=charge)

    def _announce_comparisons(self, settings: GroupingSettings, grid: Grid, plan_id: str) -> None:
        """Write into the ledger that exact bits will be released, and refuse a second kind of them in one epoch.

        Comparisons over several grids or thresholds would narrow exact similarities down: one vector is compared with
        one threshold until the owners begin another epoch. Evaluation may compare as it likes.
        """
        said = f"{_COMPARED} over {grid.columns}x{grid.rows} cells, threshold {settings.threshold:g}"
        epoch = self._ledger.epoch
        before = [e.question for e in self._ledger.entries() if e.epoch == epoch and e.question.startswith(_COMPARED)]
        if self._private and any(not text.startswith(f"{said},") for text in before):
            raise InvalidInput(f"owners were compared otherwise in this epoch ({before[0]}); begin another epoch first")
        text = f"{said}, for plan {plan_id[:8]}; not epsilon-DP"
        self._ledger.charge([Charge(NOTHING, "setup", text, protection=str(self._protection))])

    def _compared_grouping(self, settings: GroupingSettings, grid: Grid, vectors: NoisyVectors | None) -> Grouping:
        """Let the provider ask two owners at a time whether they are similar, as its placing needs to know."""
        owners = self._owners.ready_to_compare(grid, threshold=settings.threshold)
        return self._provider.group_compared(
            vectors, settings, owners=len(self._records.owners), compare=owners.shares, private=self._private
        )

    def _exact_grouping(self, settings: GroupingSettings, grid: Grid) -> Grouping:
        from fedgroup.evaluation.truth import NO_GUARANTEE, exact_graph, exact_vectors

        vectors = exact_vectors(self._records, grid, self._map, most=self._protection.max_records)
        graph = exact_graph(vectors, threshold=settings.threshold)
        return self._provider.group_graph(graph, settings, guarantee=NO_GUARANTEE)


def _cells(grid: Any) -> tuple[Any, Any]:
    if not (isinstance(grid, tuple | list) and len(grid) == 2):
        raise InvalidInput(f"a grid is its columns and rows, such as (10, 10), or a Grid, got {written(grid)}")
    return grid[0], grid[1]


def owner_limits_of(owners: OwnerIds, largest: int | None, personal: Mapping[Any, int] | None) -> Limits | None:
    """Return the size limits; owners that name none accept any size."""
    if personal is None:
        return None if largest is None else Limits(largest)
    if not isinstance(personal, Mapping):
        raise InvalidInput(f"owner limits are a dict of limits by owner, got {written(personal)}")
    limits = np.asarray(list(personal.values()))
    if limits.ndim != 1 or (limits.size and limits.dtype.kind not in "iu"):
        raise InvalidInput("owner limits are whole numbers of at least 1, one for each owner")
    seats = positions(as_ids(list(personal), name="owner limits"), owners)
    if (seats < 0).any():
        raise InvalidInput("the owner limits name owners that are not in the owner list")
    each = np.full(len(owners), np.iinfo(np.int32).max, dtype=np.int32)
    each[seats] = np.minimum(limits, np.iinfo(np.int32).max)
    return Limits(largest, each)
