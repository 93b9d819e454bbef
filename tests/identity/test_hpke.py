from __future__ import annotations

import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.identity.hpke import Opening, Sealing, open_, seal
from fedgroup.secure.pair_keys import OwnerKey

# RFC 9180, appendix A.2.3: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305, mode_auth, sequence number 0.
INFO = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
PLAIN = bytes.fromhex("4265617574792069732074727574682c20747275746820626561757479")
AAD = bytes.fromhex("436f756e742d30")
EPHEMERAL = OwnerKey(bytes.fromhex("c94619e1af28971c8fa7957192b7e62a71ca2dcdde0a7cc4a8a9e741d600ab13"))
RECEIVER = OwnerKey(bytes.fromhex("3ca22a6d1cda1bb9480949ec5329d3bf0b080ca4c45879c95eddb55c70b80b82"))
SENDER = OwnerKey(bytes.fromhex("2def0cb58ffcf83d1062dd085c8aceca7f4c0c3fd05912d847b61f3e54121f05"))
ENC = bytes.fromhex("f7674cc8cd7baa5872d1f33dbaffe3314239f6197ddf5ded1746760bfc847e0e")
CIPHERTEXT = bytes.fromhex("ab1a13c9d4f01a87ec3440dbd756e2677bd2ecf9df0ce7ed73869b98e00c09be111cb9fdf077347aeb88e61bdf")


def test_the_published_vector_is_sealed_and_opened():
    sealed = seal(SENDER, RECEIVER.public, info=INFO, plain=PLAIN, aad=AAD, ephemeral=EPHEMERAL)
    assert sealed == ENC + CIPHERTEXT
    assert open_(RECEIVER, SENDER.public, info=INFO, sealed=sealed, aad=AAD) == PLAIN


# The same, sequence numbers 1, 2 and 255; the additional data are "Count-" and the number.
SERIES = {
    0: CIPHERTEXT.hex(),
    1: "3265c7807ffff7fdace21659a2c6ccffee52a26d270c76468ed74202a65478bfaedfff9c2b7634e24f10b71016",
    2: "3aadee86ad2a05081ea860033a9d09dbccb4acac2ded0891da40f51d4df19925f7a767b076a5cbc9355c8fd35e",
    255: "652e597ba20f3d9241cda61f33937298b1169e6adf72974bbe454297502eb4be132e1c5064702fc165c2ddbde8",
}


def test_the_published_series_is_sealed_and_opened():
    sealing = Sealing(SENDER, RECEIVER.public, info=INFO, ephemeral=EPHEMERAL)
    opening = Opening(RECEIVER, SENDER.public, info=INFO)
    sealed = [sealing.seal(PLAIN, aad=f"Count-{number}".encode()) for number in range(256)]
    assert sealed[0][:32] == ENC
    assert {number: sealed[number].hex().removeprefix(ENC.hex()) for number in SERIES} == SERIES
    assert all(opening.open(each, aad=f"Count-{number}".encode()) == PLAIN for number, each in enumerate(sealed))


def test_a_message_of_a_series_opens_once_and_in_its_turn_only():
    sealing, opening = Sealing(SENDER, RECEIVER.public, info=INFO), Opening(RECEIVER, SENDER.public, info=INFO)
    first, second, third = (sealing.seal(PLAIN) for _ in range(3))
    for early in (second, third, b""):
        with pytest.raises(ProtocolViolation):
            opening.open(early)
    assert opening.open(first) == PLAIN
    for wrong in (first, first[32:], third, b"", second[:-1]):
        with pytest.raises(ProtocolViolation):
            opening.open(wrong)
    assert [opening.open(second), opening.open(third)] == [PLAIN, PLAIN]


def test_two_seals_of_one_text_have_nothing_in_common():
    one, two = (seal(SENDER, RECEIVER.public, info=INFO, plain=PLAIN) for _ in range(2))
    assert one[:32] != two[:32]
    assert one[32:] != two[32:]


@pytest.mark.parametrize("low_order", [0, 1, 2**255 - 20])
def test_points_of_low_order_open_nothing(low_order):
    point = low_order.to_bytes(32, "little")
    for sender, enc in ((SENDER.public, point), (point, ENC)):
        with pytest.raises(ProtocolViolation):
            open_(RECEIVER, sender, info=INFO, sealed=enc + CIPHERTEXT, aad=AAD)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 47, 48])
def test_what_is_too_short_opens_nothing(length):
    with pytest.raises(ProtocolViolation):
        open_(RECEIVER, SENDER.public, info=INFO, sealed=(ENC + CIPHERTEXT)[:length], aad=AAD)
