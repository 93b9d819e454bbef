"""Whom an answer trusts with what, in words: the same in one process and over a network."""

from __future__ import annotations

from collections.abc import Collection

ALONE = "nobody is trusted: every owner adds its own noise"
TRUSTED = "each group's leader is trusted by its members: it sees their exact partial answers"
MASKED = (
    "no party is trusted with an owner's answer: members hide theirs under masks and share the noise; it takes more "
    "than {} of a group's members, together with the provider, to learn more, and enough honest ones must be heard"
)
"""Of groups that withstand so many colluders."""

BOTH = f"leaders of groups of similar owners are trusted by their members; all others: {MASKED}"
EXACT = "everybody is trusted with the exact answer: for evaluation only"
BY_CHANCE = "; in groups too large to mask all pairs this fails with a chance of {:.1g} in all, the answer's delta"


def trust_in(modes: Collection[str], *, colluders: int, delta: float, alone: bool = False) -> str:
    """Return who is trusted with what, where groups of these modes answer and maybe owners `alone`."""
    if not modes:
        return ALONE
    text = TRUSTED if "masked" not in modes else (BOTH if "trusted" in modes else MASKED).format(colluders)
    text += BY_CHANCE.format(delta) if delta else ""
    return f"{text}; owners in no group add their own noise" if alone else text
