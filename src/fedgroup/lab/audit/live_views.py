"""What a provider sees of live owners: their real answering code, with certificates, ledgers on disk and the codec."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import ProtocolViolation
from fedgroup.identity.authority import Authority
from fedgroup.identity.own import Identity, write_answer, write_request
from fedgroup.identity.trust import Trust
from fedgroup.lab.audit.views import COLLUDERS, DELTA, Numbers, Overheard, Price, question
from fedgroup.lab.audit.worlds import MAP, Setting
from fedgroup.messages.asked import Ask, Describe, Go, Offer, Reveal, Seal
from fedgroup.messages.live import FromOwner, ToOwner
from fedgroup.messages.said import Described, Letter, Masked, Noisy, Ready, Sealed
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.noise import NoiseSource
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.transport.codec import decode, encode

_CAP = 1_000_000
_TOGETHER = 250
_WITHIN_MS = 600_000
_PLAN = "audit"
_TO_OWNERS = (*get_args(ToOwner), Letter)
_FROM_OWNERS = (*get_args(FromOwner), Letter)


class _LiveOwners:
    """Live owners in one process, the first of whom holds the records; each has its own keys, ledger and noise."""

    def __init__(self, setting: Setting, records: Records, *, price: Price, noise: NoiseSource) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fedgroup-audit-")
        self._rounds = itertools.count()
        place = Path(self._folder.name)
        authority = Authority.create(place / "authority", "audit")
        self._trust = Trust.load(place / "authority")
        self.identities = [_enrolled(authority, self._trust, place / f"o{i}") for i in range(len(records.owners))]
        self.noises = [Overheard(noise) for _ in self.identities]
        self.nodes = [self._node(setting, records, price, position) for position in range(len(self.identities))]

    @property
    def first_ledger(self) -> Any:
        return self.nodes[0].ledger

    def _node(self, setting: Setting, records: Records, price: Price, position: int) -> OwnerNode:
        identity = self.identities[position]
        ledger = OwnerLedger(identity.folder / "ledger.db", flushed_later=True)
        if price.rho is not None:
            ledger.count_as(Accounting.of("zcdp", DELTA))
        ledger.set_cap(Epsilon.of(_CAP))
        own = records.keep(records.code == position)
        return OwnerNode(
            identity, TableSilo(own, MAP, protection=setting.protection), public_map=MAP,
            protection=setting.protection, ledger=ledger, noise=self.noises[position],
            policy=Policy(modes=("masked", "trusted"), trusted_with=("*",), fewest_colluders=1),
            verify=self._trust.verify, encode=encode,
        )  # fmt: skip

    def next_round(self) -> bytes:
        return next(self._rounds).to_bytes(16, "big")

    def say(self, position: int, message: Any, sender: str = PROVIDER) -> list[tuple[str, Any]]:
        """Return what an owner says to a message that came over the wire, and to whom."""
        heard = decode(encode(message), _TO_OWNERS)
        return [(to, decode(said, _FROM_OWNERS)) for to, said in self.nodes[position].prepare(sender, heard)]

    def form(self, mode: str) -> None:
        """Let all owners form one group."""
        ders, everyone = [each.certificate.der for each in self.identities], range(len(self.nodes))
        offers = [Offer(_PLAN, mode, ders, i, min(COLLUDERS, len(ders) - 1), 0) for i in everyone]
        accepted = [self.only(i, offers[i]) for i in everyone]
        revealed = [self.only(i, Reveal.of(_PLAN, accepted)) for i in everyone]
        sealed = [self.only(i, Seal.of(_PLAN, revealed)) for i in everyone]
        _require(all(isinstance(each, Sealed) for each in sealed))

    def only(self, position: int, message: Any) -> Any:
        ((_, said),) = self.say(position, message)
        return said

    def flush(self) -> None:
        """Wait for the disk: nothing counts as sent before."""
        for node in self.nodes:
            node.ledger.flush()

    def close(self) -> None:
        for node in self.nodes:
            node.ledger.close()  # type: ignore[attr-defined]  # ours is a file
        self._folder.cleanup()


class LiveAnswers:
    """A question put to a live owner alone, over and over."""

    def __init__(self, setting: Setting, records: Records, *, price: Price, noise: NoiseSource) -> None:
        self._owners = _LiveOwners(setting, records, price=price, noise=noise)
        self._query = WireQuery.of(question(setting, price, records))
        self.draw(1)
        self.charge = float(self._owners.first_ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many answers; many questions are answered together, as messages that come together are."""
        rows = [self._drawn(min(_TOGETHER, times - first)) for first in range(0, times, _TOGETHER)]
        return np.array([row for some in rows for row in some], dtype=np.float64)

    def close(self) -> None:
        """Remove the owner's files."""
        self._owners.close()

    def _drawn(self, times: int) -> list[list[int]]:
        asked = [encode(Ask(self._owners.next_round(), self._query, None, _WITHIN_MS)) for _ in range(times)]
        said = self._owners.nodes[0].prepare_many([(PROVIDER, decode(each, _TO_OWNERS)) for each in asked])
        self._owners.flush()
        replies = [decode(reply, _FROM_OWNERS) for letters in said for _, reply in letters]
        return [_kind(reply, Noisy).sums for reply in replies]


