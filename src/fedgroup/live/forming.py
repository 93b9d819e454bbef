"""Forming groups of live owners: offer, commit, reveal, seal. Owners that refuse or fall silent stay alone."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError, TooFewHeard
from fedgroup.live.comparing import Learnt, LiveComparing
from fedgroup.live.desk import Desk
from fedgroup.live.logs import note_refusals
from fedgroup.live.mending import Lapses
from fedgroup.live.plans import LiveGroup, LivePlan, Roster, cohorts_of
from fedgroup.live.public_log import PublicLog
from fedgroup.live.settings import MPC_MOST, longer_with
from fedgroup.messages import Grouping, NoisyVectors
from fedgroup.messages.asked import Describe, Offer, Reveal, Seal
from fedgroup.messages.said import Accepted, Described, Revealed, Sealed, perhaps_charged
from fedgroup.owner.groups import group_digest
from fedgroup.privacy.release import scale_of_noise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.role import Provider
from fedgroup.provider.settings import GroupingSettings
from fedgroup.secure.mask_graph import public_seed
from fedgroup.secure.round import MaskSettings
from fedgroup.space import PublicMap

log = logging.getLogger("fedgroup.provider")

ATTEMPTS = 3
"""How often a group is offered anew without the members that refused."""
_AT_ONCE = 16
_OFFERED_BYTES = 32 << 20
_CERTIFICATE_BYTES = 512
"""About: every member is shown everybody's, so an offer takes the square of the members."""


