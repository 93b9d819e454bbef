"""What an owner says: to the provider, and sealed to the leader of its group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fedgroup.messages.limits import (
    MOST_CELLS,
    MOST_DEALT,
    MOST_FRAME,
    MOST_MEMBERS,
    MOST_NAME,
    MOST_RELAYS,
    MOST_WORDS,
    VERSION,
    require,
    require_agreed,
    require_id,
    require_signatures,
    require_text,
    require_words,
)

REASONS = (
    "budget", "epsilon", "kind", "radius", "window", "members", "mode", "plan", "roster", "round", "attribute",
    "bins", "cells", "paused", "offers", "silo", "failed", "ledger", "late", "federation", "log",
    "bounds", "incomplete", "protocol",
)  # fmt: skip
_PERHAPS_CHARGED = ("failed", "ledger", "protocol", "round", "bounds")


def perhaps_charged(reasons: Iterable[str]) -> bool:
    """Tell whether an owner that refused for one of these reasons may have charged itself all the same.

    All others come before the charge. Who `failed` had paid; a ledger that failed may have kept the charge; who does
    not know a `round` any more may have paid for it before it forgot; `protocol` also stands for what nobody foresaw.
    `bounds` is the provider's word: the sums of its group cannot be.
    """
    return not set(_PERHAPS_CHARGED).isdisjoint(reasons)


@dataclass(frozen=True)
class Described:
    """The noisy counts of all cells, row by row from the south-west."""

    round: bytes
    counts: list[int]

    def __post_init__(self) -> None:
        require_id(self.round)
        require(0 < len(self.counts) <= MOST_CELLS, f"a vector has at most {MOST_CELLS} counts")
        require_words(self.counts)


@dataclass(frozen=True)
class Accepted:
    """The owner verified the group's roster and agrees to it; it commits itself to a number for the mask graph.

    It signs that, for all members to see, so that nobody can commit in its name.
    """

    plan: str
    commitment: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require_text(self.plan)
        require(len(self.commitment) == 32, "a commitment has 32 bytes")
        require_signatures([self.signature], 1)


@dataclass(frozen=True)
class Revealed:
    """The number the owner had committed itself to, signed."""

    plan: str
    number: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require_text(self.plan)
        require(len(self.number) == 32, "a number has 32 bytes")
        require_signatures([self.signature], 1)


@dataclass(frozen=True)
class Sealed:
    """The owner found all numbers to fit their commitments: it is ready to answer in this plan."""

    plan: str

    def __post_init__(self) -> None:
        require_text(self.plan)


@dataclass(frozen=True)
class Noisy:
    """The noisy sums of a group, bin after bin, each with the question's parts, from its leader; who is alone leads.

    `heard` are the positions of the members that are in the sums.
    """

    round: bytes
    sums: list[int]
    heard: list[int]

    def __post_init__(self) -> None:
        require_id(self.round)
        require(1 <= len(self.sums) <= MOST_WORDS, f"an answer has at most {MOST_WORDS} sums")
        require(1 <= len(self.heard) <= MOST_MEMBERS, f"a group has 1 to {MOST_MEMBERS} members")
        require_words(self.sums)


@dataclass(frozen=True)
class Ready:
    """The owner would answer this round; nothing is charged yet.

    `dealt` are, where the question asks for them, shares of its box key, and its boxed keys, for its neighbours in a
    masked group.
    """

    round: bytes
    dealt: bytes = b""

    def __post_init__(self) -> None:
        require_id(self.round)
        require(len(self.dealt) <= MOST_DEALT, f"shares have at most {MOST_DEALT} bytes")


@dataclass(frozen=True)
class Masked:
    """The owner's values with their shares of noise, masked, bin after bin, each with the question's parts.

    A word has 8 bytes, the lowest first, or 4 where public bounds say that no sum needs more. `dealt` are shares of its
    seed, sealed for its neighbours in the roster, where the question asks for them.
    """

    round: bytes
    words: bytes
    dealt: bytes = b""

    def __post_init__(self) -> None:
        require_id(self.round)
        require(4 <= len(self.words) <= 8 * MOST_WORDS, f"an answer has at most {MOST_WORDS} values of 8 bytes")
        require(len(self.dealt) <= MOST_DEALT, f"shares have at most {MOST_DEALT} bytes")


@dataclass(frozen=True)
class Vouched:
    """The owner saw who is left out of a round's sum, will see no other set in it, and signed that."""

    round: bytes
    signature: bytes

    def __post_init__(self) -> None:
        require_id(self.round)
        require_signatures([self.signature], 1)


