"""Secure similarity of two owners: neither learns anything, and the provider, given a share from each, one bit a pair.

Two state machines that speak in frames and know no sockets: what `start`, `submit` and `receive` return is sent to the
other side, whatever carries it. Batches may overlap: a side can submit the next one before the last is decided. The
first owner submits a batch before the second's frame about it comes. Frames that are not the other side's are refused
and change nothing; one that is, and breaks the protocol, ends the session.

    second -> first   HELLO     its keys and curve point
    first  -> second  CHOICES   its keys and 64 points                  (base transfers)
    second -> first   TREES     seeds, all but one of each tree         (extension)
    for each batch:
    second -> first   COUNTS    hides the bits of its counts
    first  -> second  PRODUCTS  inner products, shared
    second -> first   SHARES    hides the bits of its shares
    first  -> second  GATES     garbled comparison

Requires:  both follow the protocol (semi-honest); a session id is used once; counts are not negative.
Guarantee: what a side sees is computable from its own input and the public parameters; the two shares of a bit are
           each uniform. Against a side that deviates nothing is promised.
Proof:     docs/guarantees.md#secure-similarity
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.base_ot import BaseReceiver, BaseSender, Entropy
from fedgroup.secure.bitmatrix import packed_bits
from fedgroup.secure.comparison import SESSION_BYTES, Counts, SecureComparison
from fedgroup.secure.edwards import POINT_BYTES
from fedgroup.secure.extension import correction_bytes, padded_rows, receive_rows, secret_block, send_rows
from fedgroup.secure.frames import MOST_PAYLOAD, Frame, FrameKey, Incoming, Outgoing
from fedgroup.secure.inner_product import Ring, receiver_share, sender_share
from fedgroup.secure.permutation import Blocks, Permutation, blocks_of
from fedgroup.secure.seed_trees import (
    BLOCKS,
    OPENING_BYTES,
    PATHS,
    SEALED_BYTES,
    TRANSFERS,
    choices_of,
    grow,
    grow_punctured,
    sealed_sums,
)
from fedgroup.secure.sign import GATES, RING_BITS, Bits, evaluate, garble

MOST_PAIRS = 4096
"""The most pairs of a batch."""

_KEY_BYTES = 32
_NONCE_BYTES = 16
_HELLO, _CHOICES, _TREES, _COUNTS, _PRODUCTS, _SHARES, _GATES = range(1, 8)
_FIRST, _SECOND = 1, 2
_GATE_TWEAKS = 1 << 63


def opened(first: Bits, second: Bits) -> npt.NDArray[np.bool_]:
    """Return the bits that two owners' shares stand for: what the provider learns."""
    if first.shape != second.shape or ((first | second) > 1).any():
        raise ProtocolViolation("both owners send one share, 0 or 1, per pair")
    return (first ^ second).astype(np.bool_)


@dataclass(frozen=True)
class _Place:
    """Where a batch reads its streams, and which tweaks are its own: nothing is used twice in a session."""

    pairs: int
    product_counter: int
    share_counter: int
    product_tweak: int
    gate_tweak: int


class _Places:
    """Hands out places, the same on both sides, since both submit batches of the same sizes in the same order."""

    def __init__(self, comparison: SecureComparison) -> None:
        self._comparison = comparison
        self._counter = 0
        self._rows = 0
        self._gates = 0
        self.batches: list[_Place] = []

    def add(self, pairs: int) -> _Place:
        """Return the next batch's place."""
        if not 1 <= pairs <= MOST_PAIRS:
            raise InvalidInput(f"a batch has 1 to {MOST_PAIRS} pairs, got {pairs}")
        rows = product_rows(self._comparison, pairs)
        if max(correction_bytes(rows), 4 * rows) > MOST_PAYLOAD:
            raise InvalidInput(f"{pairs} pairs make frames of more than {MOST_PAYLOAD} bytes; submit smaller batches")
        products, shares = padded_rows(rows) // 128, padded_rows(pairs * RING_BITS) // 128
        place = _Place(pairs, self._counter, self._counter + products, self._rows, _GATE_TWEAKS + self._gates)
        self._counter += products + shares
        self._rows += padded_rows(rows)
        self._gates += 2 * GATES * pairs
        self.batches.append(place)
        return place


