from __future__ import annotations

import copy
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import Authority, Trust
from fedgroup.identity.authority import KEY_FILE
from fedgroup.identity.issuing import now
from fedgroup.identity.keys import FreshKeys
from fedgroup.identity.requests import Request, make_request, read_request


def request_of(name: str = "taxi-a", role="owner", hosts=()) -> Request:
    return read_request(make_request(FreshKeys(), name, role, hosts=hosts))


def states(authority: Authority) -> list[tuple[str, str]]:
    return [(entry.name, entry.state(now())) for entry in authority.register.entries()]


def test_a_certificate_says_what_was_asked_for(authority, trust):
    request = request_of("broker", "provider", ("localhost", "::1"))
    issued = trust().verify(authority.issue(request, days=30).der, role="provider")
    assert (issued.name, issued.role, issued.federation) == ("broker", "provider", "taxis")
    assert (issued.exchange_key, issued.tls_key, issued.hosts) == (
        request.exchange_key,
        request.tls_key,
        ("localhost", "::1"),
    )
    assert timedelta(days=29) < issued.not_after - now() <= timedelta(days=30)
    assert issued.fingerprint == request.fingerprint


def test_a_certificate_ends_with_its_authority_at_the_latest(tmp_path):
    short = Authority.create(tmp_path / "short", "taxis", days=10)
    assert short.issue(request_of(), days=400).not_after == short.certificate.not_valid_after_utc


def test_a_certificate_fits_into_a_presence_however_long_its_name(authority):
    assert len(authority.issue(request_of("a" * 64)).der) < 4_096


def test_a_name_belongs_to_its_first_keys_while_they_are_valid(authority):
    authority.issue(request_of())
    with pytest.raises(InvalidInput, match="another key"):
        authority.issue(request_of())
    assert states(authority) == [("taxi-a", "valid")]


def test_the_same_keys_are_certified_anew(authority, trust):
    request = request_of()
    one, two = authority.issue(request), authority.issue(request)
    assert one.serial != two.serial
    assert trust().verify(one.der).name == trust().verify(two.der).name


def test_a_name_is_free_again_once_revoked_or_expired(authority):
    authority.issue(request_of("taxi-a"))
    authority.revoke("taxi-a")
    authority.issue(request_of("taxi-a"))
    authority.issue(request_of("taxi-b"), days=1, at=now() - timedelta(days=3))
    authority.issue(request_of("taxi-b"))
    assert states(authority) == [
        ("taxi-a", "revoked"), ("taxi-a", "valid"), ("taxi-b", "expired"), ("taxi-b", "valid"),
    ]  # fmt: skip


def test_a_name_keeps_its_role(authority):
    request = request_of("broker", "owner")
    authority.issue(request)
    with pytest.raises(InvalidInput):
        authority.issue(replace(request, role="provider", hosts=("localhost",)))


def test_a_revoked_key_is_never_certified_again(authority):
    request = request_of()
    authority.issue(request)
    authority.revoke("taxi-a")
    for again in (request, replace(request, name="taxi-b"), replace(request_of(), exchange_key=request.exchange_key)):
        with pytest.raises(InvalidInput, match="revoked"):
            authority.issue(again)


@pytest.mark.parametrize("key", ["tls_key", "exchange_key"])
def test_no_key_has_two_names(authority, key):
    first = request_of("taxi-a")
    authority.issue(first, days=1, at=now() - timedelta(days=3))
    with pytest.raises(InvalidInput, match="nobody shares a key"):
        authority.issue(replace(request_of("taxi-b"), **{key: getattr(first, key)}))


def test_a_revocation_covers_all_valid_certificates_of_the_name_and_no_others(authority, trust):
    request = request_of()
    mine = [authority.issue(request) for _ in range(2)]
    other = authority.issue(request_of("taxi-b"))
    assert len(authority.revoke("taxi-a")) == 2
    for issued in mine:
        with pytest.raises(ProtocolViolation, match="revoked"):
            trust().verify(issued.der)
    assert trust().verify(other.der).name == "taxi-b"


