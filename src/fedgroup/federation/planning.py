"""How owners get into groups: noisy vectors from the owners, groups from the provider, a plan for the user."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from typing import Any, TypedDict

import numpy as np

from fedgroup.cluster.graphs import Folder as Folder
from fedgroup.cluster.graphs import joining
from fedgroup.data.plans import Plan
from fedgroup.epsilon import Epsilon, weak_notes
from fedgroup.errors import FedgroupError, InvalidInput
from fedgroup.federation.fitting import unlisted
from fedgroup.federation.masks import MaskRoom, with_cohorts
from fedgroup.federation.questions import require_evaluation
from fedgroup.given import number, written
from fedgroup.messages import Grouping, NoisyVectors
from fedgroup.owner.identity import OwnerIds, as_ids, positions
from fedgroup.owner.records import Records
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.budget import Charge, Ledger, evaluation_of
from fedgroup.privacy.comparing import Comparing
from fedgroup.privacy.pure_prices import pure_price
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.windows import span_of_vectors
from fedgroup.provider.borderline import require_comparable
from fedgroup.provider.grouping.limits import Limits
from fedgroup.provider.lazy_grouping import Report
from fedgroup.provider.role import Join, Provider
from fedgroup.provider.settings import GroupingSettings, require_blocks
from fedgroup.questions.said import require_known
from fedgroup.rho import Rho
from fedgroup.space import Grid, PublicMap


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
        raising: bool,
    ) -> None:
        self._records = records
        self._map = public_map
        self._protection = protection
        self._owners = owners
        self._provider = provider
        self._masks = masks
        self._ledger = ledger
        self._private = private
        self._raising = raising

    def plan(
        self,
        settings: GroupingSettings,
        grid: tuple[int, int] | Grid,
        epsilon: float | Epsilon | None,
        *,
        rho: float | Rho | None = None,
        executor: Executor | None = None,
        shared: Folder | None = None,
        progress: Report | None = None,
    ) -> Plan:
        """Return a plan made with these settings; an executor's workers compute the graph, from files in `shared`."""
        grid = grid if isinstance(grid, Grid) else self._map.grid(*_cells(grid))
        if grid.box != self._map.domain:
            raise InvalidInput(
                f"the grid must cut the domain {self._map.domain.written}, got one of {grid.box.written}"
            )
        if settings.kind.compares:
            require_comparable(len(self._records.owners))
        if executor is not None:
            require_blocks(settings.graph, settings.device)
        join = joining(executor, shared=shared)
        plan_id = secrets.token_hex(16)
        grouping = self._grouping(settings, grid, (epsilon, rho), plan_id, join=join, progress=progress)
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
        told = replace(
            grouping,
            settings=dict(grouping.settings) | shown,
            notes=(*grouping.notes, *unlisted(self._records)),
        )
        return Plan(self._records.owners, told, plan_id)

    def judge(self, plan: Plan, *, threshold: float) -> dict[str, float]:
        """Return how far a plan is from the truth, by exact records."""
        if not isinstance(plan, Plan):
            raise InvalidInput(f"a plan is what Federation.group or fg.Plan.load returns, got {written(plan)}")
        threshold = number(threshold, name="threshold")
        from fedgroup.evaluation.shares import judge
        from fedgroup.evaluation.truth import exact_vectors

        self._require_evaluation()
        columns, rows = (int(part) for part in plan.settings["grid"].split("x"))
        roster, partition = plan.aligned(self._records.owners)
        if len(roster) != len(self._records.owners):
            raise InvalidInput("a plan is judged by the records of all of its owners, and some have none here")
        grid = self._map.grid(columns, rows)
        told = f"shares of wrongly grouped owners in plan {plan.id[:8]}, threshold {threshold!r}"
        self._ledger.charge([evaluation_of(told)])
        vectors = exact_vectors(
            self._records, grid, self._map, most=self._protection.max_records, unit=self._protection.unit
        )
        return asdict(judge(partition, vectors, threshold=threshold))

    def _grouping(
        self,
        settings: GroupingSettings,
        grid: Grid,
        price: tuple[float | Epsilon | None, float | Rho | None],
        plan_id: str,
        *,
        join: Join,
        progress: Report | None,
    ) -> Grouping:
        if not settings.kind.private:
            return self._exact_grouping(settings, grid, plan_id)
        if not settings.kind.vectors:
            return self._compared_grouping(self._reserved(settings, grid, plan_id), grid, plan_id, None, progress)
        if price[0] is None and price[1] is None:
            raise InvalidInput(f"grouping by the graph {settings.graph!r} needs an epsilon")
        cost = pure_price(*price, self._ledger.accounting)
        if settings.kind.compares:
            return self._hybrid_grouping(self._reserved(settings, grid, plan_id), grid, cost, plan_id, progress)
        vectors = self._described(grid, cost, plan_id)
        return self._provider.group(vectors, settings, private=self._private, join=join)

    def _described(self, grid: Grid, cost: Epsilon, plan_id: str) -> NoisyVectors:
        text = f"count vectors over {grid.columns}x{grid.rows} cells, for plan {plan_id[:8]}"
        span = span_of_vectors(self._protection)
        charge = Charge(cost, "setup", text, plan=plan_id, protection=str(self._protection), span=span)
        return self._owners.describe(grid, epsilon=cost, charge=charge)

    def _reserved(self, settings: GroupingSettings, grid: Grid, plan_id: str) -> GroupingSettings:
        """Return the settings with as many comparisons as the ledger allows; they count as made from now on.

        Comparisons over several grids or thresholds would narrow exact similarities down: one vector is compared with
        one threshold until the owners begin another epoch. Evaluation may compare as it likes.
        """
        owners = len(self._records.owners)
        pairs = owners * (owners - 1) // 2
        allowed = self._ledger.reserve_comparisons(
            Comparing(
                over=_over(grid, lonlat=self._map.lonlat, threshold=settings.threshold),
                plan=plan_id,
                pairs=pairs,
                protection=str(self._protection),
                cap=settings.comparisons,
                raising=self._raising,
                needs_all=not settings.kind.vectors or settings.needs_all_pairs,
                evaluation=not self._private,
            )
        )
        return settings if allowed == pairs else replace(settings, comparisons=allowed)

    def _hybrid_grouping(
        self, settings: GroupingSettings, grid: Grid, cost: Epsilon, plan_id: str, progress: Report | None
    ) -> Grouping:
        try:
            vectors = self._described(grid, cost, plan_id)
        except FedgroupError:
            self._ledger.settle_comparisons(plan_id, 0)
            raise
        return self._compared_grouping(settings, grid, plan_id, vectors, progress)

    def _compared_grouping(
        self,
        settings: GroupingSettings,
        grid: Grid,
        plan_id: str,
        vectors: NoisyVectors | None,
        progress: Report | None,
    ) -> Grouping:
        """Let the provider ask pairs of owners whether they are similar, as its placing needs to know."""
        owners = self._owners.ready_to_compare(grid, threshold=settings.threshold)
        found = self._provider.group_compared(
            vectors,
            settings,
            owners=len(self._records.owners),
            compare=owners.shares,
            private=self._private,
            report=progress,
        )
        self._ledger.settle_comparisons(plan_id, int(found.settings["comparisons"]))
        return found

    def _exact_grouping(self, settings: GroupingSettings, grid: Grid, plan_id: str) -> Grouping:
        from fedgroup.evaluation.truth import NO_GUARANTEE, exact_graph, exact_vectors

        self._require_evaluation()
        told = f"exact graph over {grid.columns}x{grid.rows} cells, threshold {settings.threshold!r}"
        self._ledger.charge([evaluation_of(f"{told}, for plan {plan_id[:8]}")])
        vectors = exact_vectors(
            self._records, grid, self._map, most=self._protection.max_records, unit=self._protection.unit
        )
        graph = exact_graph(vectors, threshold=settings.threshold)
        return self._provider.group_graph(graph, settings, guarantee=NO_GUARANTEE)

    def _require_evaluation(self) -> None:
        require_evaluation(private=self._private)