def product_rows(comparison: SecureComparison, pairs: int) -> int:
    """Return how many transfers the inner products of a batch take: one per bit of the second side's counts."""
    return pairs * comparison.cells * comparison.width


class _Side:
    """What both sides have in common: frames, the order of batches, and the shares that come out."""

    def __init__(self, comparison: SecureComparison, session: bytes, *, entropy: Entropy, side: int) -> None:
        if len(session) != SESSION_BYTES:
            raise InvalidInput(f"a session id has {SESSION_BYTES} bytes; make it with SecureComparison.session")
        self.comparison = comparison
        self.shares: dict[int, Bits] = {}
        self._session = session
        self._entropy = entropy
        self._outgoing = Outgoing(side)
        self._incoming = Incoming(_FIRST + _SECOND - side)
        self._places = _Places(comparison)
        self._own = X25519PrivateKey.from_private_bytes(entropy(32))
        self._permutation: Permutation | None = None

    @property
    def _pi(self) -> Permutation:
        if self._permutation is None:
            raise ProtocolViolation("a batch came before the session was set up")
        return self._permutation

    def _agree(self, theirs: bytes, opening: bytes, nonces: bytes) -> FrameKey:
        self._permutation = Permutation(
            hashlib.sha256(b"fedgroup permutation v1" + self._session + nonces).digest()[:16]
        )
        return FrameKey(self._own, theirs, session=self._session, opening=opening)

    def _require_counts(self, counts: Counts) -> None:
        shaped = counts.ndim == 2 and counts.shape[1] == self.comparison.cells and counts.dtype.kind in "iu"
        if not shaped or (counts.size and counts.min() < 0):
            raise InvalidInput(f"a batch holds one row of {self.comparison.cells} whole counts per pair, none negative")