class LiveVectors:
    """The noisy vector of a live owner, asked for over and over."""

    def __init__(self, setting: Setting, records: Records, *, price: Price, noise: NoiseSource) -> None:
        self._owners = _LiveOwners(setting, records, price=price, noise=noise)
        self._epsilon = Epsilon.of(price.epsilon or 0)
        self.draw(1)
        self.charge = float(self._owners.first_ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many vectors."""
        asked = (Describe(self._owners.next_round(), 2, 2, self._epsilon.nano) for _ in range(times))
        found = [_kind(self._owners.only(0, each), Described).counts for each in asked]
        self._owners.flush()
        return np.array(found, dtype=np.float64)

    def close(self) -> None:
        """Remove the owner's files."""
        self._owners.close()


class LiveGroups:
    """A question put to a group of live owners: what the leader sends, or the masked sum less colluders' shares."""

    def __init__(self, setting: Setting, records: Records, *, mode: str, price: Price, noise: NoiseSource) -> None:
        self._owners = _LiveOwners(setting, records, price=price, noise=noise)
        self._owners.form(mode)
        self._mode = mode
        self._query = question(setting, price, records)
        self._wire = WireQuery.of(self._query)
        self.draw(1)
        self.charge = float(self._owners.first_ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many answers."""
        found = [self._masked() if self._mode == "masked" else self._led() for _ in range(times)]
        self._owners.flush()
        return np.array(found, dtype=np.float64)

    def close(self) -> None:
        """Remove the owners' files."""
        self._owners.close()

    def _asked(self) -> Ask:
        return Ask(self._owners.next_round(), self._wire, _PLAN, _WITHIN_MS)

    def _led(self) -> Sequence[int]:
        """Play a round of a trusted group: members write to the leader, who adds up."""
        asked, everyone = self._asked(), range(len(self._owners.nodes))
        _kind(self._owners.only(0, asked), Ready)
        for position in everyone[1:]:
            letters = [said for _, said in self._owners.say(position, asked) if isinstance(said, Letter)]
            self._owners.say(0, letters[0], sender=self._owners.identities[position].name)
        return list(_kind(self._owners.only(0, Go(asked.round, list(everyone))), Noisy).sums)

    def _masked(self) -> Sequence[int]:
        """Play a round of a masked group, of whom the last members tell the provider their shares of noise."""
        asked, everyone = self._asked(), range(len(self._owners.nodes))
        for position in everyone:
            _kind(self._owners.only(position, asked), Ready)
        go, bins = Go(asked.round, list(everyone)), self._query.bins
        sent = [_kind(self._owners.only(position, go), Masked).words for position in everyone]
        width = len(sent[0]) // (bins * len(self._query.parts))
        words = np.array([np.frombuffer(each, dtype=f"<u{width}") for each in sent])
        shares = [np.stack(noise.taken(), axis=1).ravel() for noise in self._owners.noises]
        signed = words.sum(axis=0, dtype=words.dtype).astype(f"<i{width}").astype(np.int64)
        known = sum(shares[-COLLUDERS:], start=np.zeros(len(signed), dtype=np.int64))
        return [*(signed - known).tolist(), *words[0].astype(f"<i{width}").tolist()]


def _enrolled(authority: Authority, trust: Trust, folder: Path) -> Identity:
    write_answer(folder, authority.issue(write_request(folder, folder.name, "owner")), trust)
    return Identity.load(folder)


def _kind(said: Any, kind: type) -> Any:
    """Return what an owner said if it is of a kind: a refusal would be counted as an outcome else."""
    _require(isinstance(said, kind))
    return said


def _require(expected: bool) -> None:
    if not expected:
        raise ProtocolViolation("an owner refused what the audit asked")
