"""The provider's public log: every question before it is asked, what its groups gave, and the answer; chained, signed.

Guarantee: an entry is on disk before anybody is shown it. Entries hold what is public or was released: questions
           without who asked, numbers of owners, groups' noisy sums without names, answers. Of two entries with one
           number only one is ever shown, as long as the file is not replaced by an older copy; one that was signed and
           not on disk yet when the provider died is shown to nobody, and its number is given again.
Proof:     docs/guarantees.md#a-log-that-anybody-can-check
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol

from fedgroup.errors import InvalidInput, LedgerUnavailable, ProtocolViolation
from fedgroup.live.desk import Desk
from fedgroup.live.settings import LiveSettings
from fedgroup.live.sheets import tagged_leaves
from fedgroup.live.tally import Tally
from fedgroup.messages import NoisyTotals
from fedgroup.messages.asked import Ask, Describe
from fedgroup.messages.limits import SIGNATURE_BYTES
from fedgroup.messages.logged import MOST_LINKS, Chain, Logged, asked_facts, described_facts
from fedgroup.messages.wire_query import WireQuery
from fedgroup.questions.query import RangeQuery
from fedgroup.secure.chain import DIGEST, FIRST, canonical, digest_of, head_after, stated
from fedgroup.secure.signatures import require_signed
from fedgroup.storage.log_file import LogFile
from fedgroup.transport.codec import decode, encode
from fedgroup.user.role import read

log = logging.getLogger("fedgroup.provider")

USUAL_LINKS = 8
_EARLIER = 4
"""A question shows the entries since the oldest question under way, and since so many before it, and some more."""
MOST_SHOWN = 256
"""The most of them; who needs more to see that the log goes on is led there by itself."""
_ENTRY = b'{"entry":'


class Signer(Protocol):
    """The provider's certificate, and its signature."""

    @property
    def certificate(self) -> Any: ...

    def sign(self, statement: bytes) -> bytes: ...


