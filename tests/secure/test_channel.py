from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import ProtocolViolation
from fedgroup.secure.channel import FRAME, FRAME_BYTES, Session, binding, owners_side, providers_side, session_of
from fedgroup.secure.pair_keys import OwnerKey

PROVIDER, OWNER = OwnerKey(b"p" * 32), OwnerKey(b"o" * 32)
BOUND = binding(b"city", b"certificate of the provider", b"certificate of ann")


def session(bound: bytes = BOUND, owners_bound: bytes | None = None) -> tuple[Session, Session]:
    """The provider's and the owner's side of a new session."""
    of_provider, of_owner = OwnerKey.fresh(), OwnerKey.fresh()
    return (
        providers_side(PROVIDER, of_provider, owner=OWNER.public, owners_fresh=of_owner.public, bound=bound),
        owners_side(
            OWNER, of_owner, provider=PROVIDER.public, providers_fresh=of_provider.public, bound=owners_bound or bound
        ),
    )


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_what_one_side_seals_the_other_opens(said: list[bytes]) -> None:
    provider, owner = session()
    assert [owner.open(provider.seal(each)) for each in said] == said
    assert [provider.open(owner.seal(each)) for each in said] == said


def test_no_frame_opens_twice_or_after_a_later_one() -> None:
    provider, owner = session()
    first, second = provider.seal(b"one"), provider.seal(b"two")
    assert owner.open(second) == b"two"
    for old in (second, first):
        with pytest.raises(ProtocolViolation, match="once"):
            owner.open(old)


@given(st.integers(0, FRAME_BYTES + 4), st.integers(1, 255))
def test_a_changed_frame_does_not_open_and_changes_nothing(place: int, change: int) -> None:
    provider, owner = session()
    frame = bytearray(provider.seal(b"frame"))
    frame[place] ^= change
    with pytest.raises(ProtocolViolation):
        owner.open(bytes(frame))
    assert owner.open(provider.seal(b"next")) == b"next"


def test_a_frame_opens_on_the_other_side_of_its_own_session_only() -> None:
    (provider, owner), (_, elsewhere) = session(), session()
    frame = provider.seal(b"words")
    renamed = FRAME + elsewhere.id + frame[len(FRAME) + len(elsewhere.id) :]
    for other, given_ in ((provider, frame), (elsewhere, frame), (elsewhere, renamed)):
        with pytest.raises(ProtocolViolation):
            other.open(given_)
    assert owner.open(frame) == b"words"


def test_sides_that_speak_of_other_parties_have_other_keys() -> None:
    provider, owner = session(owners_bound=binding(b"city", b"certificate of the provider", b"certificate of bob"))
    assert provider.id != owner.id


@pytest.mark.parametrize("place", ["fresh", "certified"])
def test_without_a_certified_key_there_is_no_session(place: str) -> None:
    """Who has neither the provider's key nor the fresh one that the owner saw makes other keys."""
    of_provider, of_owner, thief = OwnerKey.fresh(), OwnerKey.fresh(), OwnerKey.fresh()
    owner = owners_side(OWNER, of_owner, provider=PROVIDER.public, providers_fresh=of_provider.public, bound=BOUND)
    own, fresh = (PROVIDER, thief) if place == "fresh" else (thief, of_provider)
    forged = providers_side(own, fresh, owner=OWNER.public, owners_fresh=of_owner.public, bound=BOUND)
    assert forged.id != owner.id


@pytest.mark.parametrize("point", [bytes(32), b"\1" + bytes(31), b"short"])
def test_keys_that_make_a_secret_everybody_knows_are_refused(point: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        owners_side(OWNER, OwnerKey.fresh(), provider=PROVIDER.public, providers_fresh=point, bound=BOUND)


def test_bindings_differ_with_every_cut_of_the_same_bytes() -> None:
    assert len({binding(b"ab", b"c"), binding(b"a", b"bc"), binding(b"abc"), binding(b"", b"abc")}) == 4


def test_a_session_is_never_copied_for_two_frames_would_have_one_number() -> None:
    provider, _ = session()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="two frames"):
            copied(provider)


def test_frames_are_longer_than_what_they_hold_by_a_fixed_number_of_bytes() -> None:
    provider, _ = session()
    frame = provider.seal(bytes(100))
    assert (len(frame), session_of(frame)) == (100 + FRAME_BYTES, provider.id)
    assert repr(provider) == "Session(<private>)"
