"""What the reader of an answer must know that its interval does not say: what is left out, cut or counted twice.

Guarantee: notes are made of the question and of what all parties agreed on, so they tell nothing about records.
"""

from __future__ import annotations

from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import UNCOVERED

OUTSIDE = "records outside the domain are not counted"
CUT = f"of each {{}} only the first {{}} records inside the domain are counted; {UNCOVERED}"
CUT_BINS = f"each subject counts in the first {{}} of the bins it is in; {UNCOVERED}"
TWICE = "a person with records at two owners is two people here"
CLIPPED = f"values are cut to the clip range and rounded to the resolution; {UNCOVERED}"


def reading_notes(query: RangeQuery, protection: Protection) -> list[str]:
    """Return what is left out of an answer, cut or counted twice, wherever its owners are."""
    notes = [OUTSIDE]
    most = protection.most_bins(query)
    of_people = "people" in query.parts
    if most is not None and most < query.bins:
        notes.append(CUT_BINS.format(most))
    elif protection.max_records is not None and not (of_people and protection.of_subjects):
        notes.append(CUT.format(protection.unit, protection.max_records))
    if of_people:
        notes.append(TWICE)
    if query.measure is not None:
        notes.append(CLIPPED)
    return notes
