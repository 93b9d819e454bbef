"""Whom an answer trusts with what, in words: the same in one process and over a network."""

from __future__ import annotations

ALONE = "nobody is trusted: every owner adds its own noise"
TRUSTED = "each group's leader is trusted by its members: it sees their exact partial answers"
MASKED = (
    "no party is trusted with an owner's answer: members hide theirs under masks and share the noise; it takes more "
    "than {} of a group's members, together with the provider, to learn more, and enough honest ones must be heard"
)
"""Of groups that withstand so many colluders."""

BOTH = f"leaders of groups of similar owners are trusted by their members; all others: {MASKED}"
EXACT = "everybody is trusted with the exact answer: for evaluation only"
