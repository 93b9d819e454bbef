from __future__ import annotations

import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.identity.hpke import open_, seal
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
