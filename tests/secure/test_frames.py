from __future__ import annotations

import hashlib
import struct

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.frames import Frame, FrameKey, Incoming, Outgoing

SESSION = b"s" * 32
OWN, THEIRS = (X25519PrivateKey.from_private_bytes(bytes([side]) * 32) for side in (1, 2))


def public(key: X25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def keyed(*, session: bytes = SESSION, opening: bytes = b"hello", side: int = 1) -> tuple[Outgoing, Incoming]:
    """One direction, the receiving end always of `SESSION`."""
    outgoing, incoming = Outgoing(side), Incoming(1)
    outgoing.key = FrameKey(OWN, public(THEIRS), session=session, opening=opening)
    incoming.key = FrameKey(THEIRS, public(OWN), session=SESSION, opening=b"hello")
    return outgoing, incoming


def plain() -> tuple[Outgoing, Incoming]:
    return Outgoing(1), Incoming(1)


@pytest.mark.parametrize("ends", [plain, keyed])
def test_frames_arrive_as_they_were_sent(ends):
    outgoing, incoming = ends()
    for number, payload in enumerate([b"", b"x", b"y" * 1000]):
        assert incoming.open(outgoing.seal(3, number, payload)) == Frame(3, number, payload)


@pytest.mark.parametrize("ends", [plain, keyed])
def test_every_flipped_bit_is_a_violation_and_changes_nothing(ends):
    outgoing, incoming = ends()
    sealed = outgoing.seal(3, 0, b"payload")
    for at in range(8 * len(sealed)):
        altered = bytearray(sealed)
        altered[at // 8] ^= 1 << at % 8
        with pytest.raises(ProtocolViolation):
            incoming.open(bytes(altered))
    assert incoming.open(sealed).payload == b"payload"


@pytest.mark.parametrize("ends", [plain, keyed])
def test_a_cut_or_longer_frame_is_a_violation(ends):
    outgoing, incoming = ends()
    sealed = outgoing.seal(3, 0, b"payload")
    for changed in [sealed[:size] for size in range(len(sealed))] + [sealed + b"\x00", b"\x00" + sealed]:
        with pytest.raises(ProtocolViolation):
            incoming.open(changed)


@pytest.mark.parametrize("ends", [plain, keyed])
def test_a_replayed_or_reordered_frame_is_a_violation(ends):
    outgoing, incoming = ends()
    first, second = (outgoing.seal(3, batch, b"payload") for batch in (0, 1))
    for sealed, fine in [(second, False), (first, True), (first, False), (second, True), (second, False)]:
        if fine:
            incoming.open(sealed)
        else:
            with pytest.raises(ProtocolViolation):
                incoming.open(sealed)


@pytest.mark.parametrize("foreign", [{"session": b"t" * 32}, {"opening": b"hallo"}, {"side": 2}])
def test_a_frame_of_another_session_opening_or_direction_is_a_violation(foreign):
    outgoing, incoming = keyed(**foreign)
    with pytest.raises(ProtocolViolation):
        incoming.open(outgoing.seal(3, 0, b"payload"))


def test_a_digest_is_no_tag():
    _, incoming = keyed()
    data = struct.pack(">4sBIQI", b"FGS2", 3, 0, 0, 1) + b"x"
    with pytest.raises(ProtocolViolation):
        incoming.open(data + hashlib.sha256(data).digest()[:16])


@pytest.mark.parametrize("theirs", [bytes(32), (1).to_bytes(32, "little"), b"", b"short", public(THEIRS) + b"x"])
def test_a_key_of_low_order_or_length_is_a_violation(theirs):
    with pytest.raises(ProtocolViolation):
        FrameKey(OWN, theirs, session=SESSION, opening=b"")


def test_after_a_violation_by_the_other_side_itself_nothing_is_opened():
    outgoing, incoming = keyed()
    incoming.open(outgoing.seal(3, 0, b""))
    with pytest.raises(ProtocolViolation), incoming.closed_by_violation():
        raise ProtocolViolation("not due")
    with pytest.raises(ProtocolViolation):
        incoming.open(outgoing.seal(3, 0, b""))


def test_a_frame_does_not_print_what_it_holds():
    assert repr(Frame(3, 1, b"secret")) == "Frame(kind=3, batch=1, 6 bytes)"
