"""What an answer tells besides its value: who is away, who refused."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from fedgroup.errors import refusals_in_words
from fedgroup.live.asking import Tally
from fedgroup.live.attendance import Attendance
from fedgroup.questions.answers import Answer

_AWAY = "owner that was here before is away; its records are not counted"
_ALL_AWAY = "owners that were here before are away; their records are not counted"


def notes_of(tally: Tally, attendance: Attendance) -> tuple[str, ...]:
    """Return what is to be known about an answer in which some of the known owners may be missing."""
    notes = ["records outside the domain are not counted"]
    if attendance.known - tally.heard:
        notes.append("the answer is about the owners heard; nothing is extrapolated to those missing")
    if tally.reasons:
        notes.append(refusals_in_words(tally.reasons))
    if tally.reruns:
        notes.append("a group fell silent in the middle and was asked again, at the same price once more")
    return (*notes, *_away(attendance))


def with_attendance(answer: Answer, attendance: Attendance, *, heard: Collection[str]) -> Answer:
    """Return an answer that is given again, with who is known and who is away now."""
    lasting = tuple(note for note in answer.notes if not note.endswith((_AWAY, _ALL_AWAY)))
    known = Attendance(attendance.known.union(heard), attendance.present.union(heard))
    return replace(answer, **known.counts(heard), notes=(*lasting, *_away(known)))


def _away(attendance: Attendance) -> tuple[str, ...]:
    away = len(attendance.absent)
    return (f"{away} {_AWAY if away == 1 else _ALL_AWAY}",) if away else ()
