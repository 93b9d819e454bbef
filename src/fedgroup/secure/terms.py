"""The terms of a masked group: into how many parts its noise is cut, and how many members must be heard.

Each of n members adds a share of noise of shape 1/t to its exact value, t = n - c - d, and masks the two together.
The shares of t members make one whole noise; those of more make more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fedgroup.errors import InvalidInput, ProtocolViolation, TooFewHeard
from fedgroup.secure.mask_graph import failure_chance

LEAST_BAD_SHARE = 0.2
"""Mask graphs of large groups withstand so many colluders and dropouts together, whatever the terms say."""


@dataclass(frozen=True)
class MaskedTerms:
    """A group of `members`, of whom up to `colluders` pool what they know and up to `dropouts` may stay silent.

    Requires:  each owner computes these terms itself, from a roster it verified.
    Guarantee: when `least_heard` members are heard, at least `parts` of them are no colluders, and their shares of
               shape 1/parts are one whole noise that the colluders do not know. A member knows its own share, so
               towards the members themselves this holds from colluders = 1 on; 0 protects from outsiders only.
    Proof:     docs/guarantees.md#masked-groups
    """

    members: int
    colluders: int = 1
    dropouts: int | None = None

    def __post_init__(self) -> None:
        if self.members < 1:
            raise InvalidInput(f"a masked group has at least 1 member, got {self.members}")
        if self.colluders < 0 or (self.colluders >= self.members > 1):
            raise InvalidInput(
                f"colluders must be at least 0 and fewer than the {self.members} members, got {self.colluders}"
            )
        if self.dropouts is None:
            object.__setattr__(self, "dropouts", _tenth_rounded_up(self.members))
        elif self.dropouts < 0:
            raise InvalidInput(f"dropouts must be at least 0, got {self.dropouts}")

    @property
    def parts(self) -> int:
        """t, the number of shares that make one whole noise: members - colluders - dropouts, at least 1."""
        assert self.dropouts is not None  # noqa: S101  set at birth
        return max(1, self.members - self.colluders - self.dropouts)

    @property
    def bad_share(self) -> float:
        """The share of members that may collude or drop out, at least `LEAST_BAD_SHARE`: what mask graphs withstand."""
        assert self.dropouts is not None  # noqa: S101  set at birth
        return min(1.0, max(LEAST_BAD_SHARE, (self.colluders + self.dropouts) / self.members))

    @property
    def delta(self) -> float:
        """The chance that the group's mask graph does not hold what is promised; 0 where all pairs mask."""
        return failure_chance(self.members, bad_share=self.bad_share)

    @property
    def least_heard(self) -> int:
        """How many members must be heard for an answer: parts + colluders; an owner alone needs itself only."""
        return min(self.members, self.parts + self.colluders)

    def shape(self, heard: int) -> Fraction:
        """Return the shape of the noise that a sum over `heard` members carries, heard / parts."""
        return Fraction(heard, self.parts)

    def require_enough(self, heard: int) -> None:
        """Raise `TooFewHeard` when the sum over `heard` members would carry too little noise."""
        if not 0 <= heard <= self.members:
            raise ProtocolViolation(f"{heard} members of a group of {self.members} are said to be heard")
        if heard < self.least_heard:
            raise TooFewHeard(heard=heard, needed=self.least_heard)


def _tenth_rounded_up(members: int) -> int:
    return -(-members // 10)
