"""`fedgroup group`: put similar owners into groups and save the plan."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.loading import open_federation
from fedgroup.cli.options import DataOptions, OutputOptions
from fedgroup.cli.output import notice, print_json, result, working
from fedgroup.cli.parsing import parse_grid

if TYPE_CHECKING:
    from fedgroup.data.plans import Plan


@grouped
def group(
    data: DataOptions,
    output: OutputOptions,
    epsilon: Annotated[
        float | None, typer.Option(help="what grouping may cost every owner (not needed by --graph exact)")
    ] = None,
    grid: Annotated[str, typer.Option(help="cells of the count vectors, COLUMNSxROWS")] = "10x10",
    threshold: Annotated[float, typer.Option(help="similarity above which two owners are joined")] = 0.5,
    graph: Annotated[str, typer.Option(help="topcell, noisy, or exact (evaluation)")] = "topcell",
    estimate: Annotated[str, typer.Option(help="for --graph noisy: thresholded, debiased or raw")] = "thresholded",
    algorithm: Annotated[
        str | None, typer.Option(help="for noisy and exact graphs: greedy (default), dsatur or cliques")
    ] = None,
    max_group_size: Annotated[int | None, typer.Option(help="the most members a group may have")] = None,
    owner_limits: Annotated[
        Path | None, typer.Option(help="Parquet or CSV (owner, limit): the largest group each owner accepts")
    ] = None,
    false_cells: Annotated[
        float, typer.Option(help="cells per owner that noise alone may fill, for topcell and thresholded")
    ] = 0.1,
    leftovers: Annotated[str, typer.Option(help="what becomes of owners that could not be placed: alone")] = "alone",
    out: Annotated[Path | None, typer.Option(help="file to save the plan to (Parquet)")] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help='add how many were grouped wrongly; prints "private": false')
    ] = False,
) -> None:
    """Group owners whose records lie in the same places, so that each group needs one noise only."""
    federation = open_federation(data)
    columns, rows = parse_grid(grid)
    started = time.perf_counter()
    with working("grouping owners"):
        limits = _owner_limits(owner_limits)
        plan = federation.group(
            epsilon=epsilon,
            grid=(columns, rows),
            threshold=threshold,
            graph=graph,
            estimate=estimate,  # type: ignore[arg-type]
            algorithm=algorithm,
            max_group_size=max_group_size,
            owner_limits=limits,
            false_cells=false_cells,  # type: ignore[arg-type]
            leftovers=leftovers,
        )
    seconds = time.perf_counter() - started
    if out is not None:
        plan.save(out)
    facts = _facts(plan, seconds) | (federation.judge(plan, threshold=threshold) if evaluate else {})
    facts["private"] = plan.private and not evaluate
    _say(facts, plan, out, as_json=output.json)


def _owner_limits(path: Path | None) -> dict[Any, int] | None:
    if path is None:
        return None
    from fedgroup.data.rosters import read_owner_limits

    ids, limits = read_owner_limits(path)
    return dict(zip(ids.tolist(), limits.tolist(), strict=True))


def _facts(plan: Plan, seconds: float) -> dict[str, Any]:
    settings = plan.settings
    owners = len(plan.owners)
    return {
        "owners": owners,
        "groups": plan.groups,
        "largest_group": plan.largest_group,
        "edges": plan.grouping.edges,
        "secure_comparisons": None,
        "pairs": None if plan.grouping.edges is None else owners * (owners - 1) // 2,
        "epsilon": plan.epsilon,
        **{name: settings.get(name) for name in ("graph", "estimate", "algorithm", "grid", "threshold", "domain")},
        "guarantee": plan.guarantee,
        "seconds": seconds,
    }


def _say(facts: dict[str, Any], plan: Plan, out: Path | None, *, as_json: bool) -> None:
    notice("records outside the domain are not counted")
    for note in plan.grouping.notes:
        notice(note)
    if as_json:
        print_json(facts)
        return
    result.print(f"{facts['owners']:,} owners in {facts['groups']:,} groups, the largest of {facts['largest_group']:,}")
    if "false_pair_share" in facts:
        result.print(
            f"wrongly joined pairs {facts['false_pair_share']:.1%}, misplaced owners {facts['misplaced_share']:.1%}"
        )
    result.print(f"epsilon {facts['epsilon']:g}; {facts['guarantee']}", soft_wrap=True)
    result.print(
        f"plan saved to {out}" if out else "not saved; give --out PLAN.parquet to use it with 'fedgroup count --plan'"
    )
