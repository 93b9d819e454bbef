"""The public log: whole and adding up when the provider is honest; each lie of a provider is found."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedgroup.epsilon import Epsilon
from fedgroup.errors import LedgerUnavailable, TooFewHeard, WrongLog
from fedgroup.identity import Identity, Trust
from fedgroup.live import public_log
from fedgroup.live.agreement import agreement
from fedgroup.live.asking import NamedRound
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.ledgers import open_ledger, take_another_log
from fedgroup.live.public_log import USUAL_LINKS, PublicLog
from fedgroup.live.settings import LiveSettings
from fedgroup.live.trial import make_trial
from fedgroup.live.verifying import LogRead, _leaf_told, read_log
from fedgroup.messages.asked import Go
from fedgroup.messages.logged import Head
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.heads import Heads
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.settings import GroupingSettings
from fedgroup.questions.query import Measure, RangeQuery
from fedgroup.rho import Rho
from fedgroup.secure.chain import canonical, root_of
from fedgroup.space import Box, Circle, Grid, PublicMap
from fedgroup.storage.log_file import LogFile
from fedgroup.storage.owner_ledger import OwnerLedger

ONE = Epsilon.of(1)


def count(radius: float = 3) -> RangeQuery:
    return RangeQuery("count", Circle(5, 5, radius), ONE)


def lines(city: Any) -> list[bytes]:
    return (city.folder / "provider.log.jsonl").read_bytes().splitlines()


def read(city: Any, trust: Trust | None = None) -> LogRead:
    return read_log(lines(city), trust=trust)


async def asked_of(city: Any) -> None:
    """Ask by every method, for a range and a map."""
    await city.provider.ask(count(), method="dp")
    await city.provider.ask(count(4), method="cohorts")
    await city.provider.regroup(GroupingSettings(graph="topcell"), epsilon=ONE, grid=(2, 2), mode="trusted")
    await city.provider.ask(count(2), method="fedgroup")
    await city.provider.map(
        RangeQuery("count", Grid(city.provider.settings.public_map.domain, 3, 3), ONE), method="mpc"
    )


def test_anybody_can_add_up_a_log_and_every_charge_of_every_owner_names_its_entry(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer) as found:
            answer = await found.provider.ask(count(1), method="dp")
            await asked_of(found)
            log = read(found, Trust.load(signer.folder.parent / "authority"))
            assert (log.answered, log.listed, log.failed, log.unended) == (5, 5, 0, 0)
            told = json.loads(lines(found)[answer.log_entry])["entry"]
            assert told["answer"] == {"value": answer.value, "interval": list(answer.interval)}
            for owner in found.owners.values():
                agreed = agreement(log, owner.ledger.path)
                assert (agreed.charges, agreed.counted, agreed.before, agreed.forks) == (6, 6, 0, 0)
            assert not any(name.encode() in line for line in lines(found) for name in found.owners)

    asyncio.run(run())


def test_sums_means_maps_and_prices_in_rho_are_read_back_from_the_log(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=4, accounting=Accounting.of("zcdp", 1e-6)) as found:
            for owner in found.owners.values():
                fares = np.random.default_rng(1).uniform(0, 9, len(owner.silo.records.x))
                owner.silo.records = replace(
                    owner.silo.records, owner=owner.silo.records.code, attributes={"fare": fares}
                )
                owner.silo.attributes = ("fare",)
            fare, rho = Measure("fare", 8.0, True, 0.25), Rho.of(0.01)
            place, cells = Circle(5, 5, 4), Grid(found.provider.settings.public_map.domain, 2, 3)
            for method in ("dp", "cohorts"):
                for kind in ("sum", "avg"):
                    await found.provider.ask(RangeQuery(kind, place, rho.pure, fare, rho=rho), method=method)
                await found.provider.map(RangeQuery("avg", cells, ONE, fare), method=method)
            log = read(found)
            assert (log.answered, log.listed) == (6, 6)
            agreed = agreement(log, found.owners["owner-2"].ledger.path)
            assert (agreed.charges, agreed.counted) == (6, 6)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("recovery", "rounds", "charges"), [(False, [2, [(1, 3)]], (3, 2)), (True, [1, [(0, 3)]], (2, 2))]
)
def test_a_spoilt_round_and_its_rerun_are_told_and_nothing_of_what_was_spoilt(
    recovery: bool, rounds: list[Any], charges: tuple[int, int], city: Callable[..., Any], signer: Identity
) -> None:
    """Where masks come off for the others, the one round is told, with how many were heard."""

    async def run() -> None:
        async with city(signer=signer, owners=4, recovery=recovery) as found:
            await found.provider.ask(count(), method="cohorts")
            sick = found.owners["owner-1"]
            prepare = sick.node.prepare

            def prepared(sender: str, message: Any, **more: Any) -> Any:
                if not isinstance(message, Go):
                    return prepare(sender, message, **more)
                sick.link.drop()  # the roster is fixed
                return []

            sick.node.prepare = prepared
            answer = await found.provider.ask(count(2), method="cohorts")
            told = json.loads(lines(found)[answer.log_entry])["entry"]
            assert answer.heard == 3
            assert [len(told["rounds"]), [(each["round"], each["heard"]) for each in told["groups"]]] == rounds
            log = read(found)
            assert (log.answered, log.unended) == (2, 0)
            agreed = agreement(log, found.owners["owner-0"].ledger.path)
            assert (agreed.charges, agreed.counted) == charges

    asyncio.run(run())


def test_a_round_that_is_asked_again_is_charged_once_and_is_of_one_question(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def keep(*_kept: Any) -> None:
        """Nothing dies here."""

    async def run() -> None:
        async with city(signer=signer, owners=3) as found:
            named = NamedRound(secrets.token_bytes(16), frozenset(), {}, keep)

            async def ask(query: RangeQuery) -> None:
                async with found.provider.question(query, method="dp") as asked:
                    await asked.tallied(by="ann", quorum=None, may_rerun=lambda: False, named=named)

            await ask(count())
            await ask(count())
            log = read(found)
            assert (log.answered, log.unended, len(log.rounds)) == (2, 0, 1)
            for owner in found.owners.values():
                agreed = agreement(log, owner.ledger.path)
                assert (agreed.charges, agreed.counted) == (1, 1)
            one = found.owners["owner-0"].ledger
            one.charge([Charge(ONE, "query", f"again, round {named.id[:4].hex()}, log entry 3")])
            with pytest.raises(WrongLog, match="charged twice"):
                agreement(log, one.path)
            await ask(count(2))
            with pytest.raises(WrongLog, match="not a new one"):
                read(found)

    asyncio.run(run())


def _changed(line: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    said = json.loads(line)
    change(said)
    return canonical(said)


def _swap(all_lines: list[bytes]) -> None:
    all_lines[3], all_lines[4] = all_lines[4], all_lines[3]


TAMPERED: dict[str, tuple[Callable[[list[bytes]], Any], int]] = {
    "a changed sum": (lambda all_: _put(all_, 2, lambda said: _bump(said["entry"]["groups"][0]["sums"])), 2),
    "a changed question": (lambda all_: _put(all_, 1, lambda said: said["entry"]["question"].update(kind="people")), 1),
    "two entries swapped": (_swap, 3),
    "one left out": (lambda all_: all_.pop(3), 3),
    "one twice": (lambda all_: all_.insert(3, all_[2]), 3),
    "another spelling": (lambda all_: all_.__setitem__(2, all_[2].replace(b":", b": ", 1)), 2),
    "no JSON": (lambda all_: all_.__setitem__(2, b"{"), 2),
}


def _put(all_lines: list[bytes], at: int, change: Callable[[dict[str, Any]], Any]) -> None:
    all_lines[at] = _changed(all_lines[at], change)


def _bump(sums: list[int]) -> None:
    sums[0] += 1


def test_whatever_is_changed_in_a_log_is_found_where_it_was_changed(city: Callable[..., Any], signer: Identity) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=3) as found:
            for radius in (1, 2, 3):
                await found.provider.ask(count(radius), method="dp")
            for tamper, line in TAMPERED.values():
                tampered = lines(found)
                tamper(tampered)
                with pytest.raises(WrongLog) as wrong:
                    read_log(tampered)
                assert wrong.value.line == line
            cut = read_log(lines(found)[:-2])  # a log that is cut off is whole to who never saw more
            with pytest.raises(WrongLog, match="the log ends before it"):
                agreement(cut, found.owners["owner-0"].ledger.path)

    asyncio.run(run())


def _rooted(told: dict[str, Any]) -> None:
    leaves = [_leaf_told(each, told["rounds"]) for each in told["groups"]]
    told["root"] = root_of(leaves).hex()


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "its totals are not the sum": lambda told: told["totals"]["count"].__setitem__(0, 999),
    "its answer is not what": lambda told: told["answer"].update(value=told["answer"]["value"] + 1),
    "its owners are not those": lambda told: told.update(heard=told["heard"] - 1),
    "its noises are not those": lambda told: told.update(noises=told["noises"] - 1),
    "its root is not that": lambda told: told.update(root=told["root"][::-1]),
    "a round that nobody was asked in": lambda told: told.update(rounds=["00" * 16]),
    "its groups are not in their order": lambda told: told["groups"].reverse(),
    "its owners are not": lambda told: told["groups"].insert(0, told["groups"][0]) or _rooted(told),
}


@pytest.mark.parametrize("why", LIES)
def test_a_provider_that_signs_what_does_not_add_up_is_found(
    city: Callable[..., Any], signer: Identity, why: str
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=3) as found:
            await found.provider.ask(count(), method="dp")
            honest = found.provider.log._add

            def lying(entry: dict[str, Any]) -> int:
                if entry["kind"] == "answered":
                    LIES[why](entry)
                return honest(entry)

            found.provider.log._add = lying
            answer = await found.provider.ask(count(2), method="dp")
            with pytest.raises(WrongLog, match=why) as wrong:
                read(found)
            assert wrong.value.line == answer.log_entry

    asyncio.run(run())


def test_an_owner_that_saw_a_log_refuses_a_fork_and_keeps_the_proof_until_told_otherwise(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=3) as found:
            await found.provider.ask(count(1), method="dp")
            shutil.copy(found.folder / "provider.log.jsonl", found.folder / "older.jsonl")
            await found.provider.ask(count(2), method="dp")
            spent = {name: owner.ledger.spent() for name, owner in found.owners.items()}
            _go_on_with(found, found.folder / "older.jsonl", signer)
            with pytest.raises(TooFewHeard) as refused:
                await found.provider.ask(count(3), method="dp")
            assert refused.value.refused == {"log": 3}
            assert not refused.value.charged
            assert {name: owner.ledger.spent() for name, owner in found.owners.items()} == spent
            assert agreement(read(found), found.owners["owner-0"].ledger.path).forks == 1
            with pytest.raises(WrongLog, match="another log up to here"):
                agreement(read_log((found.folder / "older.jsonl").read_bytes().splitlines()),
                          found.owners["owner-0"].ledger.path)  # fmt: skip
            await found.add("owner-9")
            assert (await found.provider.ask(count(3), method="dp")).heard == 1  # a new one believes the first it sees
            one = found.owners["owner-0"]
            one.ledger.accept_another_log()
            one.node.heads = found.heads(one.ledger)
            assert (await found.provider.ask(count(4), method="dp")).heard == 2

    asyncio.run(run())


def _go_on_with(city: Any, file: Path, signer: Identity) -> None:
    """Let the provider go on with another file, as if the one that owners saw had never been."""
    forked = PublicLog(LogFile(file), city.provider.settings, signer, agreed=b"")
    city.provider.log = city.provider._asking._log = forked


def test_an_owner_that_was_away_is_led_to_the_head_and_an_owner_started_again_remembers(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=2) as found:
            await found.provider.ask(count(1), method="dp")
            await found.kill("owner-1")
            for radius in range(2, 4 + USUAL_LINKS):
                await found.provider.ask(count(radius / 4), method="dp")
            away = found.owners["owner-1"]
            away.node.heads = found.heads(away.ledger)  # as after a restart
            before = away.node.heads.told(bytes(16))[0].number
            await found.start(away)
            assert await found.provider.desk.until_present(2, 60)
            while away.node.heads.told(bytes(16))[0].number < len(found.provider.log) - 1:
                await asyncio.sleep(0.01)
            assert before < len(found.provider.log) - 1 - USUAL_LINKS
            assert (await found.provider.ask(count(4), method="dp")).heard == 2

    asyncio.run(run())


def test_an_owner_that_was_away_while_the_provider_renewed_its_key_is_led_on(
    tmp_path: Path, provider_of: Callable[[Path], Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was away for longer than one message leads over, so that the first of several ends before the new key."""
    before, after = (provider_of(tmp_path / name) for name in ("before", "after"))
    settings = LiveSettings("city", PublicMap(Box(0, 0, 10, 10)), Protection())
    monkeypatch.setattr(public_log, "MOST_LINKS", 8)

    async def run() -> None:
        file = LogFile(tmp_path / "log.jsonl")
        first = PublicLog(file, settings, before, agreed=b"")
        for _ in range(20):
            await first.failed([secrets.token_bytes(16)])
        renewed = PublicLog(file, settings, after, agreed=b"")
        with closing(OwnerLedger(tmp_path / "l.db")) as ledger:
            ledger.note_head(Head(0, bytes.fromhex(json.loads(file.read(1, 1)[0])["previous"]), bytes(64)))
            ledger.begin_rounds([(bytes(16), Charge(ONE, "query", "before"), "s")])  # heads go with charges
            heads = Heads(ledger, "city")
            heads.signed_by(lambda: after.certificate.tls_key)
            chains = await renewed.chains_after(0)
            for chain in chains:
                heads.follow(chain)
        assert len(chains) == 3
        assert heads.told(bytes(16))[0].number == len(renewed) - 1

    asyncio.run(run())


