"""`fedgroup verify`: a whole log is said to be so; the first wrong entry is named, and the exit code tells."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import closing
from pathlib import Path

from fedgroup.epsilon import Epsilon
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.identity.requests import LOCAL_HOSTS
from fedgroup.live.public_log import PublicLog
from fedgroup.live.settings import LiveSettings
from fedgroup.messages.logged import Head
from fedgroup.messages.wire_query import WireQuery, WireRange
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.sensitivity import Protection
from fedgroup.space import Box, PublicMap
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.hosted_ledger import HostedLedger
from fedgroup.storage.log_file import LogFile
from fedgroup.storage.owner_ledger import OwnerLedger


def test_a_log_is_verified_and_its_first_wrong_entry_is_named(fedgroup, tmp_path):
    log = tmp_path / "provider.log.jsonl"
    asyncio.run(_write(log, _provider(tmp_path)))
    with closing(OwnerLedger(tmp_path / "ledger.db")):
        pass
    told = ("verify", log, "--authority", tmp_path / "authority", "--ledger", tmp_path / "ledger.db")
    facts = fedgroup(*told, "--json").json
    assert (facts["federation"], facts["entries"], facts["failed"], facts["unended"]) == ("city", 4, 1, 1)
    assert facts["ledgers"][str(tmp_path / "ledger.db")]["charges"] == 0
    shown = fedgroup("verify", log)
    assert (shown.code, facts["head"] in shown.out.replace("\n", ""), "--authority" in shown.out) == (0, True, True)
    log.write_bytes(log.read_bytes().replace(b'"epsilon_nano":1000', b'"epsilon_nano":2000', 1))
    wrong = fedgroup(*told)
    assert (wrong.code, wrong.out) == (2, "")
    assert "entry 1 of the log is wrong: the provider did not sign it" in " ".join(wrong.err.split())
    assert fedgroup("verify", tmp_path / "nothing").code == 2


def test_a_file_that_many_owners_share_is_checked_for_all_of_them_or_for_one(fedgroup, tmp_path):
    log, own, shared = (tmp_path / name for name in ("provider.log.jsonl", "own.db", "shared.db"))
    asyncio.run(_write(log, _provider(tmp_path)))
    with closing(OwnerLedger(own)), closing(HostedFile(shared)) as file:
        for name in ("ann", "bob"):
            HostedLedger(file, name, new=True)
    told = ("verify", log, "--ledger", own, "--ledger", shared)
    assert list(fedgroup(*told, "--json").json["ledgers"]) == [str(own), f"{shared} of ann", f"{shared} of bob"]
    assert list(fedgroup(*told, "--of", "bob", "--json").json["ledgers"]) == [str(own), str(shared)]
    for wrong, why in (
        ((*told, "--of", "cid"), "no ledger of 'cid', but those of 2 other owners"),
        (("verify", log, "--ledger", own, "--of", "ann"), "none of these is one"),
        (("verify", log, "--of", "ann"), "none of these is one"),
    ):
        refused = fedgroup(*wrong)
        assert (refused.code, why in " ".join(refused.err.split())) == (2, True)
    with closing(HostedFile(shared)) as file:
        bob = HostedLedger(file, "bob")
        bob.note_head(Head(99, bytes(32), bytes(64)))
        bob.begin_rounds([(bytes(16), Charge(Epsilon.of(1), "query", "how many?"), "")])
    refused = fedgroup(*told)
    assert f"the log ends before it ({shared} of bob)" in " ".join(refused.err.split()).replace("- ", "-")


def test_a_log_that_is_read_without_an_authority_tells_where_another_certificate_begins_to_count(fedgroup, tmp_path):
    log = tmp_path / "provider.log.jsonl"
    asyncio.run(_write(log, _provider(tmp_path / "ours")))
    other = _provider(tmp_path / "forged")
    asyncio.run(_write(log, other))
    assert fedgroup("verify", log, "--json").json["renewed"] == [4]
    assert "another certificate counts from entry 4 on" in " ".join(fedgroup("verify", log).out.split())
    assert fedgroup("verify", log, "--authority", tmp_path / "ours" / "authority").code == 2


def _provider(folder: Path) -> Identity:
    authority = Authority.create(folder / "authority", "city")
    request = write_request(folder / "keys", "provider", "provider", hosts=LOCAL_HOSTS)
    write_answer(folder / "keys", authority.issue(request), Trust.load(authority.folder, stale=True))
    return Identity.load(folder / "keys")


async def _write(file: Path, provider: Identity) -> None:
    settings = LiveSettings("city", PublicMap(Box(0, 0, 10, 10)), Protection())
    with closing(LogFile(file)) as lines:
        log = PublicLog(lines, settings, provider, agreed=b"")
        query = WireQuery("count", WireRange("circle", [1, 2, 3]), 10**9)
        first, second = secrets.token_bytes(16), secrets.token_bytes(16)
        await log.asked(first, query, owners=3)
        await log.asked(second, query, owners=3)
        await log.failed([first])
