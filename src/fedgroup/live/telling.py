"""What an answer tells besides its value: who was trusted with what, who is away, who refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from fedgroup.errors import refusals_in_words
from fedgroup.live.asking import Tally
from fedgroup.messages import Answer


def notes_of(missing: Collection[str], tally: Tally) -> tuple[str, ...]:
    """Return what is to be known about an answer in which these owners are missing."""
    notes = ["records outside the domain are not counted"]
    if missing:
        notes.append("the answer is about the owners heard; nothing is extrapolated to those missing")
    if tally.reasons:
        notes.append(refusals_in_words(tally.reasons))
    if tally.reruns:
        notes.append("a group fell silent in the middle and was asked again, at the same price once more")
    return tuple(notes)


def with_absent(answer: Answer, *, absent: int, uncounted: int) -> Answer:
    """Return an answer that tells how many owners are away, of which `uncounted` are not among its owners yet."""
    if not absent:
        return answer
    who = "1 owner that was here before is away; its" if absent == 1 else None
    note = f"{who or f'{absent} owners that were here before are away; their'} records are not counted"
    return replace(
        answer,
        owners=answer.owners + uncounted,
        missing=answer.missing + uncounted,
        absent=absent,
        notes=(*answer.notes, note),
    )
