from __future__ import annotations

import copy
import hashlib
import hmac
import pickle

import numpy as np
import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.secure.pair_keys import OwnerKey, agree, agreed_secrets, simulated_secrets

# RFC 7748, section 6.1.
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")

FIELD_PRIME = 2**255 - 19
LOW_ORDER = [
    0,
    1,
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
    FIELD_PRIME - 1,
]


def keys(count: int) -> list[OwnerKey]:
    return [OwnerKey(hashlib.sha256(b"%d" % i).digest()) for i in range(count)]


def test_a_secret_is_the_hkdf_of_the_shared_value_and_both_public_keys():
    alice, bob = OwnerKey(ALICE), OwnerKey(BOB)
    assert bob.public == BOB_PUBLIC
    info = b"fedgroup pair secret v1" + min(alice.public, bob.public) + max(alice.public, bob.public)
    extracted = hmac.digest(bytes(32), SHARED, "sha256")
    assert agree(alice, bob.public) == hmac.digest(extracted, info + b"\x01", "sha256")[:16]


def test_both_owners_agree_on_a_secret_that_others_do_not_have():
    one, two, three = keys(3)
    assert agree(one, two.public) == agree(two, one.public)
    assert len({agree(one, two.public), agree(one, three.public), agree(two, three.public)}) == 3


def test_all_pairs_agree_in_bulk_as_they_do_alone():
    owners = keys(6)
    first, second = (side.astype(np.int32) for side in np.triu_indices(6, 1))
    agreed = agreed_secrets(owners, first, second)
    assert agreed.shape == (15, 16)
    assert [row.tobytes() for row in agreed] == [
        agree(owners[j], owners[i].public) for i, j in zip(first, second, strict=True)
    ]


def test_no_pairs_have_no_secrets():
    none = np.empty(0, dtype=np.int32)
    assert agreed_secrets(keys(1), none, none).shape == (0, 16)
    assert simulated_secrets(b"h" * 32, none, none).shape == (0, 16)


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_point_of_low_order_is_a_violation(point):
    with pytest.raises(ProtocolViolation):
        agree(OwnerKey(ALICE), point.to_bytes(32, "little"))


@pytest.mark.parametrize("point", [FIELD_PRIME, FIELD_PRIME + 1, FIELD_PRIME + 9, 2**255 + 9, 2**256 - 1])
def test_a_second_spelling_of_a_point_is_a_violation(point):
    with pytest.raises(ProtocolViolation):
        agree(OwnerKey(ALICE), point.to_bytes(32, "little"))


@pytest.mark.parametrize("theirs", [b"", b"short", BOB_PUBLIC + b"\x00", OwnerKey(ALICE).public])
def test_anything_but_another_owners_key_is_a_violation(theirs):
    with pytest.raises(ProtocolViolation):
        agree(OwnerKey(ALICE), theirs)


def test_a_fresh_key_takes_its_bytes_from_the_given_source():
    assert OwnerKey.fresh(lambda count: ALICE[:count]).public == OwnerKey(ALICE).public
    assert OwnerKey.fresh().public != OwnerKey.fresh().public


def test_a_private_key_neither_prints_nor_travels():
    key = OwnerKey(ALICE)
    assert repr(key) == str(key) == "OwnerKey(<private>)"
    for way_out in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            way_out(key)


def test_simulated_secrets_differ_by_pair_and_host_but_not_by_side():
    first, second = (side.astype(np.int32) for side in np.triu_indices(200, 1))
    simulated = simulated_secrets(b"h" * 32, first, second)
    assert len(np.unique(simulated, axis=0)) == len(first)
    assert np.array_equal(simulated, simulated_secrets(b"h" * 32, second, first))
    assert not (simulated == simulated_secrets(b"g" * 32, first, second)).all(axis=1).any()


@pytest.mark.parametrize(
    "bad",
    [
        lambda: OwnerKey(b"short"),
        lambda: simulated_secrets(b"short", np.zeros(1, np.int32), np.ones(1, np.int32)),
        lambda: simulated_secrets(b"h" * 32, np.zeros(1, np.int32), np.ones(2, np.int32)),
    ],
)
def test_short_secrets_and_half_pairs_are_invalid(bad):
    with pytest.raises(InvalidInput):
        bad()
