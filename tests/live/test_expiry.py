"""Certificates and lists that run out are announced 30, 7 and 1 days before, and told as the reason afterwards."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from live_world import until

from fedgroup.errors import ProtocolViolation
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import REQUEST_FILE, write_answer
from fedgroup.identity.requests import read_request
from fedgroup.live.attendance import Attendance
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.expiry import AUTHORITY, Ending, Expiries, endings_of, endings_of_others, in_words
from fedgroup.live.logs import facts_of
from fedgroup.live.running import running_owners, running_provider
from fedgroup.live.trial import TrialCity, make_trial
from fedgroup.service.metrics import Metrics

END = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Clock:
    """Tells how long it is until the end."""

    def __init__(self) -> None:
        self.before = timedelta(days=100)

    def __call__(self) -> datetime:
        return END - self.before


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == "fedgroup.identity"]
    caplog.clear()
    return found


def test_each_threshold_is_said_once_a_day_and_then_that_it_ran_out(caplog: pytest.LogCaptureFixture) -> None:
    clock, lines = Clock(), dict[float, list[str]]()
    expiries = Expiries(lambda: [Ending("taxi-a", END)], clock=clock)
    for hours in range(31 * 24, -48, -1):
        clock.before = timedelta(hours=hours)
        expiries.look()
        lines[hours / 24] = said(caplog)
    spoken = {days: told for days, told in lines.items() if told}
    assert spoken[30] == ["a certificate runs out within 30 days"]
    assert spoken[7] == ["a certificate runs out within 7 days"]
    assert spoken[1] == ["a certificate runs out within a day"]
    assert spoken[-1 / 24] == ["a certificate ran out: nobody believes it any more"]
    assert [len(told) for told in spoken.values()] == [1] * 33  # days 30 to 0, when it ran out, and a day later
    assert max(spoken) == 30


def test_a_line_names_the_party_and_the_day_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    clock.before = timedelta(days=5)
    Expiries(lambda: [Ending("taxi-a", END), Ending(None, END)], clock=clock).look()
    told = [facts_of(record) for record in caplog.records]
    assert [{k: v for k, v in each.items() if k not in ("at", "level")} for each in told] == [
        {"event": "a certificate runs out within 7 days", "party": "taxi-a", "until": "2026-11-30"},
        {"event": "the list of revocations runs out within 7 days", "until": "2026-11-30"},
    ]


def test_what_was_renewed_is_not_warned_of_any_more(caplog: pytest.LogCaptureFixture) -> None:
    clock, ends = Clock(), [END]
    expiries = Expiries(lambda: [Ending(None, ends[-1])], clock=clock)
    clock.before = timedelta(hours=-1)
    expiries.look()
    assert said(caplog) == ["the list of revocations ran out: nobody is believed before there is a new one"]
    ends.append(END + timedelta(days=365))
    expiries.look()
    assert (said(caplog), expiries.soon(), expiries.days_left()) == ([], [], {None: 364})


def test_what_ran_out_first_is_told() -> None:
    clock = Clock()
    ends = {"taxi-a": END - timedelta(days=9), None: END - timedelta(days=2), "provider": END - timedelta(days=3)}
    expiries = Expiries(lambda: [Ending(party, until) for party, until in ends.items()], clock=clock)
    assert expiries.ran_out((None, "provider")) is None
    clock.before = timedelta(days=2)
    assert expiries.ran_out((None, "provider")) == Ending("provider", ends["provider"])
    assert in_words(Ending(None, END)) == "the list of revocations ran out on 2026-11-30"


def test_metrics_tell_the_days_that_are_left_and_go_below_0() -> None:
    clock = Clock()
    clock.before = timedelta(hours=36)
    expiries = Expiries(lambda: [Ending("provider", END), Ending("taxi-a", END - 2 * timedelta(days=1))], clock=clock)
    days = expiries.days_left() | {None: 8}
    here = Attendance(frozenset({"taxi-a"}), frozenset({"taxi-a"}))
    text = Metrics().text(here, broker=True, answered_at=None, refused_messages=0, days_left=days)
    assert 'fedgroup_certificate_days_left{party="provider"} 1\n' in text
    assert 'fedgroup_certificate_days_left{party="taxi-a"} -1\n' in text
    assert "fedgroup_revocations_days_left 8\n" in text


@pytest.fixture
def trial(tmp_path: Path) -> TrialCity:
    return make_trial(tmp_path / "trial", owners=2, seed=1)


def issue_again(trial: TrialCity, folder: Path, days: int) -> None:
    authority = Authority.open(trial.folder / "authority")
    request = read_request((folder / REQUEST_FILE).read_bytes())
    write_answer(folder, authority.issue(request, days=days), Trust.load(trial.folder / "authority"))


def test_owners_and_the_provider_see_an_owners_certificate_run_out(
    trial: TrialCity, caplog: pytest.LogCaptureFixture
) -> None:
    issue_again(trial, trial.owners[0].parent / "identity", 5)
    caplog.set_level(logging.INFO)

    async def story() -> None:
        owners = [read_config(file, OwnerConfig) for file in trial.owners]
        async with running_provider(read_config(trial.provider, ProviderConfig)) as up:
            async with running_owners(owners, port=up.broker_port, new_ledger=True):
                await until(lambda: "runs out within" in caplog.text)
                assert said(caplog) == ["a certificate runs out within 7 days"]
                await until(lambda: len(up.provider.desk.present) == 2)
                left = up.expiries.days_left()
                assert {"owner-000", "owner-001", "provider", AUTHORITY, None} == set(left)
                assert left["owner-000"] in (4, 5)  # certificates begin and end at whole moments
                assert {left["owner-001"], left["provider"]} <= {364, 365}
            up.expiries.look()
            assert said(caplog) == ["a certificate runs out within 7 days"]
            assert [each.party for each in up.expiries.soon()] == ["owner-000"]

    asyncio.run(story())


def test_owners_see_their_providers_certificate_run_out(
    trial: TrialCity, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue_again(trial, trial.folder / "provider", 5)
    monkeypatch.setattr("fedgroup.live.expiry.LOOK_S", 0.02)

    def told() -> list[dict[str, str]]:
        found = [facts_of(record) for record in caplog.records if record.name == "fedgroup.identity"]
        return [each for each in found if each["party"] == "provider"]

    async def story() -> None:
        owners = [read_config(file, OwnerConfig) for file in trial.owners]
        async with running_provider(read_config(trial.provider, ProviderConfig)) as up:
            await until(lambda: len(told()) == 1)  # the provider itself
            async with running_owners(owners, port=up.broker_port, new_ledger=True):
                await until(lambda: len(told()) == 2)  # both owners are in one process, whose log says it once
        assert {each["event"] for each in told()} == {"a certificate runs out within 7 days"}

    asyncio.run(story())


def test_a_revoked_certificate_is_of_no_interest_any_more(trial: TrialCity) -> None:
    identity = Identity.load(trial.owners[0].parent / "identity")
    shown = {identity.name: identity.certificate.der}
    before = Trust.load(trial.folder / "authority")
    assert [each.party for each in endings_of_others(shown, before)] == [identity.name]
    Authority.open(trial.folder / "authority").revoke(identity.name)
    after = Trust.load(trial.folder / "authority")
    assert endings_of_others(shown, after) == []
    assert {each.party for each in endings_of([identity.certificate], [after])} == {identity.name, AUTHORITY, None}


def test_an_owner_whose_certificate_ran_out_is_told_so_when_it_starts(
    trial: TrialCity, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue_again(trial, trial.owners[0].parent / "identity", 5)
    later = datetime.now(UTC) + timedelta(days=6)
    monkeypatch.setattr("fedgroup.identity.trust.now", lambda: later)

    async def story() -> None:
        async with running_owners([read_config(trial.owners[0], OwnerConfig)], port=9, new_ledger=True):
            pass

    with pytest.raises(ProtocolViolation, match=r"'owner-000' ran out on .*; have its request issued again"):
        asyncio.run(story())
