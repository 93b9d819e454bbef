"""`fedgroup group`: put similar owners into groups and save the plan."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.clusters import ClusterOptions, workers_of
from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import mention_caps, open_federation, read_records, require_evaluate, require_writable
from fedgroup.cli.options import (
    EVALUATION,
    OPTIONS,
    DataOptions,
    EvaluationOptions,
    OutputOptions,
    ProtectionOptions,
    flag,
    option,
)
from fedgroup.cli.output import comparing, notice, print_json, result, several
from fedgroup.cli.parsing import parse_grid
from fedgroup.questions.graphs import ESTIMATES, PRIVATE, using
from fedgroup.questions.kinds import either

if TYPE_CHECKING:
    from fedgroup.data.plans import Plan
    from fedgroup.privacy.accounting import Accounting

GROUPS = "Groups"
SIMILARITY = "Which owners are similar"
COMPARISONS = "Secure comparisons (for --graph hybrid and secure)"


@dataclass(frozen=True)
class GroupOptions:
    """Which owners are similar, and how they are put together."""

    epsilon: Annotated[
        float | None,
        option(GROUPS, "--epsilon", "what grouping may cost every owner, such as 0.3 (not for --graph exact)", "E"),
    ] = None
    rho: Annotated[
        float | None, option(GROUPS, "--rho", "instead of --epsilon, where rho is counted (--accounting zcdp)", "R")
    ] = None
    grid: Annotated[str, option(SIMILARITY, "--grid", "cells of the count vectors", "COLUMNSxROWS")] = "10x10"
    graph: Annotated[
        str, option(SIMILARITY, "--graph", f"{', '.join(PRIVATE)}, or exact (with --evaluate)", "NAME")
    ] = "topcell"
    threshold: Annotated[
        float,
        option(
            SIMILARITY,
            "--threshold",
            f"for {using('threshold')}: join owners similar above R; --evaluate judges by it",
            "R",
        ),
    ] = 0.5
    estimate: Annotated[
        str, option(SIMILARITY, "--estimate", f"for {using('estimate')}: {either(ESTIMATES)}", "NAME")
    ] = "thresholded"
    algorithm: Annotated[
        str | None,
        option(
            SIMILARITY, "--algorithm", "for all but topcell and likely: greedy (the default), dsatur or cliques", "NAME"
        ),
    ] = None
    false_cells: Annotated[
        float,
        option(
            SIMILARITY,
            "--false-cells",
            "cells per owner that noise alone may fill, for topcell, likely and thresholded",
            "Q",
        ),
    ] = 0.1
    misplaced: Annotated[
        float,
        option(SIMILARITY, "--misplaced", "for likely: share of owners that may be in a wrong group", "SHARE"),
    ] = 0.02
    max_group_size: Annotated[
        int | None, option(GROUPS, "--max-group-size", "the most members a trusted group may have", "T")
    ] = None
    owner_limits: Annotated[
        Path | None,
        option(GROUPS, "--owner-limits", "Parquet or CSV (owner, limit): the largest group each accepts", "FILE"),
    ] = None
    leftovers: Annotated[
        str, option(GROUPS, "--leftovers", "owners that could not be placed stay alone, or form masked cohorts", "NAME")
    ] = "alone"
    cohort_size: Annotated[int, option(GROUPS, "--cohort-size", "the most members of such a cohort", "N")] = 50
    lower: Annotated[
        float | None,
        option(COMPARISONS, "--lower", "a noisy similarity below RL is a no, uncompared", "RL"),
    ] = None
    upper: Annotated[
        float | None,
        option(COMPARISONS, "--upper", "a noisy similarity above RU is a yes, uncompared", "RU"),
    ] = None
    device: Annotated[str, option(SIMILARITY, "--device", "cpu, or cuda for noisy graphs on a GPU", "NAME")] = "cpu"
    extra_comparisons: Annotated[
        float,
        option(
            COMPARISONS,
            "--extra-comparisons",
            "about how many more than needed may be made, to make many at once: 0 one by one, inf all",
            "SHARE",
        ),
    ] = 0.25
    comparisons: Annotated[
        int | None,
        option(
            COMPARISONS,
            "--comparisons",
            "for hybrid: at most N in all plans of the ledger's epoch; fewer make more groups",
            "N",
        ),
    ] = None


@grouped
def group(
    how: GroupOptions,
    data: DataOptions,
    protection: ProtectionOptions,
    evaluation: EvaluationOptions,
    work: ClusterOptions,
    output: OutputOptions,
    out: Annotated[Path | None, option(OPTIONS, "--out", "file to save the plan to (Parquet)", "PLAN.parquet")] = None,
    evaluate: Annotated[
        bool, flag(EVALUATION, "--evaluate", "add how many were grouped wrongly; the ledger notes it")
    ] = False,
) -> None:
    """Group owners whose records lie in the same places, so that each group adds noise only once."""
    require_evaluate("--graph exact", exact=how.graph == "exact", evaluate=evaluate)
    settings = _settings(how) | {"shared": work.shared}
    if out is not None:
        require_writable(out)
    if work.cluster is not None:
        _require_blocks(how)
    records = read_records(data, evaluation)
    with workers_of(work.cluster) as executor:
        started = time.perf_counter()
        with open_federation(
            records,
            domain=data.domain,
            protection=protection,
            evaluation=evaluation,
            evaluate=evaluate,
            comparisons=how.comparisons,
        ) as federation:
            with comparing("grouping owners") as progress:
                plan = federation.group(**settings, executor=executor, progress=progress)
            seconds = time.perf_counter() - started
            if out is not None:
                plan.save(out)
            if plan.epsilon:
                mention_caps(federation, protection)
            facts = _facts(plan, seconds=seconds, accounting=federation.ledger.accounting)
            facts |= federation.judge(plan, threshold=how.threshold) if evaluate else {}
            cap = None if federation.ledger.cap is None else float(federation.ledger.cap)
    _say(facts, plan, out, cap=cap, as_json=output.json)


def _settings(how: GroupOptions) -> dict[str, Any]:
    return vars(how) | {"grid": parse_grid(how.grid), "owner_limits": _owner_limits(how.owner_limits)}


def _require_blocks(how: GroupOptions) -> None:
    """Refuse a graph that workers cannot share, before the cluster is opened."""
    from fedgroup.provider.settings import require_blocks

    require_blocks(how.graph, how.device)


def _owner_limits(path: Path | None) -> dict[Any, int] | None:
    if path is None:
        return None
    from fedgroup.data.rosters import read_owner_limits

    ids, limits = read_owner_limits(path)
    return dict(zip(ids.tolist(), limits.tolist(), strict=True))


def _facts(plan: Plan, *, seconds: float, accounting: Accounting) -> dict[str, Any]:
    from fedgroup.privacy.pure_prices import counted_rho
    from fedgroup.user.notes import OUTSIDE

    settings = plan.settings
    owners = len(plan.owners)
    return {
        "owners": owners,
        "groups": plan.groups,
        "largest_group": plan.largest_group,
        "edges": plan.grouping.edges,
        "secure_comparisons": settings.get("comparisons"),
        "pairs": None if plan.grouping.edges is None else owners * (owners - 1) // 2,
        "epsilon": plan.epsilon,
        "rho": counted_rho([plan.grouping.epsilon], accounting),
        **{name: settings.get(name) for name in ("graph", "estimate", "algorithm", "grid", "threshold", "domain")},
        "pays_off_above": plan.pays_off_above,
        **_misplaced(settings),
        "guarantee": plan.guarantee,
        "private": plan.private,
        "seconds": seconds,
        "notes": (OUTSIDE, *plan.notes),
    }


def _misplaced(settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the share of owners that may be in a wrong group and the share expected there, of likely groups."""
    if "misplaced_expected" not in settings:
        return {}
    return {"misplaced_target": settings["misplaced"], "misplaced_expected": settings["misplaced_expected"]}


