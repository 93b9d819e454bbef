"""What goes with a map wherever it goes: epsilon, who is protected, which window of time, the promise, the noise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from fedgroup.questions.words import question

if TYPE_CHECKING:
    from fedgroup.maps.private_map import PrivateMap

UNTOLD = "not told"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def about(made: PrivateMap) -> dict[str, Any]:
    """Return what is told about a map as JSON values.

    unit        who is protected, in words
    window      when the counted records are from: [since, until) in UTC, null where it is open, and the seconds of a
                step
    promise     what holds for whoever is protected, in one sentence
    noise       how many noises each bin holds, their scales in whole units, and `half_width_all`: so far noise moves
                any of all bins, with `confidence`; null for means
    """
    noise = {"noises": made.noises, "scales": dict(made.scales), "half_width_all": made.half_width_all}
    return {
        "question": question(made.query),
        "kind": made.kind,
        "epsilon": made.epsilon,
        "delta": made.delta,
        "unit": made.protection or UNTOLD,
        "window": _window(made),
        "promise": promise(made),
        "noise": noise,
        "confidence": made.confidence,
        "private": made.private,
        "method": made.method,
        "trust": made.trust,
        "heard": made.heard,
        "missing": made.missing,
        "asked_at": made.asked_at,
        "notes": list(made.notes),
    }


def about_in_texts(made: PrivateMap) -> dict[str, str]:
    """Return the same for files whose entries are texts: epsilon, unit, window, promise and noise."""
    told = about(made)
    texts = {name: told[name] for name in ("unit", "promise")}
    return {"epsilon": f"{made.epsilon:g}", "window": window_in_words(made), "noise": noise_in_words(made)} | texts


def promise(made: PrivateMap) -> str:
    """Return what a map promises, in one sentence."""
    if not made.private:
        return "none: this map is for evaluation, and must not be shown to others"
    chance = f", delta {made.delta:.1e}" if made.delta else ""
    unit = made.protection or f"unit {UNTOLD}"
    return (
        f"epsilon-differential privacy with epsilon {made.epsilon:g}{chance} ({unit}); {made.trust}; "
        "reading the map costs nothing more"
    )


def window_in_words(made: PrivateMap) -> str:
    """Return the window of time as ISO 8601 writes intervals; an open end is `..`."""
    told = _window(made)
    return f"{told['since'] or '..'}/{told['until'] or '..'}"


def noise_in_words(made: PrivateMap) -> str:
    """Return how far noise moves the bins of a map."""
    if made.half_width_all is None:
        return "intervals differ from bin to bin"
    return f"plus and minus {made.half_width_all:g} holds in all {made.bins} bins at once, in {made.confidence:.0%}"


def moment(microseconds: int | None) -> datetime | None:
    """Return a time in UTC; none where there is none, or one that no calendar has."""
    try:
        return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None


def written_time(at: datetime | None) -> str | None:
    """Return a time as RFC 3339 has it."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def step_windows(made: PrivateMap) -> list[tuple[datetime | None, datetime | None]]:
    """Return when each step of time begins and ends; one pair, the whole window, where there are no steps."""
    query = made.query
    if query.every is None or query.since is None or query.until is None:
        return [(moment(query.since), moment(query.until))]
    starts = [query.since + at * query.every for at in range(made.shape[1])]
    return [(moment(at), moment(min(at + query.every, query.until))) for at in starts]


def _window(made: PrivateMap) -> dict[str, Any]:
    query = made.query
    ends = {name: written_time(moment(getattr(query, name))) for name in ("since", "until")}
    return ends | {"step_seconds": None if query.every is None else query.every / 1e6}
