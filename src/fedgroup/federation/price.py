"""What a question costs its owners, and what the reader of its answer must know."""

from __future__ import annotations

from collections.abc import Sequence

from fedgroup.epsilon import NOTHING
from fedgroup.federation.fitting import unlisted
from fedgroup.federation.methods import ChosenMethod
from fedgroup.owner.records import Records
from fedgroup.owner.role import leaves_masks_out
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.graphs import GRAPHS
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import question

OUTSIDE = "records outside the domain are not counted"
CUT = "of each {} only the first {} records inside the domain are counted; the interval does not cover that"
CUT_BINS = "each subject counts in the first {} of the bins it is in; the interval does not cover that"
NO_MASKS = "masks were left out: in one process owners share memory, they cancel, and so many would take minutes"
TWICE = "a person with records at two owners is two people here"
SIMULATED = "pair secrets were simulated: in one process owners share memory, and so many agreements would take minutes"
COMPARED_NOTE = "epsilon-DP given the groups only: they came from exact, confidential comparisons of owners"
CLIPPED = "values are cut to the clip range and rounded to the resolution; the interval does not cover that"


def charges_of(query: RangeQuery, how: ChosenMethod, *, times: int, protection: Protection) -> Sequence[Charge]:
    """Return the price of a question, and that of its plan's setup, which a ledger takes once."""
    text = f"{question(query)}, {how.told}" + ("" if times == 1 else f", {times} times")
    rho = None if query.rho is None else query.rho * times
    asked = Charge(query.epsilon * times, "query", text, protection=str(protection), rho=rho)
    plan = how.plan
    if plan is None or plan.grouping.epsilon == NOTHING:
        return [asked]
    everyone = len(plan.owners) == len(how.roster)
    setup = Charge(
        plan.grouping.epsilon,
        "setup",
        f"plan {plan.id[:8]}, made elsewhere",
        plan=plan.id,
        owners=None if everyone else [repr(owner) for owner in plan.owners.tolist()],
        protection=str(protection),
    )
    return [setup, asked]


def notes_of(query: RangeQuery, how: ChosenMethod, *, records: Records, protection: Protection) -> tuple[str, ...]:
    """Return what an interval does not say; all of it is public."""
    notes = [OUTSIDE]
    most = protection.most_bins(query)
    of_people = "people" in query.parts
    if most is not None and most < query.bins:
        notes.append(CUT_BINS.format(most))
    elif protection.max_records is not None and not (of_people and protection.of_subjects):
        notes.append(CUT.format(protection.unit, protection.max_records))
    if of_people:
        notes.append(TWICE)
    if query.measure is not None:
        notes.append(CLIPPED)
    graph = None if how.plan is None else GRAPHS.get(how.plan.settings.get("graph", ""))
    if graph is not None and graph.compares:
        notes.append(COMPARED_NOTE)
    if how.terms.masked is not None and how.terms.masked.simulated:
        notes.append(SIMULATED)
    if leaves_masks_out(how.terms, query):
        notes.append(NO_MASKS)
    overlap = how.overlap(records.owners)
    return (*notes, *unlisted(records), *([] if overlap is None else overlap.notes()))