def _say(facts: dict[str, Any], plan: Plan, out: Path | None, *, cap: float | None, as_json: bool) -> None:
    for note in facts["notes"]:
        notice(note)
    if as_json:
        print_json(facts)
        return
    owners, groups = several(facts["owners"], "owner"), several(facts["groups"], "group")
    result.print(f"{owners} in {groups}, the largest of {facts['largest_group']:,}")
    if "misplaced_expected" in facts:
        target, expected = facts["misplaced_target"], facts["misplaced_expected"]
        result.print(f"owners in a wrong group: {expected:.1%} expected, {target:.1%} allowed")
    if "false_pair_share" in facts:
        pairs, owners, strangers = (facts[f"{name}_share"] for name in ("false_pair", "misplaced", "stranger"))
        result.print(f"false pairs {pairs:.1%}, misplaced owners {owners:.1%}, owners among strangers {strangers:.1%}")
    counted = "" if facts["rho"] is None else f" (rho {facts['rho']:g})"
    result.print(f"epsilon {facts['epsilon']:g}{counted}; guarantee: {facts['guarantee']}")
    if not facts["private"]:
        result.print("this result is not private")
    if plan.epsilon:
        result.print(_pays_off(plan, cap))
    result.print(
        f"plan saved to {out}" if out else "not saved: --out PLAN.parquet saves it for 'fedgroup count --plan'"
    )


def _pays_off(plan: Plan, cap: float | None) -> str:
    """Say from which total on a plan beats plain dp, and whether the budget reaches that."""
    total = plan.pays_off_above
    if total is None:
        return "every owner is alone: answers with this plan are no better than those of plain dp"
    never = cap is not None and cap <= total
    short = f"; the budget of {cap:g} ends before that: ask without it, or with --method cohorts" if never else ""
    return (
        f"errors shrink to {plan.error_share:.0%} of plain dp's; "
        f"the plan pays off when owners spend more than {total:.2g} in all{short}"
    )
