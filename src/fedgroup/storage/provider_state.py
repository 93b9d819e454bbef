"""What the provider keeps: users and their allowances, questions and their answers, plans. Nothing private.

Guarantee: a user's allowance is charged on disk before owners are asked, and never twice for one idempotency key; a
           process killed at any moment leaves the charge or nothing. A question that cost no owner anything gives its
           charge back in the one transaction that ends it, so once or never. Tokens are kept as hashes only.
           Where `keep_days` is said, what nobody asked for in so many days is forgotten, a few rows with each new one:
           questions, with their idempotency keys, and answers kept for repeats. What a user spent is never forgotten,
           and is always the sum of what its questions were charged, those forgotten included. Published maps stay.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, InvalidInput, LedgerUnavailable
from fedgroup.storage.provider_tables import VERSION, forget_answers, forget_questions, lay_out
from fedgroup.storage.sqlite_file import make_private, write_copy

_USED_AGAIN = timedelta(days=1)
"""How old a note of an answer's use may be before a new one is worth writing."""


@dataclass(frozen=True)
class User:
    """Somebody with a token: how many questions a minute, and how much epsilon in all."""

    name: str
    role: str
    per_minute: int
    allowance: Epsilon
    spent: Epsilon
    removed: bool = False

    @property
    def left(self) -> Epsilon:
        return Epsilon(self.allowance.nano - self.spent.nano)


@dataclass(frozen=True)
class Question:
    """A question that was taken in: `state` is asked, answered or failed."""

    id: str
    user: str
    at: str
    request: Mapping[str, Any]
    epsilon: Epsilon
    state: str
    answer: Mapping[str, Any] | None
    new: bool = False


