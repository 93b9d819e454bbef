"""The provider's desk: who is here, and one way to ask many owners something and collect what they say."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Protocol, get_args

from fedgroup.errors import FedgroupError, ProtocolViolation
from fedgroup.live.attendance import Attendance
from fedgroup.live.balances import Balances
from fedgroup.live.replies import MOMENT_S, Replies, Switchboard
from fedgroup.messages.asked import Agreed, Balance
from fedgroup.messages.limits import ID_BYTES
from fedgroup.messages.live import FromOwner
from fedgroup.messages.logged import Seen
from fedgroup.messages.said import Left, Presence

log = logging.getLogger("fedgroup.provider")

_LOOK_AGAIN_S = 1.0


class ProvidersLink(Protocol):
    """The provider's end of the wire."""

    async def send_many(self, messages: Iterable[tuple[str, bytes]]) -> None: ...

    def received(self) -> Any: ...


class Desk:
    """Keeps track of present owners and delivers their replies. It sees noisy, masked or sealed values only.

    `agreed` is the digest of what all parties agreed on: owners with another one are `differing`, and not present.
    """

    def __init__(
        self,
        link: ProvidersLink,
        *,
        encode: Callable[[Any], bytes],
        decode: Callable[[bytes, tuple[type, ...]], Any],
        verify: Callable[[bytes], Any],
        agreed: bytes = b"",
        known: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """`known` are the owners of earlier times, each with the certificate it showed last."""
        self._link = link
        self._encode = encode
        self._decode = decode
        self.verify = verify
        self.agreed = agreed
        self._board = Switchboard()
        self._arrived = asyncio.Condition()
        self._quiet: set[str] = set()
        self._shown: dict[str, bytes] = {}
        self._known = dict(known)  # the last certificate of everybody who was ever here
        self._heard_over = self._connections
        self._came_over: dict[str, int] = {}
        self.unkept: dict[str, bytes] = {}
        """Owners of whom nobody wrote down yet that they are known."""
        self._looked_at = time.monotonic()
        self.certificates: dict[str, bytes] = {}
        self.arrivals: dict[str, int] = {}
        self.most_records: dict[str, int | None] = {}
        """What each owner says of itself: how many records it counts in one bin at most."""
        self.differing: set[str] = set()
        self.balances = Balances()
        self._requests = itertools.count(1)
        self.lead_on: Callable[[str, int], Coroutine[Any, Any, None]] | None = None
        """What is done for an owner that tells how much of the provider's log it knows."""
        self._leading: dict[str, asyncio.Task[None]] = {}
        self._to_lead: dict[str, int] = {}  # how far owners came, of those that are to be led on
        self.refused_messages = 0

    @property
    def present(self) -> set[str]:
        """The owners that are here, by the names in their certificates, as far as these hold."""
        if not self.connected:
            return set()
        if self._heard_over != self._connections:
            self._forget_who_came_before()
        if time.monotonic() - self._looked_at >= _LOOK_AGAIN_S:
            self._look_again()
        return set(self.certificates)

    @property
    def _connections(self) -> int:
        return int(getattr(self._link, "connections", 0))

    def _forget_who_came_before(self) -> None:
        """Take nobody for here who showed itself over an earlier connection: the broker tells anew who is here."""
        self._heard_over = self._connections
        for owner in [name for name, came in self._came_over.items() if came != self._heard_over]:
            self._shown.pop(owner, None)
            self._dismiss(owner)

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker: without one, nobody is here."""
        return bool(getattr(self._link, "connected", True))

    @property
    def known(self) -> Mapping[str, bytes]:
        """The last certificates of everybody who was ever here."""
        return self._known

    def attendance(self, also: Iterable[str] = ()) -> Attendance:
        """Return who is known, `also` these, and who of them is here.

        Who was revoked, or retired by the operator, is no owner of the federation any more.
        """
        present = frozenset(self.present)
        away = {name for name in {*self._known, *also} - present if self._may_come(name)}
        return Attendance(present | away, present)

    def retire(self, owner: str) -> None:
        """Count an owner that is not here no more."""
        self._known.pop(owner, None)
        self.unkept.pop(owner, None)

    def _may_come(self, owner: str) -> bool:
        try:
            return owner not in self._known or bool(self.verify(self._known[owner]))
        except FedgroupError:
            return False

    async def listen(self) -> None:
        """Take in messages until cancelled; what is malformed or foreign is counted and dropped."""
        kinds = (*get_args(FromOwner), Presence)
        async for owner, payload in self._link.received():
            self._quiet.discard(owner)
            try:
                message = self._decode(payload, kinds)
                if isinstance(message, Presence):
                    await self._note_presence(owner, message)
                else:
                    if isinstance(message, Left):
                        self.balances.note_told(owner, message.nano)
                    if isinstance(message, Seen):
                        self._lead_on(owner, message.number)
                    self._board.deliver(owner, message)
            except FedgroupError:
                self.refused_messages += 1
                log.warning("a message was refused", extra={"owner": owner})

    def _lead_on(self, owner: str, number: int) -> None:
        """Lead an owner on, once at a time: of what it tells meanwhile, the last counts."""
        if self.lead_on is not None:
            self._to_lead[owner] = number
            if owner not in self._leading:
                self._leading[owner] = asyncio.create_task(self._lead(owner, self.lead_on))

    async def _lead(self, owner: str, lead_on: Callable[[str, int], Coroutine[Any, Any, None]]) -> None:
        try:
            while owner in self._to_lead:
                await lead_on(owner, self._to_lead.pop(owner))
        except FedgroupError:
            log.warning("an owner cannot be led on now", extra={"owner": owner})
        finally:
            del self._leading[owner]

    async def _note_presence(self, owner: str, presence: Presence) -> None:
        if presence.owner != owner:
            raise ProtocolViolation("an owner speaks for itself only")
        self.differing.discard(owner)
        if presence.here and presence.agreed != self.agreed:
            await self._keep_out(owner)
        elif presence.here:
            self._shown[owner] = presence.certificate
            self._admit(owner)
            self.most_records[owner] = presence.most_records
            self.balances.note_told(owner, None)
            await self.tell({owner: self._balance()})
        else:
            self._shown.pop(owner, None)
            self._dismiss(owner)
        async with self._arrived:
            self._arrived.notify_all()

    async def _keep_out(self, owner: str) -> None:
        """Ask nothing of an owner whose answers would be about another domain, or in other units, and tell it."""
        self._shown.pop(owner, None)
        self._dismiss(owner)
        self.differing.add(owner)
        log.warning("an owner's [federation] table differs from the provider's", extra={"owner": owner})
        await self.tell({owner: Agreed(self.agreed)})

    def _admit(self, owner: str) -> None:
        if self.verify(self._shown[owner]).name != owner:
            raise ProtocolViolation("an owner shows its own certificate")
        self.certificates[owner] = self._shown[owner]
        self._came_over[owner] = self._connections
        if self._known.get(owner) != self._shown[owner]:
            self._known[owner] = self.unkept[owner] = self._shown[owner]
        self.arrivals[owner] = self.arrivals.get(owner, 0) + 1  # each time it may have forgotten its groups
        log.info("connected", extra={"owner": owner})

    def _dismiss(self, owner: str) -> None:
        if self.certificates.pop(owner, None) is not None:
            self._board.owner_gone(owner)
            log.info("lost", extra={"owner": owner})

    def _look_again(self) -> None:
        """Look at the certificates of all who are connected: some may hold no more, some hold again.

        A list of revocations that ran out makes everybody doubtful until a new one is there.
        """
        self._looked_at = time.monotonic()
        for owner, certificate in self._shown.items():
            try:
                self.verify(certificate)
                if owner not in self.certificates:
                    self._admit(owner)
            except FedgroupError:
                self._dismiss(owner)

    async def until_present(self, count: int, seconds: float) -> bool:
        """Wait until so many owners are here; tell whether they are."""
        try:
            async with asyncio.timeout(seconds), self._arrived:
                await self._arrived.wait_for(lambda: len(self.certificates) >= count)
        except TimeoutError:
            return False
        return True

    async def ask(
        self,
        about: bytes,
        messages: Mapping[str, Any],
        kinds: tuple[type, ...],
        *,
        seconds: float,
        patient: bool = False,
        taking: Callable[[str, Any], Any] = lambda _owner, message: message,
        enough: Callable[[], bool] = lambda: False,
    ) -> Replies:
        """Send each owner its message and return what is kept of what they said about it within the time.

        Nobody waits for more than `enough`. Who was silent all the time is asked again the next time, but until it says
        something only a `patient` caller waits for it as long as for others.
        """
        quiet: set[str] = set() if patient else self._quiet
        with self._board.expecting(about, kinds, messages, quiet=quiet, taking=taking, enough=enough) as replies:
            await self._link.send_many(_encoded(messages, self._encode))
            for owner in set(messages) - self.present:
                replies.give_up_on(owner)
            await replies.wait(seconds)
        if not enough():
            self._quiet |= replies.silent
        return replies

    async def ask_balances(self) -> None:
        """Ask those that tell what they have left now, and wait a moment; who is silent is thought no worse of."""
        telling = self.balances.telling(self.present)
        asked = self._balance()
        with self._board.expecting(asked.round, (Left,), telling) as replies:
            await self.tell(dict.fromkeys(telling, asked))
            await replies.wait(MOMENT_S)

    def _balance(self) -> Balance:
        """Return the next request for what is left: nothing is released for it, so a number will do as its name."""
        return Balance(next(self._requests).to_bytes(ID_BYTES, "big"))

    async def tell(self, messages: Mapping[str, Any]) -> None:
        """Send each owner its message, expecting nothing."""
        await self._link.send_many(_encoded(messages, self._encode))


def _encoded(messages: Mapping[str, Any], encode: Callable[[Any], bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield each message encoded, when it is sent; the same message to many owners is encoded once."""
    receivers = Counter(map(id, messages.values()))
    done: dict[int, bytes] = {}
    for owner, message in messages.items():
        encoded = done.get(id(message))
        if encoded is None:
            encoded = encode(message)
            if receivers[id(message)] > 1:
                done[id(message)] = encoded
        yield owner, encoded
