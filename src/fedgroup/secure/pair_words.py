"""What the two members of a pair know of a round: a key, and pads for the shares that each deals to the other.

They are the masks of the pair's secret under a context (`masking.pair_masks`): two words of a key, then two pads of
four words, of which shares take 20 bytes: the lower dealer's, then the higher one's. Under the round's own context they
are the round key and the pads of shares of box keys; under that of a round's roster, the pads of shares of seeds. A
member boxes its round keys by masks of its box key, one for each neighbour.

Requires:  pair secrets that only the two know; contexts that stand for one group and one round, or for these and one
           roster, and are public; a box key that is used for nothing else, in one round.
Guarantee: no word is used twice: each dealer has its own pads, each for one share, so who lacks the pair secret learns
           nothing about shares and keys from what is dealt. What is opened as a share of the one secret is not the
           other one's, nor one that was dealt for another roster: the pad decides.
Proof:     docs/guarantees.md#members-that-fall-silent
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from fedgroup.secure import fused_masks
from fedgroup.secure.masking import Secrets, blocks_of, pair_masks, round_keys_of
from fedgroup.secure.pair_keys import SECRET_BYTES
from fedgroup.secure.sharing import SHARE_BYTES
from fedgroup.secure.signatures import statement

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.uint8]
Halves = npt.NDArray[np.uint32]

DEALT_BYTES = SHARE_BYTES + SECRET_BYTES
"""What is dealt for each neighbour before a roster is fixed: a share of the box key, and the boxed round key."""

_KEY_WORDS, _PAD_WORDS = 2, 4


def context_of(label: str, *facts: bytes) -> bytes:
    """Return the context that stands for some facts, under a label."""
    return hashlib.sha256(statement(label, *facts)).digest()


_BOX = context_of("boxed keys")


def keys_with(secrets: Secrets, context: bytes) -> Secrets:
    """Return the key of a round with each neighbour, a row for each."""
    cipher = round_keys_of(context)
    if cipher is None:
        return _as_bytes(pair_masks(secrets, context, words=_KEY_WORDS))
    return fused_masks.keys_with(blocks_of(secrets), cipher).view(np.uint8)


def dealt_to(secrets: Secrets, context: bytes, *, higher: Flags, shares: Halves, box_key: Secrets) -> bytes:
    """Return what a member deals: `DEALT_BYTES` for each neighbour, in their order.

    `shares` has one of the box key for each neighbour; `higher` tells where the member is above its neighbour.
    """
    cipher, box = round_keys_of(context), round_keys_of(_BOX)
    if cipher is None or box is None:
        hidden = np.frombuffer(sealed_to(secrets, context, higher=higher, shares=shares), dtype=np.uint8)
        boxed = keys_with(secrets, context) ^ box_pads(box_key, len(secrets))
        return np.concatenate([hidden.reshape(-1, SHARE_BYTES), boxed], axis=1).tobytes()
    return fused_masks.dealt_to(blocks_of(secrets), cipher, higher, shares, blocks_of(box_key), box).tobytes()


def sealed_to(secrets: Secrets, context: bytes, *, higher: Flags, shares: Halves) -> bytes:
    """Return shares, one for each neighbour, each under this member's pad of the pair."""
    cipher = round_keys_of(context)
    if cipher is None:
        pads = _pads(secrets, context)[np.arange(len(secrets)), higher, :SHARE_BYTES]
        return (shares.astype("<u4").view(np.uint8) ^ pads).tobytes()
    return fused_masks.sealed_to(blocks_of(secrets), cipher, higher, shares).tobytes()


def opened_by(
    secrets: Secrets, *, of_seeds: bytes, of_boxes: bytes, higher: Flags, of_box: Flags, sealed: bytes
) -> bytes:
    """Return the shares that neighbours dealt to a member, opened: of the box key where `of_box`, else of the seed.

    Each kind is opened under a context of its own.

    Requires:  `sealed` has a share for each neighbour, in their order.
    """
    seeds, boxes = round_keys_of(of_seeds), round_keys_of(of_boxes)
    if seeds is None or boxes is None:
        pads = np.where(of_box[:, None, None], _pads(secrets, of_boxes), _pads(secrets, of_seeds))
        pads = pads[np.arange(len(secrets)), 1 - higher, :SHARE_BYTES]
        return (np.frombuffer(sealed, dtype=np.uint8).reshape(-1, SHARE_BYTES) ^ pads).tobytes()
    words = np.frombuffer(sealed, dtype="<u4").reshape(len(secrets), -1)
    return fused_masks.opened_by(blocks_of(secrets), seeds, boxes, higher, of_box, words).tobytes()


def box_pads(box_key: Secrets, neighbours: int) -> Bytes:
    """Return what boxes the round keys of a member, a row for each neighbour."""
    return _as_bytes(pair_masks(box_key, _BOX, words=_KEY_WORDS * neighbours)).reshape(neighbours, SECRET_BYTES)


def _pads(secrets: Secrets, context: bytes) -> Bytes:
    """Return the pads of each pair: that of the lower dealer, and that of the higher one."""
    words = pair_masks(secrets, context, words=_KEY_WORDS + 2 * _PAD_WORDS)
    return _as_bytes(words)[:, SECRET_BYTES:].reshape(-1, 2, 8 * _PAD_WORDS)


def _as_bytes(words: npt.NDArray[np.uint64]) -> Bytes:
    return np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8).reshape(len(words), -1)