def test_questions_at_the_same_time_are_followed_however_their_ends_come(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=2) as found:
            for turn in range(3):
                questions = [count(1 + turn + number / 100) for number in range(3 * USUAL_LINKS)]
                answers = await asyncio.gather(*(found.provider.ask(each, method="dp") for each in questions))
                assert {each.heard for each in answers} == {2}
            log = read(found)
            assert (log.answered, log.unended) == (9 * USUAL_LINKS, 0)

    asyncio.run(run())


def test_an_owner_that_cannot_follow_says_so_and_is_led_on_to_the_next_question(
    city: Callable[..., Any], signer: Identity
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=2) as found:
            await found.provider.ask(count(1), method="dp")
            for _ in range(3 * USUAL_LINKS):
                await found.provider.log.asked(secrets.token_bytes(16), WireQuery.of(count()), owners=2)
            found.provider.log._open.clear()  # as if nobody had been asked
            with pytest.raises(TooFewHeard) as behind:
                await found.provider.ask(count(2), method="dp")
            assert (behind.value.refused, behind.value.charged) == ({"log": 2}, False)
            heads = [owner.node.heads for owner in found.owners.values()]
            while min(each.told(bytes(16))[0].number for each in heads) < len(found.provider.log) - 1 - USUAL_LINKS:
                await asyncio.sleep(0.01)
            assert (await found.provider.ask(count(3), method="dp")).heard == 2

    asyncio.run(run())