class Forming:
    """Makes plans out of owners that are here."""

    def __init__(
        self,
        desk: Desk,
        lapses: Lapses,
        *,
        public_map: PublicMap,
        protection: Protection,
        seconds: float = 10.0,
        most: int = MPC_MOST,
        log: PublicLog | None = None,
    ) -> None:
        self._desk = desk
        self._lapses = lapses
        self._map = public_map
        self._protection = protection
        self._usual_s = seconds
        self._most = most
        self._log = log
        self._provider = Provider()
        self._learnt = Learnt()
        self._unheard: dict[str, Describe] = {}  # what each owner was asked for the last time, until it is heard

    @property
    def _seconds(self) -> float:
        """How long a step may take; where many owners are here, longer."""
        return self._usual_s * longer_with(len(self._desk.present))

    async def by_similarity(
        self, settings: GroupingSettings, *, epsilon: Epsilon, grid: tuple[int, int], mode: str, terms: MaskSettings
    ) -> LivePlan:
        """Ask every owner for its noisy vector, group them, and form the groups.

        Costs every owner `epsilon`; the graph `secure` compares owners instead, and costs one bit a comparison.
        """
        vectors, names = (
            (None, sorted(self._desk.present)) if not settings.kind.vectors else (await self._vectors(epsilon, grid))
        )
        grouping = await self._grouping(settings, vectors, names, grid)
        labels = grouping.partition.labels
        members = [tuple(names[i] for i in np.flatnonzero(labels == g)) for g in range(grouping.partition.groups)]
        # owners are charged by now: groups that are too large to be formed are made into several
        rosters = [part for each in members if len(each) > 1 for part in self._parts(mode, each)]
        if settings.leftovers == "cohort":
            rest = (name for each in members if len(each) == 1 for name in each)
            rosters += _cohorts(rest, settings.cohort_size)
        plan_id = secrets.token_hex(8)
        groups = await self.formed(plan_id, rosters, terms=terms)
        return LivePlan(
            plan_id,
            "fedgroup",
            mode,
            tuple(groups),
            tuple(rosters),
            float(grouping.epsilon),
            grouping.guarantee,
            dict(grouping.settings),
        )

    def _parts(self, mode: str, members: tuple[str, ...]) -> list[Roster]:
        return [Roster(mode, members)] if len(members) <= self._most else _cohorts(members, self._most, mode=mode)

    async def _grouping(
        self, settings: GroupingSettings, vectors: NoisyVectors | None, names: list[str], grid: tuple[int, int]
    ) -> Grouping:
        """Group by noisy vectors, and by secure comparisons of owners that opted in where the graph asks for them."""
        if vectors is not None and not settings.kind.compares:
            return await asyncio.to_thread(self._provider.group, vectors, settings, private=True)
        compare = LiveComparing(
            self._desk, grid=grid, threshold=settings.threshold, seconds=self._seconds, learnt=self._learnt
        )
        await compare.recall(names)
        return await asyncio.to_thread(
            self._provider.group_compared,
            vectors,
            settings,
            owners=len(names),
            compare=compare.from_thread(names),
            private=True,
            report=compare.report,
        )

    async def by_chance(self, method: str, size: int, terms: MaskSettings, *, after: LivePlan | None) -> LivePlan:
        """Form masked cohorts of owners in random order; costs nothing, says nothing about anybody's data.

        Where they follow a plan, the order does too: from the numbers that its members told to seal their groups.
        """
        able, seed = self._desk.present - self._lapses.left_out, None if after is None else after.joint_seed
        plan_id, rosters = secrets.token_hex(8), _cohorts(able, size, seed=seed)
        groups = await self.formed(plan_id, rosters, terms=terms)
        return LivePlan(plan_id, method, "masked", tuple(groups), tuple(rosters))

    async def _vectors(self, epsilon: Epsilon, grid: tuple[int, int]) -> tuple[NoisyVectors, list[str]]:
        asked = Describe(secrets.token_bytes(16), grid[0], grid[1], epsilon.nano, self._desk.agreed)
        if self._log is not None:
            asked = replace(asked, logged=await self._log.described(asked, owners=len(self._desk.present)))
        try:
            said, refused, silent = await self._described(asked)
        except BaseException:
            if self._log is not None:
                await self._log.failed([asked.round])
            raise
        if self._log is not None:
            await self._log.vectors({each.round for each in said.values()} | {asked.round}, heard=len(said))
        note_refusals(log, refused)
        names = sorted(name for name, each in said.items() if len(each.counts) == grid[0] * grid[1])
        if not names:
            charged = bool(said or silent) or perhaps_charged(refused.values())
            raise TooFewHeard(heard=0, needed=1, refused=Counter(refused.values()), charged=charged)
        counts = np.array([said[name].counts for name in names], dtype=np.int64)
        scale = scale_of_noise(self._protection.of_histogram(), epsilon)
        return NoisyVectors(counts, self._map.grid(*grid), scale, epsilon), names

    async def _described(self, new: Describe) -> tuple[dict[str, Described], dict[str, str], set[str]]:
        """Return the vectors of the owners that are here, why others refuse, and who said nothing.

        Who was too late the last time is asked for that vector again, by the id of its round: it has paid for it.
        """
        asked = {name: self._asked_before(name, new) for name in sorted(self._desk.present)}
        self._unheard |= asked
        rounds: dict[bytes, dict[str, Describe]] = {}
        for name, one in asked.items():
            rounds.setdefault(one.round, {})[name] = one
        waiting = [
            self._desk.ask(name, owners, (Described,), seconds=self._seconds, patient=True)
            for name, owners in rounds.items()
        ]
        said: dict[str, Described] = {}
        refused: dict[str, str] = {}
        for replies in await asyncio.gather(*waiting):
            said |= replies.said
            refused |= replies.refused
        for name in (*said, *(name for name, reason in refused.items() if reason != "ledger")):
            # a ledger that failed may have kept the charge; who says `log` has no such vector, and has not paid for it
            self._unheard.pop(name, None)
        return said, refused, set(asked) - set(said) - set(refused)

    def _asked_before(self, owner: str, new: Describe) -> Describe:
        known = self._unheard.get(owner)
        return known if known is not None and replace(known, round=new.round, logged=new.logged) == new else new

    async def formed(self, plan_id: str, rosters: Sequence[Roster], *, terms: MaskSettings) -> list[LiveGroup]:
        """Return the groups that came about, of the rosters wished for."""
        turn = asyncio.Semaphore(_at_once(rosters))

        async def one(number: int, roster: Roster) -> LiveGroup | None:
            async with turn:
                return await self._form(f"{plan_id}.{number}", roster.members, mode=roster.mode, terms=terms)

        found = await asyncio.gather(*(one(i, roster) for i, roster in enumerate(rosters)))
        return [group for group in found if group is not None]

    async def _form(self, name: str, roster: tuple[str, ...], *, mode: str, terms: MaskSettings) -> LiveGroup | None:
        for attempt in range(ATTEMPTS):
            able = Roster(mode, roster).able(self._desk.present, self._lapses.left_out)
            roster = tuple(owner for owner in roster if owner in able)
            if len(roster) < 2:
                return None
            group = LiveGroup(f"{name}.{attempt}", mode, roster, terms.terms(len(roster)))
            certificates = [self._desk.certificates.get(owner, b"") for owner in roster]
            agreed, seed = await self._agreed(group, certificates, terms)
            if agreed == set(roster):
                return self._signing(replace(group, seed=seed), certificates)
            roster = tuple(owner for owner in roster if owner in agreed)
        return None

    def _signing(self, group: LiveGroup, certificates: Sequence[bytes]) -> LiveGroup:
        """Return a sealed group with what its members' signatures are checked by, where they sign who was heard."""
        if group.recovery is None or not group.recovery.signers:
            return group
        try:
            members = [self._desk.verify(each) for each in certificates]
        except FedgroupError:  # one was revoked since, and the group will not last
            return group
        seed, keys = bytes.fromhex(group.seed), [each.exchange_key for each in members]
        digest = group_digest(group.name, group.mode, group.terms, seed=seed, keys=keys)
        return replace(group, digest=digest.hex(), keys=tuple(each.tls_key.hex() for each in members))

    async def _agreed(self, group: LiveGroup, certificates: list[bytes], terms: MaskSettings) -> tuple[set[str], str]:
        """Return who agreed, and the seed that their numbers make; when all did, the group is sealed."""
        accepted = await self._offered(group, certificates, terms)
        if set(accepted) != set(group.members):
            return set(accepted), ""
        promised = Reveal.of(group.name, (accepted[name] for name in group.members))
        revealed = await self._step(group, promised, Revealed)
        if set(revealed) != set(group.members):
            return set(revealed), ""
        told = Seal.of(group.name, (revealed[name] for name in group.members))
        return set(await self._step(group, told, Sealed)), public_seed(told.numbers).hex()

    async def _offered(self, group: LiveGroup, certificates: list[bytes], terms: MaskSettings) -> dict[str, Any]:
        offers = {
            name: Offer(
                group.name,
                group.mode,
                certificates,
                position,
                terms.colluders,
                terms.silent(len(group.members)),
                agreed=self._desk.agreed,
            )
            for position, name in enumerate(group.members)
        }
        return await self._said(group, offers, Accepted)

    async def _step(self, group: LiveGroup, message: Any, kind: type) -> dict[str, Any]:
        return await self._said(group, dict.fromkeys(group.members, message), kind)

    async def _said(self, group: LiveGroup, messages: dict[str, Any], kind: type) -> dict[str, Any]:
        """Return what members say; who is silent lapses, so that the group is tried again once it has answered alone.

        Where nobody says anything, the line is to blame.
        """
        replies = await self._desk.ask(group.name.encode(), messages, (kind,), seconds=self._seconds, patient=True)
        if replies.said or replies.refused:
            self._lapses.note_failed(replies.silent)
        return replies.said


def _at_once(rosters: Sequence[Roster]) -> int:
    """Return how many groups are formed at the same time, so that offers under way stay within a bound."""
    largest = max((len(roster.members) for roster in rosters), default=1)
    return max(1, min(_AT_ONCE, _OFFERED_BYTES // (largest * largest * _CERTIFICATE_BYTES)))


def _cohorts(names: Iterable[str], size: int, *, mode: str = "masked", seed: bytes | None = None) -> list[Roster]:
    """Return groups of two owners to about so many, made by chance or from a seed, and as few as fit."""
    chance = secrets.token_bytes(32) if seed is None else seed
    shuffled = sorted(names, key=lambda name: hashlib.sha256(b"fedgroup cohorts v1" + chance + name.encode()).digest())
    return [Roster(mode, each) for each in cohorts_of(shuffled, size) if len(each) > 1]
