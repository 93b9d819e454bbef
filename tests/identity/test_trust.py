from __future__ import annotations

import os
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import Authority, Trust
from fedgroup.identity.fields import EXCHANGE_KEY, USES, own_extension, subject
from fedgroup.identity.issuing import authority_certificate, now, party_certificate, revocation_list
from fedgroup.identity.keys import FreshKeys
from fedgroup.identity.requests import make_request, read_request


def request_of(name: str = "taxi-a", role="owner", hosts=()):
    return read_request(make_request(FreshKeys(), name, role, hosts=hosts))


def odd_certificate(authority: Authority, **odd) -> bytes:
    """A certificate that the authority itself signed, but would never issue."""
    facts = {
        "subject": subject(federation="taxis", role="owner", name="taxi-a"),
        "uses": USES["owner"],
        "ca": False,
        "exchange": own_extension(EXCHANGE_KEY, bytes(range(32))),
    } | odd
    builder = x509.CertificateBuilder().subject_name(facts["subject"]).issuer_name(authority.certificate.subject)
    builder = builder.public_key(FreshKeys().tls.public_key()).serial_number(7)
    builder = builder.not_valid_before(now() - timedelta(hours=1)).not_valid_after(now() + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=facts["ca"], path_length=None), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage(facts["uses"]), critical=False)
    if facts["exchange"] is not None:
        builder = builder.add_extension(facts["exchange"], critical=False)
    return builder.sign(authority._key, None).public_bytes(Encoding.DER)


def _issued(authority: Authority):
    """Certificates without end."""
    return (authority.issue(request_of(f"owner-{number}")).der for number in range(1_000))


def touched(file) -> None:
    """Give a file another time, as a later copy has."""
    later = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(later, later))


def test_an_owners_certificate_is_believed(enrol, trust):
    owner = enrol("taxi-a")
    assert trust().verify(owner.certificate.der) == owner.certificate


def test_a_provider_never_passes_as_an_owner_nor_an_owner_as_a_provider(enrol, trust):
    owner, provider = enrol("taxi-a"), enrol("provider", "provider")
    assert trust().verify(provider.certificate.der, role="provider").role == "provider"
    with pytest.raises(ProtocolViolation, match="owner"):
        trust().verify(provider.certificate.der)
    with pytest.raises(ProtocolViolation, match="provider"):
        trust().verify(owner.certificate.der, role="provider")


def test_another_authority_of_the_same_name_is_not_believed(trust, tmp_path):
    other = Authority.create(tmp_path / "other", "taxis")
    with pytest.raises(ProtocolViolation, match="not signed"):
        trust().verify(other.issue(request_of()).der)


def test_an_owner_cannot_sign_for_others(enrol, trust, authority):
    key = Ed25519PrivateKey.generate()
    enrol("taxi-a")
    forged = party_certificate(key, authority.certificate, request_of("taxi-b"), at=now(), days=1)
    with pytest.raises(ProtocolViolation):
        trust().verify(forged.public_bytes(Encoding.DER))


def test_the_authoritys_own_certificate_is_nobodys(trust, authority):
    with pytest.raises(ProtocolViolation):
        trust().verify(authority.certificate.public_bytes(Encoding.DER))


@pytest.mark.parametrize(
    ("begin", "told"),
    [(timedelta(days=-10), r"'taxi-a' ran out on \d{4}-\d\d-\d\d; have"), (timedelta(days=10), "not valid yet")],
)
def test_certificates_are_believed_in_their_time_only_and_the_reason_is_told(authority, trust, begin, told):
    issued = authority.issue(request_of(), days=3, at=now() + begin)
    authority.renew_list()
    with pytest.raises(ProtocolViolation, match=told):
        trust().verify(issued.der)


def test_that_the_authority_itself_ran_out_is_told_as_such(tmp_path, monkeypatch):
    authority = Authority.create(tmp_path / "short", "taxis", days=5)
    issued, known = authority.issue(request_of(), days=365), Trust.load(tmp_path / "short")
    monkeypatch.setattr("fedgroup.identity.trust.now", lambda: now() + timedelta(days=6))
    with pytest.raises(ProtocolViolation, match="ran out on"):
        known.verify(issued.der)


def test_revoked_certificates_are_not_believed(enrol, trust, authority):
    owner = enrol("taxi-a")
    authority.revoke("taxi-a")
    with pytest.raises(ProtocolViolation, match="revoked"):
        trust().verify(owner.certificate.der)


def test_every_changed_byte_of_a_certificate_is_noticed(enrol, trust):
    der, known = enrol("taxi-a").certificate.der, trust()
    for at in range(len(der)):
        changed = der[:at] + bytes([der[at] ^ 1]) + der[at + 1 :]
        with pytest.raises(ProtocolViolation):
            known.verify(changed)


@pytest.mark.parametrize("der", [b"", b"nonsense", bytes(5_000)])
def test_what_is_no_certificate_is_a_violation(trust, der):
    with pytest.raises(ProtocolViolation):
        trust().verify(der)


def test_a_certificate_has_one_spelling(authority, trust):
    even = next(one for one in _issued(authority) if not one[-1] & 1)
    respelled = even[:-65] + b"\x01" + even[-64:]  # one spare bit, which is 0 anyway
    assert x509.load_der_x509_certificate(respelled).signature == even[-64:]
    with pytest.raises(ProtocolViolation):
        trust().verify(respelled)