class FirstOwner(_Side):
    """The side that holds unit vectors and garbles."""

    def __init__(self, comparison: SecureComparison, session: bytes, *, entropy: Entropy = secrets.token_bytes) -> None:
        super().__init__(comparison, session, entropy=entropy, side=_FIRST)
        nibbles = entropy(BLOCKS)
        # The lowest bit of the secret is 1: it is the offset of all labels, whose colours must differ.
        self._secret = [byte & 15 | (1 if i == 0 else 0) for i, byte in enumerate(nibbles)]
        self._base: BaseReceiver | None = None
        self._leaves: Blocks | None = None
        self._vectors: dict[int, Ring] = {}
        self._products: dict[int, Ring] = {}

    def submit(self, counts: Counts) -> list[bytes]:
        """Take a batch of count vectors; the other side speaks first, so there is nothing to send."""
        self._require_counts(counts)
        batch = len(self._places.batches)
        self._places.add(len(counts))
        self._vectors[batch] = self.comparison.unit_vectors(counts)
        return []

    def receive(self, data: bytes) -> list[bytes]:
        """Take a frame and return what is to be sent."""
        frame = self._incoming.open(data)
        with self._incoming.closed_by_violation():
            if frame.kind == _HELLO and self._base is None:
                return [self._answer_hello(frame, data)]
            if frame.kind == _TREES and self._base is not None and self._leaves is None:
                return self._take_trees(frame)
            if frame.kind == _COUNTS and frame.batch in self._vectors:
                return [self._multiply(frame)]
            if frame.kind == _SHARES and frame.batch in self._products:
                return [self._garble(frame)]
            raise ProtocolViolation("a frame of this kind is not due")

    def _answer_hello(self, frame: Frame, data: bytes) -> bytes:
        _require_size(frame, _KEY_BYTES + _NONCE_BYTES + POINT_BYTES)
        theirs, nonce = frame.payload[:_KEY_BYTES], frame.payload[_KEY_BYTES : _KEY_BYTES + _NONCE_BYTES]
        own_nonce = self._entropy(_NONCE_BYTES)
        key = self._agree(theirs, data, nonce + own_nonce)
        self._base = BaseReceiver(
            self._session,
            choices_of(self._secret),
            sender_point=frame.payload[_KEY_BYTES + _NONCE_BYTES :],
            entropy=self._entropy,
            size=OPENING_BYTES,
        )
        self._outgoing.key = self._incoming.key = key
        own = self._own.public_key().public_bytes_raw()
        return self._outgoing.seal(_CHOICES, 0, own + own_nonce + self._base.points)

    def _take_trees(self, frame: Frame) -> list[bytes]:
        _require_size(frame, SEALED_BYTES)
        assert self._base is not None  # noqa: S101  the caller looked
        self._leaves = grow_punctured(self._secret, self._base.keys, frame.payload, self._pi)
        return []

    def _rows(self, frame: Frame, rows: int, counter: int) -> Blocks:
        _require_size(frame, correction_bytes(rows))
        if self._leaves is None:
            raise ProtocolViolation("a batch came before the session was set up")
        sent = send_rows(self._leaves, self._secret, frame.payload, counter=counter, permutation=self._pi)
        return sent[:rows]

    def _multiply(self, frame: Frame) -> bytes:
        place = self._places.batches[frame.batch]
        rows = self._rows(frame, product_rows(self.comparison, place.pairs), place.product_counter)
        corrections, share = sender_share(
            self._vectors.pop(frame.batch),
            rows,
            secret_block(self._secret),
            width=self.comparison.width,
            tweak=place.product_tweak,
            permutation=self._pi,
        )
        self._products[frame.batch] = share
        return self._outgoing.seal(_PRODUCTS, frame.batch, corrections.tobytes())

    def _garble(self, frame: Frame) -> bytes:
        place = self._places.batches[frame.batch]
        rows = self._rows(frame, place.pairs * RING_BITS, place.share_counter)
        seed = self._entropy(16)
        tables, colours = garble(
            self._products.pop(frame.batch),
            rows,
            secret_block(self._secret),
            seed=seed,
            tweak=place.gate_tweak,
            permutation=self._pi,
        )
        # The sign is 1 for "no": flipping one share makes the opened bit "yes".
        self.shares[frame.batch] = colours ^ np.uint8(1)
        return self._outgoing.seal(_GATES, frame.batch, seed + tables.tobytes())


