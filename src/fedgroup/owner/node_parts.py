"""What a live owner is made of: its silo, its ledger, its identity and those of others, as its node sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted
from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.logged import Chain, Seen
from fedgroup.privacy.budget import Charge
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.pair_keys import OwnerKey
from fedgroup.space import Grid


class OwnersSilo(Protocol):
    """An owner's records behind a database; everything it returns is exact and stays here."""

    @property
    def attributes(self) -> Sequence[str]: ...

    @property
    def texts(self) -> Sequence[str]: ...

    @property
    def has_time(self) -> bool: ...

    def vector(self, grid: Grid) -> npt.NDArray[np.int32]: ...

    def totals(self, query: RangeQuery) -> dict[str, npt.NDArray[np.int64]]: ...

    def snapshot(self) -> str: ...


class ComparisonBook(Protocol):
    """Keeps what was compared in an epoch."""

    def begin_comparison(
        self, session: bytes, *, over: str, limit: int, freeze: Callable[[], bytes]
    ) -> bytes | None: ...

    def compared(self, sessions: Sequence[bytes]) -> list[bytes]: ...


class LogWatch(Protocol):
    """What an owner knows of the provider's public log; see `heads.py`."""

    def signed_by(self, key: Callable[[], bytes | None]) -> None: ...

    def told(self, round_id: bytes) -> Sequence[Seen]: ...

    def admits(self, asked: Ask | Describe) -> bool: ...

    def follow(self, chain: Chain) -> None: ...


class RoundLedger(ComparisonBook, Protocol):
    """A ledger that keeps the reply of every round with its charge."""

    def begin_rounds(
        self, rounds: Sequence[tuple[bytes, Charge, str]]
    ) -> Sequence[tuple[bool, BudgetExhausted | None]]: ...

    def keep_replies(self, replies: Sequence[tuple[bytes, bytes]]) -> Sequence[bytes]: ...

    def kept_reply(self, round_id: bytes) -> bytes | None: ...

    def kept_replies(self, round_ids: Sequence[bytes]) -> Sequence[bytes | None]: ...

    def keep_survivors(self, round_id: bytes, survivors: bytes) -> bytes: ...

    def require_affordable(self, charges: Sequence[Charge]) -> None: ...

    def count_offer(self, *, limit: int) -> bool: ...

    @property
    def unflushed(self) -> bool: ...

    def flush(self) -> None: ...

    def left(self) -> Epsilon | None: ...

    def snapshot_of(self, round_id: bytes) -> str | None: ...


class Certified(Protocol):
    """A verified owner: its name, the key it agrees on secrets with, and the key it signs with."""

    @property
    def name(self) -> str: ...

    @property
    def exchange_key(self) -> bytes: ...

    @property
    def tls_key(self) -> bytes: ...


class LettersOut(Protocol):
    """Seals letters to one owner about one thing, which open in their order."""

    def seal(self, plain: bytes) -> bytes: ...


class LettersIn(Protocol):
    """Opens such letters."""

    def open(self, letter: bytes) -> bytes: ...


class OwnIdentity(Protocol):
    """The owner's own name, and what it does with its key."""

    @property
    def name(self) -> str: ...

    @property
    def owner_key(self) -> OwnerKey: ...

    def sign(self, statement: bytes) -> bytes: ...

    def seal(self, to: Any, context: bytes, plain: bytes) -> bytes: ...

    def open(self, sender: Any, context: bytes, sealed: bytes) -> bytes: ...

    def letters_to(self, to: Any, context: bytes) -> LettersOut: ...

    def letters_from(self, sender: Any, context: bytes) -> LettersIn: ...
