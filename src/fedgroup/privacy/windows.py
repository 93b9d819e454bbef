"""Budgets per window of the data's time: what the answers about any few consecutive windows may cost together.

Windows are [k per, (k + 1) per), counted from a Monday, 1970-01-05T00:00 in UTC. Every release has a `Span`: the time
of the records that it depends on, and how its cost counts in each window that this time meets. A release that depends
on records of all times counts in every window, past and to come.

Guarantee: in any `count` consecutive windows, what was charged never exceeds the cap. What that protects, by unit:
           record   records that lie in so many consecutive windows, one in each at most
           subject  whatever a subject did in so many consecutive windows; an owner that is its only subject likewise
           owner    whatever an owner's subjects did in so many consecutive windows
           Records without a time lie in no window, and cost what is charged to all of them.
Proof:     docs/guarantees.md#windows-of-time
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from fedgroup.epsilon import NANO, Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput
from fedgroup.given import whole_number, written
from fedgroup.privacy.accounting import PURE, Accounting
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.bins import as_length
from fedgroup.questions.query import RangeQuery
from fedgroup.rho import PICO

ORIGIN = 4 * 86_400 * 1_000_000
"""A Monday, in microseconds since 1970."""
SHORTEST, LONGEST = 1_000_000, 1 << 60
"""A window is a second long at least, in microseconds."""
MOST_WINDOWS = 100_000
"""The most consecutive windows that one cap may be for."""
FIRST, LAST = -(1 << 43), 1 << 43
"""Windows before and after all times that a question can name."""
_MOST_UNITS = 1 << 61
_NAMED = {"hour": "1h", "day": "1d", "week": "1w"}


def window_length(per: Any) -> int:
    """Return the length of a window in microseconds: hour, day, week, or a length such as 15min or 2d."""
    try:
        length = as_length(_NAMED.get(per, per) if isinstance(per, str) else per)
    except InvalidInput:
        length = 0
    if not SHORTEST <= length <= LONGEST:
        raise InvalidInput(
            f"per is hour, day, week, or a length of a second at least such as 15min, got {written(per)}"
        )
    return length


@dataclass(frozen=True)
class WindowBudget:
    """What any `count` consecutive windows of `length` microseconds may cost together."""

    length: int
    cap: Epsilon
    count: int = 1

    def __post_init__(self) -> None:
        whole_number(self.length, name="the length of a window", least=SHORTEST, most=LONGEST)
        object.__setattr__(self, "count", whole_number(self.count, name="windows", least=1, most=MOST_WINDOWS))

    @classmethod
    def said(cls, per: Any, budget: Any, windows: Any = None) -> WindowBudget | None:
        """Return the budget that was said in words; None if nothing was."""
        if (per, budget, windows) == (None, None, None):
            return None
        if per is None or budget is None:
            raise InvalidInput(
                "a budget per window needs both: the length of a window (per), and what windows may cost "
                "(window_budget; window_cap in an owner's file)"
            )
        cap = Epsilon.of(budget, name="window_budget")
        return cls(window_length(per), cap, 1 if windows is None else windows)

    def __str__(self) -> str:
        windows = "any window" if self.count == 1 else f"any {self.count} consecutive windows"
        return f"{self.cap} in {windows} of {length_in_words(self.length)}"

    def same_windows(self, other: WindowBudget) -> bool:
        """Tell whether amounts in the windows of the other one can be looked up in these."""
        return (self.length, self.count) == (other.length, other.count)

    def window_of(self, instant: int) -> int:
        """Return the number of the window that a time lies in."""
        return (instant - ORIGIN) // self.length

    def begin_of(self, window: int) -> int:
        """Return when a window begins, in microseconds since 1970."""
        return ORIGIN + window * self.length

    def met_by(self, span: Span) -> tuple[int, int]:
        """Return the first and the last window that a span meets."""
        first = FIRST if span.since is None else self.window_of(span.since)
        last = LAST if span.until is None else self.window_of(span.until - 1)
        return max(first, FIRST), min(last, LAST)

    def units(self, cost: int, span: Span, accounting: Accounting) -> int:
        """Return what a cost counts in each window that its span meets."""
        first, last = self.met_by(span)
        times = span.times if first == last else max(span.times, span.times_in_several)
        if accounting != PURE and span.adds_up:
            times *= min(self.count, self._windows_in_a_bin(span, first, last))
        return cost * times

    def _windows_in_a_bin(self, span: Span, first: int, last: int) -> int:
        """Return how many windows one bin meets at most."""
        met = last - first + 1
        if span.step is None or span.since is None:
            return met
        offset = (span.since - ORIGIN) % self.length
        if offset == 0 and span.step % self.length == 0:
            return min(met, span.step // self.length)
        if self.length % span.step == 0 and offset % span.step == 0:
            return 1
        return min(met, (span.step - 2) // self.length + 2)


@dataclass(frozen=True)
class Span:
    """The time [since, until) of the records that a release depends on, and how often its cost counts in a window.

    times             in a window, where it meets only one
    times_in_several  in each window, where it meets several
    adds_up           whether records of several windows may add up in one bin, whose rho grows by their square
    step              how long the time of one bin is at most, in microseconds; None: as the whole
    """

    since: int | None = None
    until: int | None = None
    times: int = 1
    times_in_several: int = 1
    adds_up: bool = True
    step: int | None = None


UNKNOWN = Span(times=4, times_in_several=4)
"""For whatever nobody said it of: all times, at the highest rate."""


def span_of(query: RangeQuery, protection: Protection) -> Span:
    """Return the span of the answer to a question.

    At units subject and owner, which records count is decided by the order of the whole table: an answer about one day
    may depend on what was there on another, so it is of all times. People are cut by the bins of the question alone.
    """
    several = query.bins > 1
    if protection.unit == "record":
        bounded = query.since is not None or query.until is not None
        # replaced by a record of another time, one that leaves a bin is not made up for by one that enters it
        twice = protection.neighbours == "replace" and bounded and not several
        rate = 2 if twice else 1
        return Span(query.since, query.until, rate, rate, step=query.every)
    if "people" in query.parts and protection.of_subjects:
        # without some of its time, a subject counts in other bins: it leaves as many as it enters
        moved = 2 if protection.neighbours == "add-remove" and several else 1
        return Span(query.since, query.until, 1, moved, adds_up=False)
    signed = query.measure is not None and query.measure.signed
    moved = 1 if protection.neighbours == "replace" else 4 if signed else 2 if several else 1
    return Span(times=moved, times_in_several=moved, adds_up=False)


def span_of_vectors(protection: Protection) -> Span:
    """Return the span of a vector of counts over a grid: records of all times."""
    if protection.unit == "record":
        return Span()
    moved = 1 if protection.neighbours == "replace" else 2
    return Span(times=moved, times_in_several=moved, adds_up=False)


@dataclass(frozen=True)
class WindowsSpent:
    """What was charged to windows, in units: `every` to each of all, and more to some.

    From the window of a step on, up to that of the next, windows were charged the step's amount; before the first
    nothing. Steps ascend.
    """

    every: int = 0
    steps: tuple[tuple[int, int], ...] = ()

    def at(self, window: int) -> int:
        """Return what was charged to a window besides what was charged to every."""
        before = bisect_right(self.steps, (window, float("inf")))
        return self.steps[before - 1][1] if before else 0

    def after(self, first: int, last: int, units: int) -> WindowsSpent:
        """Return what was charged after so much was charged to each of these windows."""
        if units == 0:
            return self
        if first <= FIRST and last >= LAST:
            return replace(self, every=self.every + units)
        places = sorted({first, last + 1, *(place for place, _ in self.steps)})
        return replace(self, steps=tuple((at, self.at(at) + (units if first <= at <= last else 0)) for at in places))

    def most_in_a_row(self, count: int, first: int, last: int) -> int:
        """Return the most that was charged to `count` consecutive windows, of which one is among these at least.

        What a run of windows costs changes at one rate between two places where its begin or its end meets a step, so
        the most is found at such a place.
        """
        edges = [place for place, _ in self.steps]
        begins = {first - count + 1, last, *edges, *(edge - count for edge in edges)}
        before = self._totals(edges)

        def charged_before(window: int) -> int:
            """Return what all windows before this one, from the first step on, were charged besides."""
            here = bisect_right(edges, window)
            return before[here - 1] + self.steps[here - 1][1] * (window - edges[here - 1]) if here else 0

        runs = (
            charged_before(begin + count) - charged_before(begin) for begin in begins if first - count < begin <= last
        )
        return max(runs) + count * self.every

    def _totals(self, edges: Sequence[int]) -> list[int]:
        """Return what all windows before each step were charged besides."""
        pieces = (units * (end - place) for (place, units), end in zip(self.steps, edges[1:], strict=False))
        return list(accumulate(pieces, initial=0))

    def spread(self) -> list[tuple[int, int, int]]:
        """Return the first and the last window of each stretch that was charged alike, and how much in all."""
        places = [place for place, _ in self.steps]
        return [
            (first, end - 1, self.every + units)
            for (first, units), end in zip(self.steps, [*places, LAST + 1][1:], strict=True)
            if units
        ]


Cost = tuple[int, Span]
"""What a release costs in units, and of which time it is."""


def settle_windows(
    costs: Sequence[Cost], *, budget: WindowBudget, before: WindowsSpent, accounting: Accounting
) -> list[tuple[int, int, int]]:
    """Return what is charged to which windows, as first, last and units of each, or refuse all of it.

    Requires:  `before` tells what was charged to the windows that are met, and to `budget.count` on either side.
    Guarantee: no `count` consecutive windows end above the cap.
    """
    most, added, after = accounting.units_within(budget.cap), [], before
    for cost, span in costs:
        first, last = budget.met_by(span)
        units = budget.units(cost, span, accounting)
        after = after.after(first, last, units)
        added.append((first, last, units))
    for first, last, units in added:
        if units and after.most_in_a_row(budget.count, first, last) > most:
            raise _refusal(budget, accounting, asked=units, most=most, spent=before, met=(first, last))
    return [each for each in added if each[2]]


def _refusal(
    budget: WindowBudget, accounting: Accounting, *, asked: int, most: int, spent: WindowsSpent, met: tuple[int, int]
) -> BudgetExhausted:
    left = max(0, most - spent.most_in_a_row(budget.count, *met))
    unit, counted = (NANO, "epsilon") if accounting == PURE else (PICO, "rho")
    whose = "a window" if budget.count == 1 else f"{budget.count} consecutive windows"
    return BudgetExhausted(
        asked=asked / unit,
        left=left / unit,
        cap=most / unit,
        counted=counted,
        windows=f"{whose} of {length_in_words(budget.length)}",
    )


def change_of_windows(before: WindowBudget | None, after: WindowBudget, *, raising: bool, fresh: bool) -> str:
    """Return what a ledger notes when the budget of its windows is stated or changes, or refuse the change.

    `fresh` tells that nothing was charged to windows in this epoch.

    Guarantee: windows are cut one way as long as something is counted in them, and a cap is raised on purpose only.
    """
    if before is None:
        return f"budget per window set to {after}; what was spent before counts in every window"
    if not before.same_windows(after) and not fresh:
        raise InvalidInput(
            f"this ledger's budget is {before}, and its windows stay as they are while an epoch lasts; begin an epoch, "
            "or use another ledger"
        )
    if after.cap > before.cap and not raising:
        raise InvalidInput(
            f"this ledger's budget per window is {before.cap}, and {after.cap} would raise it; if its owners agreed, "
            "say --raise-budget (raise_budget=True)"
        )
    return f"budget per window set to {after}, before {before}"


def spent_before(units: int, budget: WindowBudget, accounting: Accounting, protection: str | None) -> WindowsSpent:
    """Return what was spent before there was a budget of windows: nobody knows of which time, so it counts in every."""
    rate = 1 if protection in (None, str(Protection())) else UNKNOWN.times
    return WindowsSpent(min(units * rate * (1 if accounting == PURE else budget.count), _MOST_UNITS))


def carried_windows(spent: WindowsSpent, count: int, accounting: Accounting) -> WindowsSpent:
    """Return what was charged in pure epsilon as concentrated accounting counts it.

    Guarantee: the sum E of `count` windows' epsilons costs E^2 / 2, which is at most `count` times the sum of halves of
               their squares (Cauchy, Schwarz), and that is what is counted.
    """
    every = count * accounting.carried(spent.every)
    steps = ((place, count * accounting.carried(spent.every + units) - every) for place, units in spent.steps)
    return WindowsSpent(every, tuple(steps))


def length_in_words(length: int) -> str:
    """Return a length of time as it can be said."""
    for unit, seconds in (("w", 604_800), ("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if length % (seconds * 1_000_000) == 0:
            return f"{length // (seconds * 1_000_000)}{unit}"
    return f"{length / 1e6:g}s"
