"""What a message may hold at most, and how it is refused: by the rule it breaks, never by what was sent."""

from __future__ import annotations

from fedgroup.errors import ProtocolViolation

VERSION = 9
ID_BYTES = 16
SIGNATURE_BYTES = 64
AGREED_BYTES = 16
MOST_CELLS = 4_096
MOST_WORDS = 65_536
"""The numbers of one answer: bins times parts, half a megabyte at 8 bytes each."""
MOST_NAMES_BYTES = 1 << 18
"""The names of all districts, or of all categories, of one question."""
MOST_POINTS = 2_000
MOST_DISTRICT_POINTS = 20_000
MOST_MEMBERS = 2_000
MOST_NAME = 64
MOST_TEXT = 200
MOST_FRAME = 1 << 19
MOST_DEALT = 1 << 17
"""The shares that a member of a masked group deals or tells in a round, in bytes."""
MOST_RELAYS = 1_024
"""The frames of comparisons that travel together."""


def require(true: bool, what: str) -> None:
    """Refuse a message that breaks a rule; the rule is told, never what was sent."""
    if not true:
        raise ProtocolViolation(what)


def require_id(name: bytes) -> None:
    require(len(name) == ID_BYTES, f"a round has an id of {ID_BYTES} bytes")


def require_agreed(digest: bytes) -> None:
    require(len(digest) in (0, AGREED_BYTES), f"what was agreed on has a digest of {AGREED_BYTES} bytes")


def require_signatures(signatures: list[bytes], members: int) -> None:
    require(len(signatures) == members, "every member signs what it says for a group")
    require(all(len(each) == SIGNATURE_BYTES for each in signatures), f"a signature has {SIGNATURE_BYTES} bytes")


def require_text(name: str) -> None:
    require(0 < len(name) <= MOST_NAME, f"a name has 1 to {MOST_NAME} characters")


def require_words(numbers: list[int]) -> None:
    require(all(-(1 << 63) <= number < 1 << 63 for number in numbers), "a sum fits 64 bits")
