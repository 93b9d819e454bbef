"""What live roles say to each other on a wire. Plain values only, checked at birth: whoever decodes, checks.

    provider -> owner    Describe, Offer, Reveal, Seal, Ask, Go, Unmask, Check, Balance, Relay, RelayMany, Recall,
                         Leave, Agreed, Chain
    owner -> provider    Described, Accepted, Revealed, Sealed, Noisy, Ready, Masked, Vouched, Unmasked, Checked, Left,
                         Relayed, RelayedMany, Recalled, Refused, Seen
    owner -> owner       Letter, sealed end to end: broker and provider see ciphertext only
    anyone               Presence, retained: an owner is here or gone

A round id names one release for ever: a repeat gets the bytes of the first time, or a refusal. Refusals say why in one
of `REASONS`, none of which tells anything about records.
"""

from __future__ import annotations

from typing import get_args

from fedgroup.messages.asked import (
    Agreed,
    Ask,
    Balance,
    Check,
    Describe,
    Go,
    Leave,
    Offer,
    Recall,
    Relay,
    RelayMany,
    Reveal,
    Seal,
    Unmask,
)
from fedgroup.messages.logged import Chain, Seen
from fedgroup.messages.said import (
    Accepted,
    Checked,
    Described,
    Left,
    Letter,
    Masked,
    Noisy,
    Presence,
    Ready,
    Recalled,
    Refused,
    Relayed,
    RelayedMany,
    Revealed,
    Sealed,
    Unmasked,
    Vouched,
)

ToOwner = (
    Describe | Offer | Reveal | Seal | Ask | Go | Unmask | Check | Balance | Relay | RelayMany | Recall | Leave | Agreed
    | Chain | Letter
)  # fmt: skip
FromOwner = (
    Described | Accepted | Revealed | Sealed | Noisy | Ready | Masked | Vouched | Unmasked | Checked | Left | Relayed
    | RelayedMany | Recalled | Refused | Seen
)  # fmt: skip

WIRE: dict[str, type] = {one.__name__: one for one in (*get_args(ToOwner), *get_args(FromOwner), Presence)}
"""Every class that may be decoded, by the name it travels under."""
