from __future__ import annotations

import copy
import pickle
import sys

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.identity import Authority, Identity, Trust
from fedgroup.identity.own import write_answer, write_request
from fedgroup.secure.pair_keys import OwnerKey, agree

FILES = ["certificate.pem", "tls.key", "exchange.key"]


def test_an_identity_is_what_was_requested_and_issued(enrol):
    owner = enrol("taxi-a")
    assert (owner.name, owner.role) == ("taxi-a", "owner")
    assert owner.owner_key.public == owner.certificate.exchange_key
    assert owner.certificate_file.exists()
    assert owner.key_file.exists()


def test_masks_and_letters_use_the_certified_key(enrol):
    one, two = enrol("taxi-a"), enrol("taxi-b")
    assert isinstance(one.owner_key, OwnerKey)
    assert agree(one.owner_key, two.certificate.exchange_key) == agree(two.owner_key, one.certificate.exchange_key)


def test_private_keys_never_reach_the_authority(enrol, authority):
    owner = enrol("taxi-a")
    secrets = [(owner.folder / name).read_bytes().splitlines()[1] for name in ("tls.key", "exchange.key")]
    kept = b"".join(path.read_bytes() for path in authority.folder.rglob("*") if path.is_file())
    sent = (owner.folder / "request.csr").read_bytes()
    assert not [secret for secret in secrets if secret in kept or secret in sent]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("text", [None, b"", b"nonsense"])
def test_a_folder_without_all_its_files_is_invalid(enrol, file, text):
    owner = enrol("taxi-a")
    (owner.folder / file).unlink()
    if text is not None:
        (owner.folder / file).write_bytes(text)
        (owner.folder / file).chmod(0o600)
    with pytest.raises(InvalidInput):
        Identity.load(owner.folder)


@pytest.mark.parametrize("file", FILES)
def test_files_of_two_parties_do_not_mix(enrol, file):
    owner, other = enrol("taxi-a"), enrol("taxi-b")
    (owner.folder / file).write_bytes((other.folder / file).read_bytes())
    with pytest.raises(InvalidInput, match="issued for"):
        Identity.load(owner.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
@pytest.mark.parametrize("file", ["tls.key", "exchange.key"])
def test_keys_that_others_can_read_are_refused(enrol, file):
    owner = enrol("taxi-a")
    (owner.folder / file).chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        Identity.load(owner.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
def test_a_key_opened_to_others_later_is_refused_for_tls(enrol, trust):
    owner = enrol("taxi-a")
    owner.key_file.chmod(0o640)
    with pytest.raises(InvalidInput, match="chmod 600"):
        owner.client_context(trust())


def test_keys_are_not_replaced_by_a_second_request(enrol):
    owner = enrol("taxi-a")
    with pytest.raises(InvalidInput, match="not replaced"):
        write_request(owner.folder, "taxi-a", "owner")
    assert Identity.load(owner.folder).certificate == owner.certificate


def test_a_bad_request_leaves_no_keys(tmp_path):
    for name, role, hosts in (("Taxi", "owner", ()), ("taxi-a", "owner", ("localhost",)), ("p", "provider", ())):
        with pytest.raises(InvalidInput):
            write_request(tmp_path / "party", name, role, hosts=hosts)
    assert not (tmp_path / "party").exists()


def test_an_authority_and_a_party_share_a_folders_public_files(enrol, authority):
    owner = enrol("taxi-a")
    assert Trust.load(owner.folder).fingerprint == Trust.load(authority.folder).fingerprint


def test_a_renewed_certificate_takes_the_place_of_the_old_one(enrol, authority, trust):
    from fedgroup.identity.requests import read_request

    owner = enrol("taxi-a")
    write_answer(owner.folder, authority.issue(read_request((owner.folder / "request.csr").read_bytes())), trust())
    assert Identity.load(owner.folder).certificate.serial != owner.certificate.serial


def test_owners_do_not_serve(enrol, trust):
    with pytest.raises(InvalidInput, match="owners do not serve"):
        enrol("taxi-a").server_context(trust())


def test_a_certificate_that_nobody_would_believe_is_not_used(enrol, authority, trust, tmp_path):
    owner = enrol("taxi-a")
    authority.revoke("taxi-a")
    with pytest.raises(InvalidInput, match="revoked"):
        owner.client_context(trust())
    other = Authority.create(tmp_path / "other", "taxis")
    with pytest.raises(InvalidInput, match="not signed"):
        owner.client_context(Trust.load(other.folder))


def test_an_identity_neither_prints_nor_travels(enrol):
    owner = enrol("taxi-a")
    assert repr(owner) == "Identity('taxi-a', 'owner', <private>)"
    assert not hasattr(owner, "__dict__")
    for way_out in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            way_out(owner)
