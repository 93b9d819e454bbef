"""What a question costs its owners, and what the reader of its answer must know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.federation.fitting import unlisted
from fedgroup.federation.methods import ChosenMethod
from fedgroup.federation.questions import require_uncut
from fedgroup.owner.records import Records
from fedgroup.owner.role import leaves_masks_out
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.release import scales_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.privacy.windows import span_of, span_of_vectors
from fedgroup.privacy.windows_left import left_for, windows_left
from fedgroup.questions.answers import Expectation
from fedgroup.questions.graphs import GRAPHS
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import question_of
from fedgroup.questions.words import question
from fedgroup.space import Grid, PublicMap
from fedgroup.user import role as user
from fedgroup.user.notes import reading_notes
from fedgroup.user.pricing import Noises, cheapest, error_said

NO_MASKS = "masks were left out: in one process owners share memory, they cancel, and so many would take minutes"
SIMULATED = "pair secrets were simulated: in one process owners share memory, and so many agreements would take minutes"
COMPARED_NOTE = "epsilon-DP given the groups only: they came from exact, confidential comparisons of owners"


def charges_of(query: RangeQuery, how: ChosenMethod, *, times: int, protection: Protection) -> Sequence[Charge]:
    """Return the price of a question, and that of its plan's setup, which a ledger takes once."""
    return [*_setup_of(how, protection), _charge_of(query, how, times, protection)]


def charges_of_batch(queries: Sequence[RangeQuery], how: ChosenMethod, *, protection: Protection) -> Sequence[Charge]:
    """Return the prices of questions by one method, and that of its plan's setup."""
    return [*_setup_of(how, protection), *(_charge_of(query, how, 1, protection) for query in queries)]


def _charge_of(query: RangeQuery, how: ChosenMethod, times: int, protection: Protection) -> Charge:
    text = f"{question(query)}, {how.told}" + ("" if times == 1 else f", {times} times")
    rho = None if query.rho is None else query.rho * times
    span = span_of(query, protection)
    return Charge(query.epsilon * times, "query", text, protection=str(protection), rho=rho, span=span, times=times)


def _setup_of(how: ChosenMethod, protection: Protection) -> Sequence[Charge]:
    plan = how.plan
    if plan is None or plan.grouping.epsilon == NOTHING:
        return []
    everyone = len(plan.owners) == len(how.roster)
    return [
        Charge(
            plan.grouping.epsilon,
            "setup",
            f"plan {plan.id[:8]}, made elsewhere",
            plan=plan.id,
            owners=None if everyone else [repr(owner) for owner in plan.owners.tolist()],
            protection=str(protection),
            span=span_of_vectors(protection),
        )
    ]


def priced(
    query: RangeQuery,
    how: ChosenMethod,
    error: Any,
    *,
    ledger: Ledger,
    accounting: Accounting,
    protection: Protection,
    cut: bool,
) -> RangeQuery:
    """Return a question with its price: what was said, or the least for which it is off by at most `error`.

    It is one that can be counted in the ledger's `accounting`, of records that may have been `cut` before.
    """
    require_uncut(query, cut=cut)
    if error is not None and how.name != "exact":
        noises = Noises(how.noises, how.shared)
        limits: dict[str, Any] = {"protection": protection, "accounting": accounting, "cap": ledger.cap}
        query = cheapest(query, error_said(error), noises, **limits)
    accounting.units_of(query.epsilon, query.rho)  # refused where it cannot be counted
    return query


def left_about(ledger: Ledger, protection: Protection, public_map: PublicMap, **time: Any) -> float | None:
    """Return the largest epsilon of one question about a time that every owner can still pay; None if all can."""
    asked = question_of("count", Grid(public_map.domain, 1, 1), Epsilon(1), time, public_map)
    left = left_for(ledger, span_of(asked, protection))
    return None if left is None else float(left)


def notes_of(query: RangeQuery, how: ChosenMethod, *, records: Records, protection: Protection) -> tuple[str, ...]:
    """Return what an interval does not say; all of it is public."""
    notes = reading_notes(query, protection)
    graph = None if how.plan is None else GRAPHS.get(how.plan.settings.get("graph", ""))
    if graph is not None and graph.compares:
        notes.append(COMPARED_NOTE)
    if how.terms.masked is not None and how.terms.masked.simulated:
        notes.append(SIMULATED)
    if leaves_masks_out(how.terms, query):
        notes.append(NO_MASKS)
    overlap = how.overlap(records.owners)
    return (*notes, *unlisted(records), *([] if overlap is None else overlap.notes()))


def expectation_of(
    query: RangeQuery,
    how: ChosenMethod,
    *,
    repeat: int,
    charges: Sequence[Charge],
    price: Mapping[str, Any],
    ledger: Ledger,
    protection: Protection,
    continuous: bool,
    private: bool,
    notes: tuple[str, ...],
) -> Expectation:
    """Return what an answer would be like and would cost; nothing is spent."""
    if how.name == "exact":
        raise InvalidQuery("an exact answer has no expected error; leave the dry run out, or choose a private method")
    charge, left, windows = ledger.price(charges), ledger.left(), windows_left(ledger)
    here = None if windows is None else windows.left(span_of(query, protection))
    return user.expectation(
        query,
        scales=scales_of(query, protection),
        method=how.facts() | dict(price),
        charge=charge,
        left=left,
        affordable=all(charge <= each for each in (left, here) if each is not None),
        left_in_windows=None if here is None else float(here),
        continuous=continuous,
        shared=how.shared,
        private=private and how.private and repeat == 1,
        notes=notes,
    )
