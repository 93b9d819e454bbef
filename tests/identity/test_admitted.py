"""Who may come in where a broker looks at names and reads no revocations."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.identity import Authority, Trust
from fedgroup.identity.issuing import now
from fedgroup.identity.register import REGISTER_FILE
from fedgroup.identity.trust import AUTHORITY_FILE, REVOKED_FILE, admitted


def copied(authority: Authority, place: Path, *files: str) -> None:
    place.mkdir(exist_ok=True)
    for file in files:
        shutil.copy(authority.folder / file, place)


def test_valid_names_of_a_role_are_let_in(enrol, trust):
    enrol("ann", days=30)
    enrol("bob")
    enrol("provider", "provider")
    assert admitted(trust(), "owner").names == ("ann", "bob")
    assert admitted(trust(), "provider").names == ("provider",)
    assert admitted(trust(), "owner", at=now() + timedelta(days=31)).names == ("bob",)


def test_a_revoked_name_is_barred_until_its_certificate_ran_out_also_for_new_keys(
    authority, enrol, enrolled_by, trust, tmp_path
):
    until = enrol("ann", days=30).certificate.not_after
    enrol("bob")
    authority.revoke("ann")
    enrolled_by(authority, tmp_path / "ann-again", "ann")
    found = admitted(trust(), "owner")
    assert (found.names, found.barred) == (("bob",), {"ann": until})
    later = admitted(trust(), "owner", at=until + timedelta(seconds=1))
    assert (later.names, later.barred) == (("ann", "bob"), {})


def test_a_register_that_was_copied_before_the_revocation_tells_the_same(authority, enrol, tmp_path):
    for name in ("ann", "bob"):
        enrol(name)
    copied(authority, tmp_path / "copy", AUTHORITY_FILE, REGISTER_FILE)
    authority.revoke("ann")
    copied(authority, tmp_path / "copy", REVOKED_FILE)
    found = admitted(Trust.load(tmp_path / "copy"), "owner")
    assert (found.names, list(found.barred)) == (("bob",), ["ann"])


def test_a_list_that_was_copied_before_the_revocation_tells_the_same(authority, enrol, tmp_path):
    for name in ("ann", "bob"):
        enrol(name)
    copied(authority, tmp_path / "copy", AUTHORITY_FILE, REVOKED_FILE)
    authority.revoke("ann")
    copied(authority, tmp_path / "copy", REGISTER_FILE)
    assert admitted(Trust.load(tmp_path / "copy"), "owner").names == ("bob",)


def test_a_register_that_does_not_know_who_was_revoked_is_refused(authority, enrol, tmp_path):
    enrol("bob")
    copied(authority, tmp_path / "copy", AUTHORITY_FILE, REGISTER_FILE)
    enrol("ann")
    authority.revoke("ann")
    copied(authority, tmp_path / "copy", REVOKED_FILE)
    with pytest.raises(InvalidInput, match="older than"):
        admitted(Trust.load(tmp_path / "copy"), "owner")


def test_without_a_register_nothing_is_known(authority, tmp_path):
    copied(authority, tmp_path / "copy", AUTHORITY_FILE, REVOKED_FILE)
    assert admitted(Trust.load(tmp_path / "copy"), "owner") is None