def test_bytes_after_a_certificate_are_noticed(enrol, trust):
    with pytest.raises(ProtocolViolation):
        trust().verify(enrol("taxi-a").certificate.der + b"\0")


@pytest.mark.parametrize(
    "odd",
    [
        {"uses": USES["provider"]},
        {"uses": []},
        {"ca": True},
        {"exchange": None},
        {"exchange": own_extension(EXCHANGE_KEY, b"short")},
        {"exchange": x509.UnrecognizedExtension(EXCHANGE_KEY, bytes(range(32)))},
        {"subject": subject(federation="buses", role="owner", name="taxi-a")},
        {"subject": subject(federation="taxis", role="authority", name="taxi-a")},
        {"subject": subject(federation="taxis", role="owner", name="provider")},
        {"subject": subject(federation="taxis", role="owner", name="Taxi A")},
        {"subject": subject(role="owner", name="taxi-a")},
        {"subject": subject(federation="taxis", role="provider", name="p"), "uses": USES["provider"]},
    ],
)
def test_even_the_authority_certifies_only_what_the_rules_allow(authority, trust, odd):
    for role in ("owner", "provider"):
        with pytest.raises(ProtocolViolation):
            trust().verify(odd_certificate(authority, **odd), role=role)
    assert trust().verify(odd_certificate(authority)).name == "taxi-a"


def test_nobody_is_believed_once_the_list_ran_out(enrol, authority, trust, monkeypatch):
    owner, known = enrol("taxi-a"), trust()
    monkeypatch.setattr("fedgroup.identity.trust.now", lambda: now() + timedelta(days=364))
    assert known.verify(owner.certificate.der).name == "taxi-a"
    monkeypatch.setattr("fedgroup.identity.trust.now", lambda: now() + timedelta(days=366))
    with pytest.raises(ProtocolViolation, match="ran out"):
        known.verify(owner.certificate.der)
    with pytest.raises(InvalidInput, match="ran out"):
        trust()


def test_a_running_party_takes_a_new_list_and_no_older_one(enrol, authority, trust):
    owner, known = enrol("taxi-a"), trust()
    old = known.revoked_file.read_bytes()
    assert known.current() is known
    authority.revoke("taxi-a")
    touched(known.revoked_file)
    newer = known.current()
    assert newer.number > known.number
    with pytest.raises(ProtocolViolation, match="revoked"):
        newer.verify(owner.certificate.der)
    known.revoked_file.write_bytes(old)
    touched(known.revoked_file)
    assert newer.current() is newer


def test_a_half_copied_list_or_another_authority_is_not_taken(authority, trust, tmp_path):
    known = trust()
    known.revoked_file.write_bytes(known.revoked_file.read_bytes()[:100])
    touched(known.revoked_file)
    assert known.current() is known
    other = Authority.create(tmp_path / "other", "taxis")
    other.renew_list()
    for name in ("ca.pem", "revoked.pem"):
        (authority.folder / name).write_bytes((other.folder / name).read_bytes())
        touched(authority.folder / name)
    assert known.current() is known
    known.revoked_file.unlink()
    assert known.current() is known


def test_a_list_is_signed_by_the_authority_itself(authority, tmp_path):
    other = Authority.create(tmp_path / "other", "taxis")
    (authority.folder / "revoked.pem").write_bytes((other.folder / "revoked.pem").read_bytes())
    with pytest.raises(InvalidInput, match="not signed"):
        Trust.load(authority.folder)


def test_a_list_without_a_number_is_not_ours(authority):
    made = revocation_list(authority._key, authority.certificate, [], number=1, at=now(), days=1)
    builder = x509.CertificateRevocationListBuilder().issuer_name(made.issuer)
    builder = builder.last_update(made.last_update_utc).next_update(made.next_update_utc)
    bare = builder.sign(authority._key, None)
    with pytest.raises(InvalidInput):
        Trust(authority.folder, authority.certificate, bare)


@pytest.mark.parametrize("file", ["ca.pem", "revoked.pem"])
@pytest.mark.parametrize("text", [None, b"", b"nonsense"])
def test_missing_and_odd_files_are_invalid_input(authority, file, text):
    (authority.folder / file).unlink()
    if text is not None:
        (authority.folder / file).write_bytes(text)
    with pytest.raises(InvalidInput, match=file):
        Trust.load(authority.folder)


def test_an_owners_certificate_is_no_authority(enrol, authority):
    (authority.folder / "ca.pem").write_bytes(enrol("taxi-a").certificate.pem)
    with pytest.raises(InvalidInput, match=r"ca\.pem"):
        Trust.load(authority.folder)


def test_a_self_signed_stranger_is_no_authority(authority):
    key = FreshKeys().tls
    made = authority_certificate(key, "taxis", at=now(), days=1)
    request = replace(request_of(), tls_key=key.public_key().public_bytes_raw())
    stranger = party_certificate(key, made, request, at=now(), days=1)
    with pytest.raises(InvalidInput):
        Trust(authority.folder, stranger, revocation_list(key, made, [], number=1, at=now(), days=1))


def test_what_prints_is_public(trust):
    assert repr(trust()).startswith("Trust('taxis', fingerprint='")
