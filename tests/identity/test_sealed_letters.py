from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import SEAL_BYTES, Identity, context_of
from fedgroup.messages.said import Letter

ROUND = bytes(range(16))
CONTEXT = context_of("partial", ROUND)
TEXT = b"the exact answer is 42"


@pytest.fixture
def ann(owners) -> Identity:
    return owners["ann"]


@pytest.fixture
def bob(owners) -> Identity:
    return owners["bob"]


@pytest.fixture
def eve(owners) -> Identity:
    return owners["eve"]


@pytest.fixture
def letter(ann, bob) -> bytes:
    return ann.seal(bob.certificate, CONTEXT, TEXT)


@pytest.mark.parametrize("length", [0, 1, 16, 300, 1 << 19])
def test_a_letter_opens_for_its_receiver(ann, bob, length):
    sealed = ann.seal(bob.certificate, CONTEXT, bytes(length))
    assert bob.open(ann.certificate, CONTEXT, sealed) == bytes(length)
    assert len(sealed) == length + SEAL_BYTES


def test_nothing_of_the_text_shows(ann, bob, letter):
    assert TEXT not in letter
    assert ann.seal(bob.certificate, CONTEXT, TEXT) != letter


def test_every_changed_byte_and_bit_is_noticed(ann, bob, letter):
    for at in range(len(letter)):
        for bit in range(8):
            changed = letter[:at] + bytes([letter[at] ^ 1 << bit]) + letter[at + 1 :]
            with pytest.raises(ProtocolViolation):
                bob.open(ann.certificate, CONTEXT, changed)


def test_a_letter_that_is_cut_or_extended_is_noticed(ann, bob, letter):
    for wrong in (*(letter[:length] for length in range(len(letter))), letter + b"\0", b"\0" + letter):
        with pytest.raises(ProtocolViolation):
            bob.open(ann.certificate, CONTEXT, wrong)


def test_halves_of_two_letters_make_no_letter(ann, bob, letter):
    other = ann.seal(bob.certificate, CONTEXT, TEXT)
    for cut in (20, 33, len(letter) - 16):
        with pytest.raises(ProtocolViolation):
            bob.open(ann.certificate, CONTEXT, letter[:cut] + other[cut:])


def test_a_letter_is_from_its_sender_only(bob, eve, letter):
    with pytest.raises(ProtocolViolation):
        bob.open(eve.certificate, CONTEXT, letter)


def test_a_letter_is_for_its_receiver_only(ann, eve, letter):
    with pytest.raises(ProtocolViolation):
        eve.open(ann.certificate, CONTEXT, letter)


def test_a_letter_does_not_come_back_as_an_answer(ann, bob, letter):
    with pytest.raises(ProtocolViolation):
        ann.open(bob.certificate, CONTEXT, letter)


@pytest.mark.parametrize(
    "context",
    [
        b"",
        CONTEXT + b"\0",
        CONTEXT[:-1],
        context_of("relay", ROUND),
        context_of("partial", bytes(16)),
        context_of("partial", ROUND, b""),
        context_of("partial", ROUND[:8], ROUND[8:]),
    ],
)
def test_a_letter_is_about_its_context_only(ann, bob, letter, context):
    with pytest.raises(ProtocolViolation):
        bob.open(ann.certificate, context, letter)


@pytest.mark.parametrize("change", [{"name": "eve"}, {"federation": "buses"}])
def test_names_and_federation_are_bound_even_where_keys_are_the_same(ann, bob, letter, change):
    renamed = replace(ann.certificate, **change)
    with pytest.raises(ProtocolViolation):
        bob.open(renamed, CONTEXT, letter)
    elsewhere = Identity(bob.folder, replace(bob.certificate, **change), bob.owner_key, bob._signer)
    with pytest.raises(ProtocolViolation):
        elsewhere.open(ann.certificate, CONTEXT, letter)


def test_only_owners_write_and_get_letters(owners, ann, bob):
    provider = owners["provider"]
    for sender, receiver in ((ann, provider), (provider, ann), (ann, ann)):
        with pytest.raises(InvalidInput):
            sender.seal(receiver.certificate, CONTEXT, TEXT)
    with pytest.raises(ProtocolViolation):
        ann.open(provider.certificate, CONTEXT, bob.seal(ann.certificate, CONTEXT, TEXT))


def test_a_receivers_unusable_key_is_a_violation(ann, bob):
    with pytest.raises(ProtocolViolation, match="Curve25519"):
        ann.seal(replace(bob.certificate, exchange_key=bytes(32)), CONTEXT, TEXT)


@given(st.lists(st.binary(max_size=4), max_size=3), st.lists(st.binary(max_size=4), max_size=3))
def test_different_parts_make_different_contexts(one, two):
    assert (context_of("p", *one) == context_of("p", *two)) == (one == two)


def test_letters_of_equal_texts_are_equally_long_and_fit_their_message(ann, bob):
    sealed = ann.seal(bob.certificate, CONTEXT, bytes(18))
    assert len(sealed) == 18 + SEAL_BYTES
    assert Letter(bytes(16), sealed).sealed == sealed


def test_letters_of_a_series_open_in_their_order_for_their_receiver_in_their_context(ann, bob, eve):
    sealing = ann.letters_to(bob.certificate, CONTEXT)
    first, second = sealing.seal(TEXT), sealing.seal(TEXT)
    elsewhere = context_of("partial", bytes(16))
    for other in (
        bob.letters_from(ann.certificate, elsewhere),
        bob.letters_from(eve.certificate, CONTEXT),
        eve.letters_from(ann.certificate, CONTEXT),
    ):
        with pytest.raises(ProtocolViolation):
            other.open(first)
    opening = bob.letters_from(ann.certificate, CONTEXT)
    for wrong in (second, ann.seal(bob.certificate, CONTEXT, TEXT), b"\0" + first[1:]):
        with pytest.raises(ProtocolViolation):
            opening.open(wrong)
    assert [opening.open(first), opening.open(second)] == [TEXT, TEXT]


def test_a_series_is_between_two_owners(ann):
    with pytest.raises(InvalidInput):
        ann.letters_to(ann.certificate, CONTEXT)
    with pytest.raises(ProtocolViolation):
        ann.letters_from(ann.certificate, CONTEXT)
