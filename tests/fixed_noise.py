"""Secure noise whose keys are known: what was drawn once is drawn in every run, and statistics of it never falter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest

from fedgroup.privacy import noise as module
from fedgroup.privacy.noise import SecureNoise


@contextmanager
def fixed_keys(name: str) -> Iterator[None]:
    """Give every source of noise that is made meanwhile a key that is the same in every run."""
    made = count()

    def token_bytes(size: int) -> bytes:
        return hashlib.sha256(f"{name} {next(made)}".encode()).digest()[:size]

    with pytest.MonkeyPatch.context() as fixed:
        fixed.setattr(module, "secrets", SimpleNamespace(token_bytes=token_bytes))
        yield


def fixed_noise(name: str) -> SecureNoise:
    """Return secure noise, the same for the same name in every run."""
    with fixed_keys(name):
        return SecureNoise()
