"""What the service replies, as types. Of owners and groups users see counts and sizes; names are for operators."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.dataclasses import dataclass

from fedgroup.epsilon import NANO, Epsilon
from fedgroup.live.attendance import Attendance
from fedgroup.live.plans import LivePlan
from fedgroup.live.provider import LiveProvider
from fedgroup.privacy.pure_prices import counted_rho
from fedgroup.questions.answers import Expectation, PrivateAnswer, Told
from fedgroup.questions.methods import METHODS, PRIVATE
from fedgroup.service.requests import MAP
from fedgroup.storage.provider_state import Question, User


class Shown(BaseModel):
    """What is replied."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True, kw_only=True)
class AnswerShown(PrivateAnswer):
    """An answer, with the id of its question; `lonlat` tells whether its range is in degrees."""

    id: str
    lonlat: bool = False

    @classmethod
    def of(cls, question: Question) -> AnswerShown:
        """Return the answer of a question that has one."""
        return cls(id=question.id, **(question.answer or {}))


@dataclass(frozen=True, kw_only=True)
class MapShown(Told):
    """A map, with the id of its question: a value and an interval for every bin, null where there is no mean.

    The bin of a place, a step of time and a category is its position in `shape`, the places first. `names` are those of
    the places, `starts` and `ends` those of the steps, `categories` values of the attribute `by`; null where there are
    none, and of maps that were kept before they were told. `published` is what a published map is made of: its sizes
    and what was released, from which free answers follow.
    """

    id: str
    request: dict[str, Any]
    kind: str
    shape: list[int]
    domain: list[float]
    lonlat: bool
    values: list[int | float | None]
    low: list[int | float | None]
    high: list[int | float | None]
    half_width_all: float | None
    scales: dict[str, float]
    protection: str = ""
    names: list[str] | None = None
    starts: list[str | None] | None = None
    ends: list[str | None] | None = None
    by: str | None = None
    categories: list[str | float] | None = None
    published: dict[str, Any] | None = None

    @classmethod
    def of(cls, question: Question) -> MapShown:
        """Return the map of a question that has one."""
        known = {each.name for each in fields(cls)}
        told = {name: fact for name, fact in (question.answer or {}).items() if name in known}
        return cls(id=question.id, request=question.request[MAP], **told)


@dataclass(frozen=True, kw_only=True)
class ExpectationShown(Expectation):
    """What an answer would be like; nothing was spent."""

    dry_run: Literal[True] = True

    @classmethod
    def of(cls, expected: Expectation) -> ExpectationShown:
        """Return an expectation, marked as what it is."""
        return cls(**vars(expected))


class QuestionShown(Shown):
    """A question on record; `state` is asked, answered or failed, `epsilon` what it was charged."""

    id: str
    at: str
    state: str
    epsilon: float
    request: dict[str, Any]
    answer: AnswerShown | None

    @classmethod
    def of(cls, question: Question) -> QuestionShown:
        """Return a question as its user sees it."""
        return cls(
            id=question.id,
            at=question.at,
            state=question.state,
            epsilon=float(question.epsilon),
            request=dict(question.request),
            answer=AnswerShown.of(question) if question.answer else None,
        )


class MapOnRecord(Shown):
    """A map that was asked for, without its values; `request` has the names of districts, not their shapes."""

    id: str
    at: str
    state: str
    epsilon: float
    request: dict[str, Any]

    @classmethod
    def of(cls, question: Question) -> MapOnRecord:
        """Return a map as its user finds it in a list."""
        request = question.request[MAP]
        facts = {"id": question.id, "at": question.at, "state": question.state}
        return cls(epsilon=float(question.epsilon), request=request, **facts)


class MapsShown(Shown):
    """A user's latest maps, the newest first."""

    maps: list[MapOnRecord]


class HistoryShown(Shown):
    """A user's latest questions, the newest first."""

    queries: list[QuestionShown]


class BudgetShown(Shown):
    """What a user may cost the owners in all, and what is left of it; `protection` says what an epsilon protects."""

    user: str
    role: str
    allowance: float
    spent: float
    left: float
    per_minute: int
    federation: str
    protection: str

    @classmethod
    def of(cls, user: User, provider: LiveProvider) -> BudgetShown:
        """Return a user's account."""
        return cls(
            user=user.name,
            role=user.role,
            allowance=float(user.allowance),
            spent=float(user.spent),
            left=float(user.left),
            per_minute=user.per_minute,
            federation=provider.settings.federation,
            protection=str(provider.settings.protection),
        )


