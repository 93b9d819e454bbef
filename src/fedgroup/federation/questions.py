"""What can be said when asking, and the range query it becomes."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, TypedDict, cast

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, number, whole_number, written, yes_or_no
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


_FLAGS = ("signed", "fresh", "evaluate")
_TEXTS = ("method", "in_group", "attribute")
_LEAST = {"cohort_size": 2, "colluders": 1, "repeat": 1}


def checked(details: Details) -> Details:
    """Return details of the right types, or say which is not; those that are None were left out.

    What does not exist is refused: a misspelled time window would release the answer for all times.
    """
    unknown = ", ".join(set(details) - set(Details.__annotations__))
    if unknown:
        raise InvalidQuery(f"a question has no {unknown}; it has {', '.join(Details.__annotations__)}")
    said: dict[str, Any] = {name: value for name, value in details.items() if value is not None}
    for name in said.keys() & set(_TEXTS):
        if not isinstance(said[name], str):
            raise InvalidQuery(f"{name.replace('_', '-')} is a text, got {written(said[name])}")
    if "plan" in said and not isinstance(said["plan"], Plan):
        raise InvalidQuery(f"a plan is what Federation.group or fg.Plan.load returns, got {written(said['plan'])}")
    said |= {name: yes_or_no(said[name], name=name, refusal=InvalidQuery) for name in said.keys() & set(_FLAGS)}
    said |= {
        name: whole_number(said[name], name=name, least=least, refusal=InvalidQuery)
        for name, least in _LEAST.items()
        if name in said
    }
    if "dropouts" in said:
        said["dropouts"] = number(said["dropouts"], name="dropouts", refusal=InvalidQuery)
    return cast(Details, said)


def require_ranges(ranges: Any, details: Details) -> None:
    """Refuse a batch that is no list, or that is for evaluation."""
    if not is_list(ranges):
        raise InvalidQuery(f"a batch of questions is a list of ranges, got {written(ranges)}")
    if details.get("method") == "exact" or details.get("repeat", 1) != 1 or details.get("evaluate", False):
        raise InvalidQuery("a batch of questions is for private answers; ask one by one to evaluate")


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
    if not isinstance(kind, str):
        raise InvalidQuery(f"a question is count, sum or avg, got {written(kind)}")
    if not isinstance(asked, Range):
        raise InvalidQuery(f"a range is a Circle, a Rectangle, a Polygon or a MultiPolygon, got {written(asked)}")
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


def _is_said(value: Any) -> bool:
    return value is not None and value is not False


def _measure(kind: Kind, details: Details, records: Records) -> Measure | None:
    attribute, clip = details.get("attribute"), details.get("clip")
    if kind == "count" and any(_is_said(details.get(name)) for name in _MEASURE):
        raise InvalidQuery(f"count takes none of {', '.join(_MEASURE)}; ask for sum or avg")
    if kind not in ("sum", "avg"):
        return None
    if attribute is None or clip is None:
        raise InvalidQuery(f"{kind} needs an attribute and a clip, the largest value a record may contribute")
    records.attribute(attribute)
    resolution = details.get("resolution")
    return Measure(
        attribute,
        # one spelling of a number, so that repeated questions are recognised
        number(clip, name="clip", refusal=InvalidQuery),
        details.get("signed", False),
        None if resolution is None else number(resolution, name="resolution", refusal=InvalidQuery),
    )
