"""What can be said to a federation in one process, and the question it becomes."""

from __future__ import annotations

from typing import Any, cast

from fedgroup.data.plans import Plan
from fedgroup.epsilon import HARDLY_PROTECTS, NOTHING, Epsilon
from fedgroup.errors import InvalidQuery
from fedgroup.given import is_list, number, whole_number, written, yes_or_no
from fedgroup.owner.counting import times_of
from fedgroup.owner.records import Records
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import MapSaid, Said, question_of, require_known, some_price
from fedgroup.space import PublicMap
from fedgroup.space.places import Places


class Details(Said, total=False):
    """All that can be said about a question besides its kind, its range and its epsilon; see also `Said`.

    method      besides the private ones, exact (evaluation)
    plan        the groups, made by `Federation.group` or loaded
    in_group    trusted: the leader of a group sees its members' exact partial answers; masked: nobody does
    cohort_size for cohorts: how many owners mask their answers together, at most
    colluders, dropouts
                for masked groups: how many members may pool what they know (1), which share may be silent (0.1)
    error       instead of a price: how far off the answer may be in 95 %, such as 10, "10% of 500", or "10%" of what a
                published map expects; it then costs as little as that takes, by the cheapest method that trusts nobody,
                or by the plan, if none is named
    repeat      evaluation: that many fresh answers, each paid for
    evaluate    evaluation: add the true values, as the data are and after clipping, which are not private
    """

    plan: Plan | None
    in_group: str
    cohort_size: int
    colluders: int
    dropouts: float
    error: float | str | None
    repeat: int
    evaluate: bool


class MapDetails(Details, MapSaid, total=False):
    """All that can be said about a map besides its kind and its epsilon; see `MapSaid` and `Details`."""


_FLAGS = ("signed", "fresh", "evaluate")
_TEXTS = ("method", "in_group", "attribute")
_LEAST = {"cohort_size": 2, "colluders": 1, "repeat": 1}


def checked(details: Details, kind: type = Details) -> Details:
    """Return details of the right types, or say which is not; those that are None were left out."""
    require_known(details, kind, what="a map" if kind is MapDetails else "a question")
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


def require_uncut(query: RangeQuery, *, cut: bool) -> None:
    """Refuse people where records were left out before: an owner may be where its first records are not."""
    if cut and "people" in query.parts:
        raise InvalidQuery("this index holds some records of each owner only, so people cannot be counted; open all")


def require_evaluation(*, private: bool) -> None:
    """Refuse exact results of a federation that was opened for private ones."""
    if private:
        raise InvalidQuery(
            "exact and true values are not private: open the federation for evaluation, Federation(..., "
            "evaluation=True); each of them leaves a line in the ledger"
        )


def range_query(
    kind: str,
    asked: Places,
    *,
    epsilon: float | Epsilon | None,
    details: Details,
    records: Records,
    public_map: PublicMap,
) -> RangeQuery:
    """Return the query that a question stands for, or say what is wrong with it."""
    exact, rho, error = details.get("method") == "exact", details.get("rho"), details.get("error")
    if error is not None and (epsilon, rho) != (None, None):
        raise InvalidQuery("a question has one price: an epsilon, a rho, or an error that it may have")
    cost = NOTHING if exact else HARDLY_PROTECTS if error is not None else some_price(epsilon, rho)
    query = question_of(kind, asked, cost, {**details, "rho": None if exact else rho}, public_map)
    if query.measure is not None:
        records.attribute(query.measure.attribute)
    if query.since is not None or query.until is not None:
        times_of(records)
    if query.by is not None:
        (records.text if query.by.of_texts else records.attribute)(query.by.attribute)
    return query
