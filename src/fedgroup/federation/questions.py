"""What can be said when asking, and the range query it becomes."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, TypedDict

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.messages import Kind, Measure, RangeQuery
from fedgroup.owner.counting import times_of
from fedgroup.owner.records import Records
from fedgroup.owner.times import as_instant
from fedgroup.space import PublicMap, Range

When = str | float | datetime | date


class Details(TypedDict, total=False):
    """Everything about a question besides its kind, its range and its epsilon; all of it can be left out.

    method      dp, fedgroup, cohorts, mpc, or exact (evaluation); default: fedgroup with a plan, else dp
    plan        the groups, made by `Federation.group` or loaded
    in_group    trusted: the leader of a group sees its members' exact partial answers; masked: nobody does
    cohort_size for cohorts: how many owners mask their answers together, at most
    colluders, dropouts
                for masked groups: how many members may pool what they know (1), which share may be silent (0.1)
    attribute, clip, signed, resolution
                for sum and avg: values are cut to [0, clip] ([-clip, clip] if signed) and rounded to the resolution
    since, until
                the time window [since, until)
    fresh       ask anew and pay anew, even if the same question was asked before
    repeat      evaluation: that many fresh answers, each paid for
    evaluate    evaluation: add the true values, as the data are and after clipping, which are not private
    """

    method: str | None
    plan: Plan | None
    in_group: str
    cohort_size: int
    colluders: int
    dropouts: float
    attribute: str | None
    clip: float | None
    signed: bool
    resolution: float | None
    since: When | None
    until: When | None
    fresh: bool
    repeat: int
    evaluate: bool


_MEASURE = ("attribute", "clip", "signed", "resolution")


def require_known(details: Details) -> None:
    """Refuse details that do not exist: a misspelled time window would release the answer for all times."""
    unknown = ", ".join(set(details) - set(Details.__annotations__))
    if unknown:
        raise InvalidQuery(f"a question has no {unknown}; it has {', '.join(Details.__annotations__)}")
    repeat = details.get("repeat", 1)
    if type(repeat) is not int or repeat < 1:
        raise InvalidQuery(f"repeat must be a whole number of at least 1, got {repeat}")


def require_evaluation(*, private: bool) -> None:
    """Refuse exact results of a federation that was opened for private ones."""
    if private:
        raise InvalidQuery(
            "exact and true values are not private: open the federation for evaluation, Federation(..., "
            "evaluation=True); each of them leaves a line in the ledger"
        )


def some_epsilon(epsilon: float | Epsilon) -> Epsilon:
    """Return an epsilon that noise can be calibrated to."""
    cost = Epsilon.of(epsilon)
    if cost == NOTHING:
        raise InvalidQuery("epsilon must be greater than 0, got 0")
    return cost


def range_query(
    kind: Kind,
    asked: Range,
    *,
    epsilon: float | Epsilon | None,
    details: Details,
    records: Records,
    public_map: PublicMap,
) -> RangeQuery:
    """Return the query that a question stands for, or say what is wrong with it."""
    if not isinstance(asked, Range):
        raise InvalidQuery("a range is a Circle, a Rectangle, a Polygon or a MultiPolygon")
    public_map.require_reachable(asked)
    since, until = details.get("since"), details.get("until")
    query = RangeQuery(
        kind,
        asked,
        _epsilon(epsilon, details),
        _measure(kind, details, records),
        None if since is None else as_instant(since, name="since"),
        None if until is None else as_instant(until, name="until"),
    )
    if query.since is not None or query.until is not None:
        times_of(records)
    return query


def _epsilon(epsilon: float | Epsilon | None, details: Details) -> Epsilon:
    if details.get("method") == "exact":
        return NOTHING
    if epsilon is None:
        raise InvalidQuery("a private answer needs an epsilon, such as 0.3")
    return some_epsilon(epsilon)


def _measure(kind: Kind, details: Details, records: Records) -> Measure | None:
    attribute, clip = details.get("attribute"), details.get("clip")
    if kind == "count" and any(details.get(name) for name in _MEASURE):
        raise InvalidQuery(f"count takes none of {', '.join(_MEASURE)}; ask for sum or avg")
    if kind not in ("sum", "avg"):
        return None
    if attribute is None or clip is None:
        raise InvalidQuery(f"{kind} needs an attribute and a clip, the largest value a record may contribute")
    records.attribute(attribute)
    resolution = details.get("resolution")
    return Measure(
        attribute,
        _number(clip, "clip"),
        bool(details.get("signed", False)),
        None if resolution is None else _number(resolution, "resolution"),
    )


def _number(value: Any, name: str) -> float:
    """Return one spelling of a number, so that repeated questions are recognised."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidQuery(f"{name} must be a number, got {value!r}") from None