def test_nobody_is_asked_and_nothing_charged_while_the_log_cannot_be_written(
    city: Callable[..., Any], signer: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=2) as found:
            with monkeypatch.context() as broken:
                broken.setattr(LogFile, "append", _fails)
                with pytest.raises(TooFewHeard) as failed:
                    await found.provider.ask(count(), method="dp")
                assert not failed.value.charged
            assert {float(owner.ledger.spent()) for owner in found.owners.values()} == {0.0}
            assert (await found.provider.ask(count(), method="dp")).heard == 2
            assert read(found).unended == 1

    asyncio.run(run())


def _fails(_self: LogFile, _lines: Any) -> None:
    raise LedgerUnavailable("no room")


def test_a_log_goes_on_after_a_crash_and_with_another_certificate(
    city: Callable[..., Any], signer: Identity, tmp_path: Path, provider_of: Callable[[Path], Identity]
) -> None:
    async def run() -> None:
        async with city(signer=signer, owners=2) as found:
            await found.provider.ask(count(), method="dp")
            file = found.folder / "provider.log.jsonl"
            whole = file.read_bytes()
            file.write_bytes(whole + b'{"cut off')
            _go_on_with(found, file, signer)
            assert file.read_bytes() == whole
            assert (await found.provider.ask(count(2), method="dp")).heard == 2
            assert read(found).answered == 2
            other = provider_of(tmp_path / "other")  # of an authority that only calls itself the federation's
            _go_on_with(found, file, other)
            found.signer = other
            answer = await found.provider.ask(count(4), method="dp")
            assert (answer.heard, read(found).answered, read(found).renewed) == (2, 3, [5])
            with pytest.raises(WrongLog, match="not signed by the federation's authority") as wrong:
                read(found, Trust.load(signer.folder.parent / "authority"))
            assert wrong.value.line == 5

    asyncio.run(run())


def test_an_owner_started_once_with_new_log_believes_another_and_keeps_what_it_saw(tmp_path: Path) -> None:
    make_trial(tmp_path / "trial", owners=2, seed=1, records_per_owner=2)
    file = min((tmp_path / "trial" / "owners").glob("*/owner.toml"))
    config = read_config(file, OwnerConfig)
    with closing(open_ledger(config, holder=file.parent.name, new_ledger=True).ledger) as ledger:
        ledger.note_head(Head(7, bytes(32), bytes(64), bytes(16)))
        assert ledger.begin_rounds([(bytes(16), Charge(ONE, "query", "a question"), "1")]) == [(True, None)]
        assert ledger.last_head() == (7, bytes(32))
    take_another_log(config)
    with closing(open_ledger(config, holder=file.parent.name, new_ledger=False).ledger) as ledger:
        assert ledger.last_head() is None
        assert "another log" in ledger.entries()[-1].question
        with ledger._reading() as connection:
            assert connection.execute("SELECT log, number FROM heads").fetchall() == [(0, 7)]
