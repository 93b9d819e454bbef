"""Numbers about the service in Prometheus' text format: public facts only, no user, range or value.

Of parties it names those whose certificates are known, for operators and the provider's own machine.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from statistics import median

from fedgroup.live.attendance import Attendance
from fedgroup.questions.answers import OwnersLeft

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper ends of the buckets of how long questions took."""

LATEST = 10_000
"""How many questions are remembered for charts."""


class Metrics:
    """Counters since the start of the process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest: deque[tuple[float, float]] = deque(maxlen=LATEST)
        self._questions: Counter[tuple[str, str]] = Counter()
        self._problems: Counter[str] = Counter()
        self._buckets = [0] * (len(SECONDS) + 1)
        self._seconds = 0.0

    def count_question(self, method: str, outcome: str, seconds: float) -> None:
        """Count a question by its method and how it ended: answered, stored (free) or failed."""
        self._questions[method, outcome] += 1
        self._buckets[bisect_left(SECONDS, seconds)] += 1
        self._seconds += seconds
        self._latest.append((self._clock(), seconds))

    def by_minute(self, minutes: int) -> list[tuple[int, float | None]]:
        """Return how many questions there were in each of the last minutes, and their median seconds; oldest first."""
        now = self._clock()
        found: list[list[float]] = [[] for _ in range(minutes)]
        for at, seconds in self._latest:
            age = int((now - at) // 60)
            if age < minutes:
                found[minutes - 1 - age].append(seconds)
        return [(len(each), median(each) if each else None) for each in found]

    def count_problem(self, kind: str) -> None:
        """Count a request that was replied to with a problem."""
        self._problems[kind] += 1

    def text(
        self,
        owners: Attendance,
        *,
        broker: bool,
        answered_at: float | None,
        refused_messages: int,
        left: OwnersLeft | None = None,
        days_left: Mapping[str | None, int] | None = None,
    ) -> str:
        """Return everything as Prometheus reads it; `days_left` are of parties' certificates, None is the list."""
        last = {} if answered_at is None else {"": int(answered_at)}
        lines = [
            *_metric("fedgroup_broker_connected", "gauge", "1 with a connection to the broker.", {"": int(broker)}),
            *_metric("fedgroup_owners_present", "gauge", "Owners that are here.", {"": len(owners.present)}),
            *_metric("fedgroup_owners_known", "gauge", "Owners that were ever here.", {"": len(owners.known)}),
            *_metric("fedgroup_last_answer_timestamp_seconds", "gauge", "When owners answered last.", last),
            *_metric(
                "fedgroup_refused_messages_total",
                "counter",
                "Messages of owners that broke the protocol and were dropped.",
                {"": refused_messages},
            ),
            *_metric(
                "fedgroup_questions_total",
                "counter",
                "Questions that owners were asked, by method and outcome.",
                {_labels(method=m, outcome=o): count for (m, o), count in sorted(self._questions.items())},
            ),
            *_metric(
                "fedgroup_problems_total",
                "counter",
                "Requests refused or failed, by the kind of problem.",
                {_labels(kind=kind): count for kind, count in sorted(self._problems.items())},
            ),
            *self._histogram("fedgroup_question_seconds"),
            *_budgets(left),
            *_endings(days_left or {}),
        ]
        return "\n".join([*lines, ""])

    def _histogram(self, name: str) -> Iterator[str]:
        yield f"# HELP {name} How long questions took."
        yield f"# TYPE {name} histogram"
        total = 0
        for end, count in zip((*map(str, SECONDS), "+Inf"), self._buckets, strict=True):
            total += count
            yield f'{name}_bucket{{le="{end}"}} {total}'
        yield f"{name}_sum {self._seconds!r}"
        yield f"{name}_count {total}"


def _budgets(left: OwnersLeft | None) -> Iterator[str]:
    """Tell what owners let be told of their budgets: nothing, where nobody tells."""
    telling = 0 if left is None else left.telling
    yield from _metric("fedgroup_owners_telling_left", "gauge", "Owners here that tell their budgets.", {"": telling})
    for which in ("lowest", "median"):
        value = None if left is None else getattr(left, which)
        text = f"The {which} epsilon that is left to an owner, of those that tell it."
        yield from _metric(f"fedgroup_owners_left_{which}", "gauge", text, {} if value is None else {"": value})


def _endings(days_left: Mapping[str | None, int]) -> Iterator[str]:
    parties = {_labels(party=party): days for party, days in sorted(days_left.items(), key=str) if party is not None}
    text = "Whole days until a party's certificate runs out; below 0: it did."
    yield from _metric("fedgroup_certificate_days_left", "gauge", text, parties)
    ends = {"": days_left[None]} if None in days_left else {}
    text = "Whole days until the list of revocations runs out; below 0: it did, and nobody is believed."
    yield from _metric("fedgroup_revocations_days_left", "gauge", text, ends)


def _metric(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values.items():
        yield f"{name}{labels} {value}"


def _labels(**labels: str) -> str:
    # values are words of ours or names in certificates, so nothing in them needs a backslash
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