class OwnersShown(Shown):
    """How many owners are known and how many of them are here; operators see their names."""

    present: int
    known: int = Field(0, description="who was ever here and was neither revoked nor retired")
    names: list[str] | None = None
    away: list[str] | None = Field(None, description="who is known and not here, for operators")
    differing: list[str] | None = Field(None, description="whose files disagree with the provider's, for operators")
    doubted: dict[str, int] | None = Field(
        None, description="whose groups gave impossible sums, and how often in a row, for operators"
    )

    @classmethod
    def of(cls, provider: LiveProvider, found: Attendance, *, named: bool) -> OwnersShown:
        """Return who is known and here, with their names if asked for."""
        return cls(
            present=len(found.present),
            known=len(found.known),
            names=sorted(found.present) if named else None,
            away=sorted(found.absent) if named else None,
            differing=sorted(provider.desk.differing) if named else None,
            doubted=dict(sorted(provider.doubted.items())) if named else None,
        )


class PlanShown(Shown):
    """The groups of a method: how many can answer now (`alone` of them one owner), how large, how made, the price."""

    method: str
    mode: str
    groups: int
    sizes: list[int]
    alone: int
    epsilon: float
    rho: float | None = Field(None, description="what its epsilon counts, where accounting is zcdp")
    guarantee: str
    members: list[list[str]] | None = Field(None, description="for operators")
    notes: list[str] = Field([], description="what may be wrong with it, if it was just made")

    @classmethod
    def of(cls, plan: LivePlan, provider: LiveProvider, *, with_members: bool) -> PlanShown:
        """Return a plan as users, or operators, see it."""
        return cls(
            method=plan.method,
            mode=plan.mode,
            groups=provider.partition(plan)[0],
            sizes=plan.sizes(),
            alone=provider.alone(plan),
            epsilon=plan.epsilon,
            rho=counted_rho([Epsilon(round(plan.epsilon * NANO))], provider.settings.accounting),
            guarantee=plan.guarantee,
            members=[list(group.members) for group in plan.groups] if with_members else None,
            notes=[],
        )


class GroupsShown(Shown):
    """The plans in force, one a method."""

    plans: list[PlanShown]


class FederationShown(Shown):
    """What all parties agreed on, and how questions can be asked now."""

    name: str
    domain: list[float] = Field(min_length=4, max_length=4, description="west, south, east, north")
    lonlat: bool
    neighbours: str
    unit: str
    max_records: int | None
    max_bins: int | None = Field(None, description="in how many bins of a map one subject counts at most")
    subjects: bool = Field(False, description="whether owners' tables tell subjects, such as cars, apart")
    accounting: str = Field("pure", description="pure: a price is an epsilon; zcdp: it may be a rho")
    delta: float | None = Field(None, description="with zcdp: owners' caps hold with this delta")
    methods: list[str]
    seconds: float
    attributes: list[str] | None = Field(None, description="what can be summed; null where nobody said it")
    times: bool | None = Field(None, description="whether records have times; null where nobody said it")

    @classmethod
    def of(cls, provider: LiveProvider) -> FederationShown:
        """Return the public facts of a federation."""
        settings, protection = provider.settings, provider.settings.protection
        return cls(
            name=settings.federation,
            domain=list(settings.public_map.domain.sides),
            lonlat=settings.public_map.lonlat,
            neighbours=protection.neighbours,
            unit=protection.unit,
            max_records=protection.max_records,
            max_bins=protection.max_bins,
            subjects=protection.subjects,
            accounting=settings.accounting.kind,
            delta=None if settings.accounting.delta is None else float(settings.accounting.delta),
            methods=[name for name in PRIVATE if provider.can_use(METHODS[name])],
            seconds=settings.seconds,
            attributes=None if settings.attributes is None else list(settings.attributes),
            times=settings.times,
        )


class HealthShown(Shown):
    """The service is there."""

    ok: Literal[True] = True


class ReadyShown(Shown):
    """Whether questions can be answered now: a connection to the broker, and enough owners."""

    ready: bool
    broker: bool
    present: int
    known: int
    needed: int
    last_answer: str | None = None


class ProblemShown(BaseModel):
    """A problem by RFC 9457; further members depend on its type."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
