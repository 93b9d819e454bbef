"""`fedgroup regroup`: have the owners of a running federation grouped anew, for its operators."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.access import ServiceOptions, connected
from fedgroup.cli.group import COMPARISONS
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import PRIVACY, Name, OutputOptions, RhoThere, option
from fedgroup.cli.output import notice, print_json, result, several, working
from fedgroup.cli.parsing import parse_grid
from fedgroup.questions.graphs import ALGORITHMS, ESTIMATES, LEFTOVERS, PRIVATE, using
from fedgroup.questions.kinds import either
from fedgroup.questions.methods import MODES

if TYPE_CHECKING:
    from fedgroup.service.calls import PlanDetails

GROUPS = "Groups (default: as the provider's file says)"
SIMILARITY = "Similarity (default: as the provider's file says)"


@dataclass(frozen=True)
class RegroupOptions:
    """How owners are to be grouped; what is left out is up to the provider."""

    epsilon: Annotated[
        float | None,
        option(PRIVACY, "--epsilon", "what it costs every owner, and your allowance (not for --graph secure)", "E"),
    ] = None
    rho: RhoThere = None
    key: Annotated[
        Name, option(PRIVACY, "--key", "idempotency key: the same request with the same key is charged once", "KEY")
    ] = None
    mode: Annotated[Name, option(GROUPS, "--mode", f"{either(MODES)}, where owners allow it", "NAME")] = None
    leftovers: Annotated[
        Name, option(GROUPS, "--leftovers", f"owners that could not be placed: {either(LEFTOVERS)}", "NAME")
    ] = None
    cohort_size: Annotated[int | None, option(GROUPS, "--cohort-size", "the most members of such a cohort", "N")] = None
    largest: Annotated[int | None, option(GROUPS, "--largest", "the most members a group may have", "N")] = None
    grid: Annotated[Name, option(SIMILARITY, "--grid", "cells of the count vectors", "COLUMNSxROWS")] = None
    graph: Annotated[Name, option(SIMILARITY, "--graph", either(PRIVATE), "NAME")] = None
    threshold: Annotated[float | None, option(SIMILARITY, "--threshold", "owners similar above R are joined", "R")] = (
        None
    )
    estimate: Annotated[
        Name, option(SIMILARITY, "--estimate", f"for {using('estimate')}: {either(ESTIMATES)}", "NAME")
    ] = None
    algorithm: Annotated[Name, option(SIMILARITY, "--algorithm", f"for noisy: {either(ALGORITHMS)}", "NAME")] = None
    false_cells: Annotated[
        float | None, option(SIMILARITY, "--false-cells", "cells per owner that noise alone may fill", "Q")
    ] = None
    misplaced: Annotated[
        float | None,
        option(SIMILARITY, "--misplaced", f"for {using('misplaced')}: the share that may be misplaced", "SHARE"),
    ] = None
    lower: Annotated[float | None, option(COMPARISONS, "--lower", "a noisy similarity below RL is a no", "RL")] = None
    upper: Annotated[float | None, option(COMPARISONS, "--upper", "a noisy similarity above RU is a yes", "RU")] = None
    comparisons: Annotated[
        int | None, option(COMPARISONS, "--comparisons", "at most N; fewer make more groups", "N")
    ] = None


@grouped
def regroup(how: RegroupOptions, service: ServiceOptions, output: OutputOptions) -> None:
    """Group all owners that are here anew; every one of them, and your allowance, is charged."""
    with connected(service) as federation, working("grouping"):
        plan = federation.regroup(epsilon=how.epsilon, **_details(how))
    for note in plan["notes"]:
        notice(note)
    if output.json:
        print_json({name: fact for name, fact in plan.items() if name != "members"})
        return
    sizes = ", ".join(map(str, plan["sizes"][:10])) or "none"
    result.print(f"{several(plan['groups'], 'group')}, {several(plan['alone'], 'owner')} alone; the largest: {sizes}")
    counted = "" if plan.get("rho") is None else f" (rho {plan['rho']:g})"
    result.print(f"cost {plan['epsilon']:g}{counted} for every owner")
    result.print(plan["guarantee"])


def _details(how: RegroupOptions) -> PlanDetails:
    said = {name: value for name, value in asdict(how).items() if value is not None and name not in ("epsilon", "grid")}
    columns, rows = (None, None) if how.grid is None else parse_grid(how.grid)
    details: PlanDetails = {"columns": columns, "rows": rows, **said}  # type: ignore[typeddict-item]
    return details