class SecondOwner(_Side):
    """The side that holds counts and evaluates."""

    def __init__(self, comparison: SecureComparison, session: bytes, *, entropy: Entropy = secrets.token_bytes) -> None:
        super().__init__(comparison, session, entropy=entropy, side=_SECOND)
        self._base = BaseSender(session, entropy=entropy)
        self._nonce = entropy(_NONCE_BYTES)
        self._opening = b""
        self._leaves: Blocks | None = None
        self._counts: dict[int, Ring] = {}
        self._product_rows: dict[int, Blocks] = {}
        self._share_rows: dict[int, Blocks] = {}

    def start(self) -> list[bytes]:
        """Return the opening frame, the same however often it is asked for."""
        own = self._own.public_key().public_bytes_raw()
        self._opening = self._opening or self._outgoing.seal(_HELLO, 0, own + self._nonce + self._base.point)
        return [self._opening]

    def submit(self, counts: Counts) -> list[bytes]:
        """Take a batch of count vectors and return what is to be sent."""
        self._require_counts(counts)
        batch = len(self._places.batches)
        self._places.add(len(counts))
        self._counts[batch] = self.comparison.scaled_counts(counts)
        return [] if self._leaves is None else [self._hide_counts(batch)]

    def receive(self, data: bytes) -> list[bytes]:
        """Take a frame and return what is to be sent."""
        if self._leaves is None:
            self._learn_key(self._incoming.peek(data))
        frame = self._incoming.open(data)
        with self._incoming.closed_by_violation():
            if self._leaves is None:
                return self._set_up(frame)
            if frame.kind == _PRODUCTS and frame.batch in self._product_rows:
                return [self._hide_shares(frame)]
            if frame.kind == _GATES and frame.batch in self._share_rows:
                return self._evaluate(frame)
            raise ProtocolViolation("a frame of this kind is not due")

    def _learn_key(self, frame: Frame) -> None:
        """Make the key that the first frame names; whether that frame is to be believed, the key itself decides."""
        if frame.kind != _CHOICES or not self._opening:
            raise ProtocolViolation("a frame of this kind is not due")
        _require_size(frame, _KEY_BYTES + _NONCE_BYTES + TRANSFERS * POINT_BYTES)
        nonce = frame.payload[_KEY_BYTES : _KEY_BYTES + _NONCE_BYTES]
        key = self._agree(frame.payload[:_KEY_BYTES], self._opening, self._nonce + nonce)
        self._incoming.key = self._outgoing.key = key

    def _set_up(self, frame: Frame) -> list[bytes]:
        keys = self._base.keys(frame.payload[_KEY_BYTES + _NONCE_BYTES :], among=PATHS, size=OPENING_BYTES)
        leaves, sums = grow(blocks_of(self._entropy(16 * BLOCKS)), self._pi)
        self._leaves = leaves
        trees = self._outgoing.seal(_TREES, 0, sealed_sums(sums, keys))
        return [trees, *(self._hide_counts(batch) for batch in sorted(self._counts))]

    def _hide_counts(self, batch: int) -> bytes:
        place = self._places.batches[batch]
        counts, width = self._counts[batch], self.comparison.width
        correction, self._product_rows[batch] = self._rows(counts, width, place.product_counter)
        return self._outgoing.seal(_COUNTS, batch, correction)

    def _rows(self, values: Ring, width: int, counter: int) -> tuple[bytes, Blocks]:
        """Return what hides the lowest `width` bits of all values, and the rows that go with them."""
        assert self._leaves is not None  # noqa: S101  set up before any batch is hidden
        bits = values.size * width
        choices = packed_bits(values, width, padded_rows(bits) // 64)
        correction, rows = receive_rows(self._leaves, choices, counter=counter, permutation=self._pi)
        return correction, rows[:bits]

    def _hide_shares(self, frame: Frame) -> bytes:
        place = self._places.batches[frame.batch]
        _require_size(frame, 4 * product_rows(self.comparison, place.pairs))
        counts = self._counts.pop(frame.batch)
        share = receiver_share(
            counts,
            self._product_rows.pop(frame.batch),
            np.frombuffer(frame.payload, dtype="<u4"),
            width=self.comparison.width,
            tweak=place.product_tweak,
            permutation=self._pi,
        )
        excess = share - self.comparison.limits(counts) - np.uint32(1)
        correction, self._share_rows[frame.batch] = self._rows(excess, RING_BITS, place.share_counter)
        return self._outgoing.seal(_SHARES, frame.batch, correction)

    def _evaluate(self, frame: Frame) -> list[bytes]:
        place = self._places.batches[frame.batch]
        _require_size(frame, 16 + GATES * 2 * place.pairs * 16)
        tables = np.frombuffer(frame.payload, dtype="<u8", offset=16).reshape(GATES, 2, place.pairs, 2)
        self.shares[frame.batch] = evaluate(
            self._share_rows.pop(frame.batch),
            tables,
            seed=frame.payload[:16],
            tweak=place.gate_tweak,
            permutation=self._pi,
        )
        return []


def _require_size(frame: Frame, size: int) -> None:
    if len(frame.payload) != size:
        raise ProtocolViolation("a frame does not have the size of its kind")