class ProviderState:
    """One SQLite file, used by the threads of one provider process; without `keep_days` nothing is forgotten."""

    def __init__(
        self,
        path: str | Path,
        *,
        busy_seconds: float = 10.0,
        keep_days: int | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.path = Path(path).absolute()
        self._keep = None if keep_days is None else timedelta(days=keep_days)
        self._clock = clock
        self._turn = threading.RLock()
        with _our_errors(self.path):
            make_private(self.path)
            self._connection = sqlite3.connect(
                self.path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._prepare()

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    # --- users --------------------------------------------------------------------------------------------------------

    def add_user(self, name: str, *, allowance: Epsilon, per_minute: int = 60, role: str = "user") -> str:
        """Add a user and return its token, which is shown this once; an existing user gets a new token."""
        if role not in ("user", "operator") or not name or per_minute < 1:
            raise InvalidInput("a user has a name, a role (user or operator) and at least 1 question a minute")
        token = secrets.token_urlsafe(32)
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO users (name, token, role, per_minute, allowance) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET token = excluded.token, role = excluded.role,"
                " per_minute = excluded.per_minute, allowance = max(excluded.allowance, spent)",
                (name, _hashed(token), role, per_minute, allowance.nano),
            )
        return token

    def remove_user(self, name: str) -> None:
        """Make a user's token worthless; what it spent stays on record."""
        with self._transaction() as connection:
            connection.execute("UPDATE users SET token = ? WHERE name = ?", (f"removed {secrets.token_hex(16)}", name))

    def user_of(self, token: str) -> User | None:
        """Return whose token this is."""
        return self._user("token", _hashed(token))

    def user(self, name: str) -> User | None:
        return self._user("name", name)

    def users(self) -> list[User]:
        """Return all users, by name."""
        with self._reading() as connection:
            return [_user(row) for row in connection.execute(f"{_USER} ORDER BY name")]

    # --- questions ----------------------------------------------------------------------------------------------------

    def begin(self, user: str, request: Mapping[str, Any], epsilon: Epsilon, *, key: str | None = None) -> Question:
        """Charge a question to its user and return it; one with a known idempotency key is returned as it is."""
        with self._transaction() as connection:
            known = None if key is None else self._question(connection, "user = ? AND key = ?", (user, key))
            if known is not None:
                return known
            self._spend(connection, user, epsilon)
            row = (secrets.token_hex(12), user, key, self._ago(), json.dumps(request), epsilon.nano, "asked")
            connection.execute(
                "INSERT INTO questions (id, user, key, at, request, nano, state) VALUES (?, ?, ?, ?, ?, ?, ?)", row
            )
            if self._keep is not None:
                forget_questions(connection, before=self._ago(self._keep))
            return Question(row[0], user, row[3], request, epsilon, "asked", None, new=True)

    def can_afford(self, user: str, epsilon: Epsilon) -> bool:
        """Tell whether a user could pay so much now; only `begin` decides."""
        known = self.user(user)
        return known is not None and known.left >= epsilon

    def spend_more(self, question: Question, epsilon: Epsilon) -> bool:
        """Charge a second round of a question before it is run; tell whether that is paid for, and on disk."""
        try:
            with self._transaction() as connection:
                self._spend(connection, question.user, epsilon)
                connection.execute("UPDATE questions SET nano = nano + ? WHERE id = ?", (epsilon.nano, question.id))
        except (BudgetExhausted, LedgerUnavailable):
            return False
        return True

    def finish(self, question: Question, answer: Mapping[str, Any] | None) -> None:
        """Keep a question's answer (None: it failed); its charge stays either way: owners paid."""
        with self._transaction() as connection:
            if answer is None:
                end_failed(connection, question)
            else:
                kept = "UPDATE questions SET state = 'answered', answer = ? WHERE id = ?"
                connection.execute(kept, (json.dumps(answer), question.id))
                connection.execute(_PUBLISHED, (question.id,))

    def give_back(self, question: Question) -> None:
        """Keep that a question failed, and return its whole charge: no owner paid. What has ended stays as it is."""
        with self._transaction() as connection:
            end_for_nothing(connection, question)

    def known(self, user: str, key: str) -> Question | None:
        """Return the question that a user asked with an idempotency key."""
        with self._reading() as connection:
            return self._question(connection, "user = ? AND key = ?", (user, key))

    def question(self, question_id: str) -> Question | None:
        """Return a question by its id."""
        with self._reading() as connection:
            return self._question(connection, "id = ?", (question_id,))

    def questions_of(self, user: str, *, most: int = 100) -> list[Question]:
        """Return a user's latest questions, the newest first, without maps, which are long."""
        return self._latest(f"{_QUESTION} WHERE user = ? AND request NOT LIKE '{_MAP}'", user, most)

    def maps_of(self, user: str, *, most: int = 100) -> list[Question]:
        """Return the latest maps that a user asked for or anybody published, without values, districts by name."""
        return self._latest(f"{_SHORT_MAP} WHERE (user = ? OR {_IS_PUBLIC}) AND request LIKE '{_MAP}'", user, most)

    def published(self, *, most: int = 100) -> list[Question]:
        """Return the latest maps that anybody published, without values."""
        with self._reading() as connection:
            asked = f"{_SHORT_MAP} WHERE {_IS_PUBLIC} AND state = 'answered' ORDER BY at DESC, rowid DESC LIMIT ?"
            return [_question(row) for row in connection.execute(asked, (most,))]

    def is_published(self, question_id: str) -> bool:
        """Tell whether a question is a published map, which everybody may read."""
        with self._reading() as connection:
            asked = "SELECT 1 FROM publications WHERE question = ? AND progress IS NULL"
            return connection.execute(asked, (question_id,)).fetchone() is not None

    def map_on_record(self, question_id: str) -> Question | None:
        """Return a map that was asked for, without what was asked and what came of it: that is long."""
        with self._reading() as connection:
            row = connection.execute(f"{_BARE_MAP} WHERE id = ? AND request LIKE '{_MAP}'", (question_id,)).fetchone()
            return None if row is None else _question(row)

    def _latest(self, select: str, user: str, most: int) -> list[Question]:
        with self._reading() as connection:
            rows = connection.execute(f"{select} ORDER BY at DESC, rowid DESC LIMIT ?", (user, most))
            return [_question(row) for row in rows]

    # --- maps that are being published --------------------------------------------------------------------------------

    def keep_progress(self, question: Question, progress: Mapping[str, Any]) -> None:
        """Keep how far a publication came; it is on disk when this returns."""
        with self._transaction() as connection:
            row = (question.id, json.dumps(progress))
            connection.execute("INSERT OR REPLACE INTO publications VALUES (?, ?)", row)

    def unfinished(self) -> list[tuple[Question, str | None, Mapping[str, Any]]]:
        """Return the publications that were cut off, with their idempotency keys and how far they came."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT id, user, at, request, nano, state, answer, key, progress FROM questions"
                " JOIN publications ON question = id WHERE state = 'asked' AND progress IS NOT NULL ORDER BY at"
            )
            return [(_question(row[:7]), row[7], json.loads(row[8])) for row in rows]

    # --- answers and plans --------------------------------------------------------------------------------------------

    def earlier(self, key: str) -> tuple[bytes, Mapping[str, Any]] | None:
        """Return the round and the answer of the same question, if it was asked before."""
        with self._reading() as connection:
            row = connection.execute("SELECT round, answer, used FROM answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[2] < self._ago(_USED_AGAIN):
            with suppress(LedgerUnavailable), self._transaction() as connection:  # else it is forgotten sooner
                connection.execute("UPDATE answers SET used = ? WHERE key = ?", (self._ago(), key))
        return bytes(row[0]), json.loads(row[1])

    def keep(self, key: str, round_id: bytes, answer: Mapping[str, Any]) -> None:
        """Keep an answer for those who ask the same again."""
        with self._transaction() as connection:
            row = (key, round_id, json.dumps(answer), self._ago())
            connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)
            if self._keep is not None:
                forget_answers(connection, before=self._ago(self._keep))

    def owners(self) -> dict[str, bytes]:
        """Return everybody who was ever admitted and not retired, each with the certificate it showed last."""
        with self._reading() as connection:
            return {name: bytes(der) for name, der in connection.execute("SELECT name, certificate FROM owners")}

    def keep_owners(self, certificates: Mapping[str, bytes]) -> None:
        """Remember owners that were admitted."""
        rows = [(name, der, self._ago()) for name, der in certificates.items()]
        add = "INSERT INTO owners VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET certificate = excluded.certificate"
        with self._transaction() as connection:
            connection.executemany(add, rows)

    def retire_owner(self, name: str) -> bool:
        """Forget an owner that left for good; tell whether it was known."""
        with self._transaction() as connection:
            return connection.execute("DELETE FROM owners WHERE name = ?", (name,)).rowcount == 1

    def plans(self) -> list[Mapping[str, Any]]:
        """Return the plans in force."""
        with self._reading() as connection:
            return [json.loads(plan) for (plan,) in connection.execute("SELECT plan FROM plans")]

    def keep_plan(self, method: str, plan: Mapping[str, Any]) -> None:
        """Keep the plan in force for a method."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO plans VALUES (?, ?)", (method, json.dumps(plan)))

    def backup(self, path: str | Path) -> None:
        """Write a consistent copy to a new file, for its owner's eyes only, while the provider goes on."""
        with self._reading() as connection:
            write_copy(connection, path)

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return a transaction of this file, for books in tables of their own; it is on disk at its end."""
        return self._transaction()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Lay out a new file, bring an older one up to date; refuse one that is something else."""
        with self._transaction() as connection:
            known = lay_out(connection, now=self._ago())
        if not known:
            raise InvalidInput(f"{self.path} is not a provider's file of version {VERSION}; name another file")

    def _spend(self, connection: sqlite3.Connection, user: str, epsilon: Epsilon) -> None:
        row = connection.execute("SELECT allowance, spent FROM users WHERE name = ?", (user,)).fetchone()
        if row is None:
            raise InvalidInput("there is no such user")
        if row[1] + epsilon.nano > row[0]:
            raise BudgetExhausted(
                asked=float(epsilon), left=float(Epsilon(row[0] - row[1])), cap=float(Epsilon(row[0]))
            )
        connection.execute("UPDATE users SET spent = spent + ? WHERE name = ?", (epsilon.nano, user))

    def _ago(self, time: timedelta = timedelta()) -> str:
        """Return when it was so long ago, as texts that sort by time."""
        return (self._clock() - time).astimezone(UTC).isoformat(timespec="milliseconds")

    def _user(self, column: str, value: str) -> User | None:
        with self._reading() as connection:
            row = connection.execute(f"{_USER} WHERE {column} = ?", (value,)).fetchone()
            return None if row is None else _user(row)

    def _question(self, connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> Question | None:
        row = connection.execute(f"{_QUESTION} WHERE {where}", values).fetchone()
        return None if row is None else _question(row)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _our_errors(self.path):
            yield self._connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._turn, _our_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


_USER = "SELECT name, role, per_minute, allowance, spent, token LIKE 'removed %' FROM users"
_QUESTION = "SELECT id, user, at, request, nano, state, answer FROM questions"
_NAMES = (
    "(SELECT json_group_array(json_extract(value, '$.properties.name')) "
    "FROM json_each(request, '$.map.districts.features'))"
)
_SHORT_REQUEST = (
    "CASE WHEN json_type(request, '$.map.districts') IS NULL THEN request "
    f"ELSE json_set(request, '$.map.districts', json({_NAMES})) END"
)
_SHORT_MAP = f"SELECT id, user, at, {_SHORT_REQUEST}, nano, state, NULL FROM questions"  # noqa: S608  all our own
"""A map on record with the names of its districts in place of their shapes, which are long."""
_BARE_MAP = "SELECT id, user, at, '{}', nano, state, NULL FROM questions"
_IS_PUBLIC = "id IN (SELECT question FROM publications WHERE progress IS NULL)"
_PUBLISHED = "UPDATE publications SET progress = NULL WHERE question = ?"
_WITHDRAWN = "DELETE FROM publications WHERE question = ?"
_MAP = '{"map":%'
"""What the request of a map begins with."""


def end_failed(connection: sqlite3.Connection, question: Question) -> None:
    """Keep, in a transaction, that a question failed; its charge stays: owners paid."""
    connection.execute("UPDATE questions SET state = 'failed', answer = 'null' WHERE id = ?", (question.id,))
    connection.execute(_WITHDRAWN, (question.id,))


def end_for_nothing(connection: sqlite3.Connection, question: Question) -> None:
    """Keep, in a transaction, that a question failed, and return its whole charge; what has ended stays as it is."""
    open_one = "FROM questions WHERE id = ? AND state = 'asked'"
    found = connection.execute(f"SELECT user, nano {open_one}", (question.id,)).fetchone()
    if found is not None:
        connection.execute("UPDATE users SET spent = spent - ? WHERE name = ?", (found[1], found[0]))
        connection.execute("UPDATE questions SET state = 'failed', nano = 0 WHERE id = ?", (question.id,))
        connection.execute(_WITHDRAWN, (question.id,))


def _user(row: tuple[Any, ...]) -> User:
    return User(row[0], row[1], row[2], Epsilon(row[3]), Epsilon(row[4]), bool(row[5]))


def _question(row: tuple[Any, ...]) -> Question:
    answer = None if row[6] is None else json.loads(row[6])
    return Question(row[0], row[1], row[2], json.loads(row[3]), Epsilon(row[4]), row[5], answer)


def _hashed(token: str) -> str:
    # tokens are 32 random bytes, so a plain hash cannot be searched
    return hashlib.sha256(b"fedgroup token v1 " + token.encode()).hexdigest()


@contextmanager
def _our_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerUnavailable(f"the provider's file {path} cannot be used now ({error}); try later") from None
    except sqlite3.DatabaseError as error:
        raise InvalidInput(
            f"{path} is not a usable provider's file ({error}); name another (a backup forgets what users spent since)"
        ) from None
