"""Sources of noise: never the same noise twice, and honest about privacy."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, localcontext
from fractions import Fraction

import numpy as np
import pytest

from fedgroup.errors import InvalidInput
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.laplace_inverse import Inverse, thresholds
from fedgroup.privacy.noise import FloatingPointLaplace, NoiseSource, SecureNoise, SeededNoise
from fedgroup.privacy.opendp_noise import OpenDPNoise

WIDE = Fraction(400)


def draw_in_child(noise: SecureNoise, pipe: multiprocessing.connection.Connection) -> None:
    pipe.send([*noise.laplace(WIDE, 50).tolist(), *noise.laplace_shares(WIDE, 2, 50).tolist()])


def test_two_secure_sources_differ() -> None:
    assert (SecureNoise().laplace(WIDE, 50) != SecureNoise().laplace(WIDE, 50)).any()


def test_a_forked_process_draws_other_noise() -> None:
    noise = SecureNoise()
    noise.laplace(WIDE, 1)
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=draw_in_child, args=(noise, there))
    child.start()
    theirs = here.recv()
    child.join()
    assert theirs[:50] != noise.laplace(WIDE, 50).tolist()
    assert theirs[50:] != noise.laplace_shares(WIDE, 2, 50).tolist()


def test_threads_never_share_noise() -> None:
    noise = SecureNoise()
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: tuple(noise.laplace(WIDE, 20)), range(200)))
    assert len(set(drawn)) == 200


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_secure_source_cannot_be_copied(duplicate: object) -> None:
    with pytest.raises(TypeError, match="cannot be copied"):
        duplicate(SecureNoise())


def test_the_same_seed_gives_the_same_noise() -> None:
    assert (SeededNoise(5).laplace(WIDE, 99) == SeededNoise(5).laplace(WIDE, 99)).all()
    assert (SeededNoise(5).laplace(WIDE, 99) != SeededNoise(6).laplace(WIDE, 99)).any()


def test_the_same_seed_gives_the_same_shares() -> None:
    assert (SeededNoise(5).laplace_shares(WIDE, 3, 99) == SeededNoise(5).laplace_shares(WIDE, 3, 99)).all()
    assert (SeededNoise(5).laplace_shares(WIDE, 3, 99) != SeededNoise(6).laplace_shares(WIDE, 3, 99)).any()


def test_only_secure_noise_calls_itself_private() -> None:
    assert SecureNoise().private
    assert not SeededNoise(1).private
    assert not FloatingPointLaplace(1).private


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), Fraction(2**62), Fraction(2**62 + 1, 7)])
def test_scales_that_cannot_be_drawn_are_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidInput, match="cannot be drawn"):
        SeededNoise(1).laplace(scale, 1)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(2**40 + 1), Fraction(2**54 + 1, 2**20)])
def test_scales_whose_shares_cannot_be_drawn_are_refused(scale: Fraction) -> None:
    with pytest.raises(InvalidInput, match="cannot be drawn"):
        SeededNoise(1).laplace_shares(scale, 2, 1)


def test_the_largest_scales_still_have_shares() -> None:
    assert np.abs(SeededNoise(1).laplace_shares(Fraction(2**40), 2, 100)).max() > 2**38
    assert np.abs(SeededNoise(1).laplace_shares(Fraction(2**54 - 1, 2**14), 2, 100)).max() > 2**38


def test_noise_in_no_parts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="one share or more"):
        SeededNoise(1).laplace_shares(WIDE, 0, 1)


@pytest.mark.parametrize("source", [lambda: FloatingPointLaplace(1), OpenDPNoise])
def test_sources_without_shares_say_so(source: Callable[[], NoiseSource]) -> None:
    with pytest.raises(InvalidInput, match="cannot make noise shares"):
        source().laplace_shares(WIDE, 2, 1)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a seed must be a whole number from 0 to"):
        SeededNoise(-1)


def test_no_noise_is_asked_for_and_none_is_given() -> None:
    assert len(SecureNoise().laplace(WIDE, 0)) == 0
    assert len(SecureNoise().laplace(Fraction(10**6), 0)) == 0
    assert len(SecureNoise().laplace_shares(WIDE, 2, 0)) == 0
    assert len(SecureNoise().laplace_shares(Fraction(10**6), 2, 0)) == 0


def test_the_callers_decimal_context_does_not_change_the_noise() -> None:
    scale = Fraction(17, 3)
    low, edges = thresholds(scale)
    with localcontext(Context(prec=4)):
        assert thresholds(scale) == (low, edges)
        assert Inverse(scale)(edges[-1 - low] - 1, 64) == (-2, -2)
        assert Inverse(scale)(edges[-1 - low] + 1, 64) == (-1, -1)


def test_ever_closer_ties_are_decided_by_ever_more_bits() -> None:
    """With a = e^-1, F(-1) = a / (1+a): its first 300 bits lie between two outcomes, one more or less does not."""
    with localcontext(Context(prec=150)) as context:
        a = context.exp(-1)
        tie = int(a / (1 + a) * 2**300)
    assert Inverse(Fraction(1))(tie, 300) == (-1, 0)
    assert Inverse(Fraction(1))(tie - 1, 300) == (-1, -1)
    assert Inverse(Fraction(1))(tie + 1, 300) == (0, 0)


def test_the_keystream_is_aes_in_counter_mode() -> None:
    """NIST SP 800-38A key F.5.5, with the counter at zero: the keystream is AES-256 of 0, 1, 2, ..."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    expected = block.update(b"".join(i.to_bytes(16, "big") for i in range(4)))
    assert Keystream(key).words(8, np.uint64).tobytes() == expected


def test_long_keystreams_do_not_repeat() -> None:
    words = Keystream(bytes(32)).words(1_000_000, np.uint64)
    assert len(np.unique(words)) == len(words)