class PublicLog:
    """A log in one file, for one provider process; its methods are called in one event loop."""

    def __init__(
        self,
        file: LogFile,
        settings: LiveSettings,
        identity: Signer,
        *,
        agreed: bytes,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._file = file
        self._federation = settings.federation
        self._identity = identity
        self._now = now
        self._turn = asyncio.Lock()
        self._waiting: list[bytes] = []
        self._open: dict[bytes, int] = {}  # the numbers of rounds that were asked and have not ended
        self._asked = deque[int](maxlen=_EARLIER)
        self._writing = threading.Lock()
        self._head, self._count, self._signature = FIRST, 0, b""
        self._digests = bytearray()  # of all entries, one after the other: nobody makes us read the log again
        self._bases = deque[bytes](maxlen=MOST_SHOWN + 1)  # the heads before each of the last ones
        self._read_again()
        shown = {"certificate": identity.certificate.der.hex(), "at": self._at()}
        if not self._count:
            self._add(_begun(settings, agreed) | shown)
        elif not self._signed_the_last:
            self._add({"kind": "certificate"} | shown)
        self._write()

    def __len__(self) -> int:
        return len(self._file)

    def lines(self, first: int, count: int) -> list[bytes]:
        """Return entries that are on disk, as the lines of the file."""
        return self._file.read(first, count)

    # --- entries ------------------------------------------------------------------------------------------------------

    async def asked(self, round_id: bytes, query: WireQuery, *, owners: int) -> Logged:
        """Write that a question is about to be asked, and return what is shown to owners with it."""
        said = decode(encode(Ask(round_id, query, None, 1)), (Ask,)).query  # as owners will read it
        at = self._at()
        return await self._shown(round_id, asked_facts(round_id, said, at=at, owners=owners))

    async def described(self, asked: Describe, *, owners: int) -> Logged:
        """Write that noisy vectors are about to be asked for, and return what is shown to owners with it."""
        told = described_facts(asked.round, asked.columns, asked.rows, asked.epsilon_nano, at=self._at(), owners=owners)
        return await self._shown(asked.round, told)

    async def answered(self, query: RangeQuery, tally: Tally, totals: NoisyTotals) -> int | None:
        """Write what a question's groups gave and what they add up to; return the number of that entry.

        None: it is not on disk yet, and may never be.
        """
        self._close(tally.rounds)  # whatever comes of writing it down
        told = {
            "kind": "answered",
            "rounds": [each.hex() for each in tally.rounds],
            "owners": len(tally.present),
            "heard": len(tally.heard),
            "noises": float(tally.noises),
            "shared": float(tally.shared),
            "totals": {part: [int(each) for each in sums] for part, sums in totals.parts.items()},
            "answer": answer_told(query, totals) if query.is_range else None,
            "at": self._at(),
            **tally.sheet.facts(),
        }
        return await self._ended(tally.rounds, told)

    async def failed(self, rounds: Sequence[bytes]) -> None:
        """Write that a question gave no answer."""
        if rounds:
            await self._ended(rounds, {"kind": "failed", "rounds": [each.hex() for each in rounds], "at": self._at()})

    async def vectors(self, rounds: Collection[bytes], *, heard: int) -> None:
        """Write how many noisy vectors came, for plans: they stay with the provider."""
        told = {"kind": "vectors", "rounds": sorted(each.hex() for each in rounds), "heard": heard, "at": self._at()}
        await self._ended(rounds, told)

    # --- owners that were away ----------------------------------------------------------------------------------------

    async def chains_after(self, number: int) -> list[Chain]:
        """Return what leads an owner from an entry to the last one; nothing if the next question does so itself."""
        last = len(self._file) - 1
        if last - number < USUAL_LINKS:
            return []
        return await asyncio.to_thread(self._chains, number + 1, last)

    def _chains(self, first: int, last: int) -> list[Chain]:
        starts = range(first, last + 1, MOST_LINKS)
        return [self._chain(start, min(start + MOST_LINKS - 1, last)) for start in starts]

    def _chain(self, first: int, last: int) -> Chain:
        """Return the digests of some entries, and the head after them, signed anew: the key may have changed since."""
        links = bytes(self._digests[first * DIGEST : (last + 1) * DIGEST])
        before = bytes.fromhex(json.loads(self._file.read(last, 1)[0])["previous"])
        head = head_after(last, before, links[-DIGEST:])
        return Chain(first, links, self._identity.sign(stated(self._federation, last, head)))

    # --- rounds that are asked again ----------------------------------------------------------------------------------

    async def told_in(self, round_id: bytes) -> dict[bytes, bytes]:
        """Return the leaves of the groups that the log tells of in a round that was asked before, by their tags."""
        waiting = list(self._waiting)
        return await asyncio.to_thread(self._told_in, round_id.hex(), waiting)

    def _told_in(self, name: str, waiting: Iterable[bytes]) -> dict[bytes, bytes]:
        written = (self._file.read(number, 1)[0] for number in range(len(self._file)))
        about = (
            each for each in itertools.chain(written, waiting) if b'"kind":"answered"' in each and name.encode() in each
        )
        return {tag: leaf for line in about for tag, leaf in tagged_leaves(json.loads(line)["entry"], name).items()}

    # --- inside -------------------------------------------------------------------------------------------------------

    async def _shown(self, round_id: bytes, entry: Mapping[str, Any]) -> Logged:
        number = self._add(entry)
        reach = min((*self._open.values(), *self._asked, number))  # owners know the head of a question asked since
        self._open[round_id] = number
        self._asked.append(number)
        links = min(len(self._bases) - 1, USUAL_LINKS + number - reach)
        before, base = bytes(self._digests[(number - links) * DIGEST : number * DIGEST]), self._bases[-1 - links]
        logged = Logged(number, entry["at"], entry["owners"], base, before, self._signature)
        try:
            await self._durable()
        except BaseException:  # nobody is asked in a round whose asker was cancelled
            self._close([round_id])
            raise
        return logged

    async def _ended(self, rounds: Collection[bytes], entry: Mapping[str, Any]) -> int | None:
        self._close(rounds)
        number = self._add(entry)
        try:
            await self._durable()
        except LedgerUnavailable:  # it waits, and is written before anything that comes after it
            log.warning("the log cannot be written now")
            return None
        return number

    def _close(self, rounds: Collection[bytes]) -> None:
        """Count rounds no more among those under way."""
        for each in rounds:
            self._open.pop(each, None)

    def _add(self, entry: Mapping[str, Any]) -> int:
        """Put an entry after the others; it is on disk once `_durable` returns."""
        number, said = self._count, canonical(entry)
        digest = digest_of(said)
        self._bases.append(self._head)
        self._digests += digest
        previous, self._head = self._head, head_after(number, self._head, digest)
        self._count += 1
        self._signature = self._identity.sign(stated(self._federation, number, self._head))
        facts = {"number": number, "previous": previous.hex(), "signature": self._signature.hex()}
        self._waiting.append(canonical(facts | {"entry": entry}))
        return number

    async def _durable(self) -> None:
        """Return when everything that was added is on disk; what waits at the same time is written together."""
        target = self._count
        async with self._turn:
            if len(self._file) < target:
                await asyncio.shield(asyncio.to_thread(self._write))

    def _write(self) -> None:
        with self._writing:
            waiting = list(self._waiting)
            if waiting:
                self._file.append(waiting)
                del self._waiting[: len(waiting)]

    def _read_again(self) -> None:
        """Go on where the file ends."""
        count = len(self._file)
        try:
            begun = [json.loads(line)["entry"] for line in self._file.read(0, 1)]
            if begun and begun[0]["federation"] != self._federation:
                raise InvalidInput(f"{self._file.path} is the log of another federation; name another file")
            for number in range(count):
                (line,) = self._file.read(number, 1)  # one by one: entries may be long
                self._digests += digest_of(_entry_in(line))
                if number >= count - MOST_SHOWN - 1:
                    self._go_on(line)
        except (ValueError, KeyError, TypeError):
            raise InvalidInput(f"{self._file.path} is not the log of a federation; name another file") from None

    def _go_on(self, line: bytes) -> None:
        facts = json.loads(line)
        number, previous = facts["number"], bytes.fromhex(facts["previous"])
        self._bases.append(previous)
        self._head = head_after(number, previous, digest_of(canonical(facts["entry"])))
        self._signature, self._count = _signature_in(line), number + 1

    @property
    def _signed_the_last(self) -> bool:
        """Whether the last entry was signed with the key that is used now."""
        try:
            said = stated(self._federation, self._count - 1, self._head)
            require_signed(self._identity.certificate.tls_key, said, self._signature)
        except ProtocolViolation:
            return False
        return True

    def _at(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="milliseconds")


def _entry_in(line: bytes) -> bytes:
    """Return the entry in its one spelling: it comes first in a line, before three fields that hold digits only."""
    end = line.rfind(b',"number":')
    if end < 0 or not line.startswith(_ENTRY):
        raise ValueError
    return line[len(_ENTRY) : end]


def _signature_in(line: bytes) -> bytes:
    """Return the signature, which comes last in a line."""
    return bytes.fromhex(line[-len('"}') - 2 * SIGNATURE_BYTES : -len('"}')].decode())


async def lead_on(log: PublicLog, desk: Desk, owner: str, number: int) -> None:
    """Show an owner that was away what stands in the log after an entry."""
    for chain in await log.chains_after(number):
        await desk.tell({owner: chain})


def answer_told(query: RangeQuery, totals: NoisyTotals) -> dict[str, Any]:
    """Return the value and the interval that noisy totals stand for, as JSON values."""
    found = read(query, totals)
    return {"value": found.value, "interval": list(found.interval)}


def _begun(settings: LiveSettings, agreed: bytes) -> dict[str, Any]:
    public_map = settings.public_map
    return {
        "kind": "begun",
        "federation": settings.federation,
        "agreed": agreed.hex(),
        "domain": [float(side) for side in public_map.domain.sides],
        "lonlat": public_map.lonlat,
        "protection": asdict(settings.protection),
    }