def test_a_revocation_can_be_repeated_but_a_stranger_cannot_be_revoked(authority):
    authority.issue(request_of())
    assert len(authority.revoke("taxi-a")) == 1
    assert authority.revoke("taxi-a") == []
    with pytest.raises(InvalidInput, match="taxi-z"):
        authority.revoke("taxi-z")


def test_lists_are_numbered_upwards_and_keep_all_revocations(authority, trust):
    issued = [authority.issue(request_of(name)) for name in ("a", "b")]
    before = trust().number
    authority.revoke("a")
    authority.revoke("b")
    authority.renew_list()
    assert trust().number == before + 3
    for one in issued:
        with pytest.raises(ProtocolViolation):
            trust().verify(one.der)


def test_processes_at_once_lose_no_revocation_and_share_no_name(authority, trust):
    certificates = [authority.issue(request_of(f"owner-{i}")) for i in range(12)]

    def issue(_: int) -> bool:
        try:
            return Authority.open(authority.folder).issue(request_of("wanted")).name == "wanted"
        except InvalidInput:
            return False

    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(Authority.open(authority.folder).revoke, f"owner-{i}") for i in range(12)]
        assert sum(pool.map(issue, range(6))) == 1
        assert [len(one.result()) for one in done] == [1] * 12
    for issued in certificates:
        with pytest.raises(ProtocolViolation, match="revoked"):
            trust().verify(issued.der)


def test_an_authority_opens_again_and_is_not_replaced(authority):
    authority.issue(request_of())
    assert states(Authority.open(authority.folder)) == [("taxi-a", "valid")]
    with pytest.raises(InvalidInput, match="another folder"):
        Authority.create(authority.folder, "others")


def test_an_authority_can_be_locked(tmp_path):
    Authority.create(tmp_path / "locked", "taxis", passphrase="correct horse")
    assert b"PRIVATE" not in (tmp_path / "locked" / KEY_FILE).read_bytes()
    for wrong in (None, "correct house"):
        with pytest.raises(InvalidInput, match="passphrase"):
            Authority.open(tmp_path / "locked", passphrase=wrong)
    opened = Authority.open(tmp_path / "locked", passphrase="correct horse")
    assert Trust.load(tmp_path / "locked").verify(opened.issue(request_of()).der).name == "taxi-a"


def test_a_short_passphrase_or_a_bad_name_leaves_no_folder(tmp_path):
    for federation, passphrase in (("taxis", "short"), ("Taxis!", None)):
        with pytest.raises(InvalidInput):
            Authority.create(tmp_path / "none", federation, passphrase=passphrase)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("days", [0, -1, 40_000])
def test_odd_validities_are_refused_and_nothing_is_registered(authority, days):
    with pytest.raises(InvalidInput, match="days"):
        authority.issue(request_of(), days=days)
    assert states(authority) == []


def test_a_broken_folder_is_told_plainly(authority, tmp_path):
    with pytest.raises(InvalidInput):
        Authority.open(tmp_path / "nowhere")
    other = Authority.create(tmp_path / "other", "taxis")
    (authority.folder / "ca.pem").write_bytes((other.folder / "ca.pem").read_bytes())
    with pytest.raises(InvalidInput):
        Authority.open(authority.folder)
    (other.folder / "register.db").write_bytes(b"nonsense" * 200)
    with pytest.raises(InvalidInput, match="register"):
        other.register.entries()


def test_a_key_of_another_authority_is_noticed(authority, tmp_path):
    other = Authority.create(tmp_path / "other", "taxis")
    (other.folder / KEY_FILE).unlink()
    (other.folder / KEY_FILE).write_bytes((authority.folder / KEY_FILE).read_bytes())
    (other.folder / KEY_FILE).chmod(0o600)
    with pytest.raises(InvalidInput, match="does not belong"):
        Authority.open(other.folder)


def test_a_register_that_stays_busy_is_told(authority, monkeypatch):
    monkeypatch.setattr("fedgroup.identity.register._BUSY_SECONDS", 0.05)
    blocking = sqlite3.connect(authority.folder / "register.db", isolation_level=None)
    blocking.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(InvalidInput, match="locked"):
            authority.issue(request_of())
    finally:
        blocking.close()


def test_an_authority_neither_prints_nor_travels(authority):
    assert "private" in repr(authority)
    for way_out in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            way_out(authority)