def _over(grid: Grid, *, lonlat: bool, threshold: float) -> str:
    """Return what owners are compared over, to the last digit: another text is another comparison."""
    sides = ", ".join(repr(float(side)) for side in grid.box.sides)
    unit = " degrees" if lonlat else ""
    return f"{grid.columns}x{grid.rows} cells of [{sides}]{unit}, threshold {float(threshold)!r}"


def _cells(grid: Any) -> tuple[Any, Any]:
    if not (isinstance(grid, tuple | list) and len(grid) == 2):
        raise InvalidInput(f"a grid is its columns and rows, such as (10, 10), or a Grid, got {written(grid)}")
    return grid[0], grid[1]


class GroupingSaid(TypedDict, total=False):
    """All that can be said about a plan besides its grid and its price; `GroupingSettings` tells what is usual.

    max_group_size   how many owners a group has at most
    owner_limits     the same by owner, for those that want smaller groups
    """

    threshold: float
    graph: str
    estimate: str
    algorithm: str | None
    max_group_size: int | None
    owner_limits: Mapping[Any, int] | None
    false_cells: float
    misplaced: float
    leftovers: str
    cohort_size: int
    lower: float | None
    upper: float | None
    comparisons: int | None
    extra_comparisons: float
    device: str


def settings_said(said: GroupingSaid, owners: OwnerIds) -> GroupingSettings:
    """Return how owners are to be grouped, or say what is wrong with it."""
    require_known(said, GroupingSaid, what="a plan")
    limits = owner_limits_of(owners, said.get("max_group_size"), said.get("owner_limits"))
    others: Any = {name: value for name, value in said.items() if name not in ("max_group_size", "owner_limits")}
    return GroupingSettings(**others, limits=limits)


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
