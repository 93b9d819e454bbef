"""Certificates are verified once a minute and by the newest list: a revocation counts at the next look."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driven_time import in_driven_time
from fedgroup.errors import ProtocolViolation
from fedgroup.identity import Authority, Certificate, Identity, Trust, trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.live import vouching
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.running import Shared
from fedgroup.live.trial import make_trial
from fedgroup.live.vouching import Vouching


class Federation:
    """An authority, what it issued, and how often somebody really verified."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.authority = Authority.create(folder / "authority", "city")
        self.verified = 0
        usual = Trust.verify

        def counted(trust: Trust, der: bytes, **role: Any) -> Certificate:
            self.verified += 1
            return usual(trust, der, **role)

        monkeypatch.setattr(Trust, "verify", counted)

    def owner(self, name: str) -> bytes:
        request = write_request(self.folder / name, name, "owner")
        write_answer(self.folder / name, self.authority.issue(request), Trust.load(self.folder / "authority"))
        return Identity.load(self.folder / name).certificate.der

    def vouching(self) -> Vouching:
        return Vouching(Trust.load(self.folder / "authority"))


@pytest.fixture
def federation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Federation:
    return Federation(tmp_path, monkeypatch)


def test_what_is_good_is_verified_once(federation: Federation) -> None:
    ann, believed = federation.owner("ann"), federation.vouching()
    assert [believed.verify(ann).name for _ in range(5)] == ["ann"] * 5
    assert federation.verified == 1


def told_the_time(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    monkeypatch.setattr(vouching, "time", SimpleNamespace(monotonic=clock))


def test_a_revocation_counts_at_the_next_look(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob, believed = federation.owner("ann"), federation.owner("bob"), federation.vouching()
    now = [100.0]
    told_the_time(monkeypatch, lambda: now[0])
    believed.verify(ann)
    federation.authority.revoke("ann")
    now[0] += vouching.MOMENT_S
    with pytest.raises(ProtocolViolation):
        believed.verify(ann)
    assert believed.verify(bob).name == "bob"


def test_a_list_that_changed_before_the_first_look_is_seen(federation: Federation) -> None:
    ann, believed = federation.owner("ann"), federation.vouching()
    federation.authority.revoke("ann")
    with pytest.raises(ProtocolViolation):
        believed.verify(ann)


def test_connections_learn_of_a_new_list_also_when_somebody_saw_it_first(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, believed = federation.owner("ann"), federation.vouching()
    given: list[Trust] = []
    monkeypatch.setattr(vouching, "refresh", lambda context, trust: given.append(trust))

    async def story() -> None:
        told_the_time(monkeypatch, asyncio.get_running_loop().time)
        task = asyncio.create_task(believed.keep_fresh([ssl.create_default_context()]))
        await asyncio.sleep(2.5 * vouching.REFRESH_S)
        assert given == []
        federation.authority.revoke("ann")
        with pytest.raises(ProtocolViolation):
            believed.verify(ann)
        await asyncio.sleep(2 * vouching.REFRESH_S)
        task.cancel()

    in_driven_time(story())
    assert given == [believed.trust]


def test_a_list_that_cannot_be_read_just_now_is_looked_for_again(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    believed, given, looks = federation.vouching(), list[Trust](), list[float]()
    monkeypatch.setattr(vouching, "refresh", lambda context, trust: given.append(trust))
    usual = believed.newest

    def failing() -> Trust:
        looks.append(asyncio.get_running_loop().time())
        if len(looks) == 1:
            raise PermissionError("not just now")
        return usual()

    async def story() -> None:
        told_the_time(monkeypatch, asyncio.get_running_loop().time)
        monkeypatch.setattr(believed, "newest", failing)
        task = asyncio.create_task(believed.keep_fresh([ssl.create_default_context()]))
        federation.authority.revoke(federation.owner("ann") and "ann")
        await asyncio.sleep(3.5 * vouching.REFRESH_S)
        task.cancel()

    in_driven_time(story())
    assert (len(looks), len(given)) == (3, 1)


def test_owners_of_one_process_share_what_they_verified(tmp_path: Path) -> None:
    trial, shared = make_trial(tmp_path / "trial", owners=3, seed=1), Shared()
    configs = [read_config(file, OwnerConfig) for file in trial.owners]
    believed = [shared.believing(config.identity.authority) for config in configs]
    assert len({(id(vouching), id(calls)) for vouching, calls in believed}) == len(shared.known) == 1


def test_after_a_while_dates_are_looked_at_again_and_signatures_are_not(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, believed, now = federation.owner("ann"), federation.vouching(), [100.0]
    told_the_time(monkeypatch, lambda: now[0])
    found = believed.verify(ann)
    now[0] += 31
    assert believed.verify(ann) is found
    assert federation.verified == 1
    monkeypatch.setattr(trust, "now", lambda: found.not_after + timedelta(seconds=1))
    now[0] += 29
    assert believed.verify(ann) is found  # looked at a moment ago
    now[0] += 2
    for _ in range(2):
        with pytest.raises(ProtocolViolation, match="ran out"):
            believed.verify(ann)


def test_what_an_older_list_let_pass_is_not_remembered_beside_a_newer_one(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, believed, now = federation.owner("ann"), federation.vouching(), [100.0]
    told_the_time(monkeypatch, lambda: now[0])
    believed.newest()
    usual = Trust.verify

    def overtaken(trust: Trust, der: bytes, **role: Any) -> Certificate:
        """Look by the old list while another thread takes the new one in."""
        monkeypatch.setattr(Trust, "verify", usual)
        found = usual(trust, der, **role)
        federation.authority.revoke("ann")
        now[0] += vouching.MOMENT_S
        assert believed.newest() is not trust
        return found

    monkeypatch.setattr(Trust, "verify", overtaken)
    assert believed.verify(ann).name == "ann"
    with pytest.raises(ProtocolViolation):
        believed.verify(ann)