@dataclass(frozen=True)
class Unmasked:
    """The owner's shares: of a seed for who was heard, of a box key for who was not, and of its own seed at the end."""

    round: bytes
    shares: bytes

    def __post_init__(self) -> None:
        require_id(self.round)
        require(0 < len(self.shares) <= MOST_DEALT, f"shares have at most {MOST_DEALT} bytes")


@dataclass(frozen=True)
class Checked:
    """Whether the data is what it was; an owner that does not remember says no."""

    round: bytes
    same: bool

    def __post_init__(self) -> None:
        require_id(self.round)


@dataclass(frozen=True)
class Left:
    """What is left of the owner's cap in its epoch, in nano-epsilon; None: it does not tell.

    Guarantee: it follows from the cap and from what was asked and charged, which are public, never from records.
    """

    round: bytes
    nano: int | None = None

    def __post_init__(self) -> None:
        require_id(self.round)
        require(self.nano is None or 0 <= self.nano < 1 << 63, "what is left fits 64 bits, and is not negative")


@dataclass(frozen=True)
class Relayed:
    """Frames for the other owner, sealed for it, and this side's share of the bit once there is one."""

    session: bytes
    frames: list[bytes]
    share: int | None = None

    def __post_init__(self) -> None:
        require_id(self.session)
        require(len(self.frames) <= 8 and all(len(f) <= MOST_FRAME for f in self.frames), "frames are few and short")
        require(self.share in (None, 0, 1), "a share is a bit")


@dataclass(frozen=True)
class Refused:
    """The owner will not: `about` is the round, session or plan, `reason` one of `REASONS`."""

    about: bytes
    reason: str

    def __post_init__(self) -> None:
        require(0 < len(self.about) <= MOST_NAME, "a refusal is about something")
        require(self.reason in REASONS, "a refusal gives a known reason")


@dataclass(frozen=True)
class RelayedMany:
    """What follows from a step of many comparisons: one entry for each that went on, and why others did not."""

    round: bytes
    relayed: list[Relayed]
    refused: list[Refused]

    def __post_init__(self) -> None:
        require_id(self.round)
        require(len(self.relayed) + len(self.refused) <= MOST_RELAYS, f"a step has at most {MOST_RELAYS} frames")


@dataclass(frozen=True)
class Recalled:
    """The comparisons that the owner began in the epoch it is in, of those it was asked about."""

    round: bytes
    sessions: list[bytes]

    def __post_init__(self) -> None:
        require_id(self.round)
        require(len(self.sessions) <= MOST_RELAYS, f"at most {MOST_RELAYS} comparisons are told of together")
        for session in self.sessions:
            require_id(session)


@dataclass(frozen=True)
class Letter:
    """A member's exact sums for the leader of its trusted group, sealed: others see two names and a public length."""

    round: bytes
    sealed: bytes

    def __post_init__(self) -> None:
        require_id(self.round)
        require(len(self.sealed) <= 8 * MOST_WORDS + 512, f"a letter has at most {MOST_WORDS} numbers of 8 bytes")


@dataclass(frozen=True)
class Presence:
    """An owner is here, with its certificate and the digest of what it agreed on, or gone.

    `most_records` is how many records it counts in one bin at most, as its policy says; None: it does not say.
    """

    owner: str
    here: bool
    certificate: bytes = b""
    version: int = VERSION
    agreed: bytes = b""
    most_records: int | None = None

    def __post_init__(self) -> None:
        require(0 < len(self.owner) <= MOST_NAME, "an owner has a short name")
        require(self.most_records is None or 0 < self.most_records < 1 << 48, "an owner counts some records at most")
        require(len(self.certificate) <= 4_096, "a certificate has at most 4096 bytes")
        require_agreed(self.agreed)
