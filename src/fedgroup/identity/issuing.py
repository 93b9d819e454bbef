"""What an authority signs: its own certificate, those of parties, and lists of revocations."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from fedgroup.errors import InvalidInput
from fedgroup.identity.fields import (
    EXCHANGE_KEY,
    FEDERATION,
    NAME,
    ROLE,
    USES,
    alternative_names,
    own_extension,
    subject,
    words_of,
)
from fedgroup.identity.requests import Request

# Clocks differ: what was signed now is already valid for who is some minutes behind.
_SLACK = timedelta(minutes=10)
_AUTHORITY = "authority"
_NO_USE = dict.fromkeys(
    [
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
        "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    ],
    False,
)  # fmt: skip


def now() -> datetime:
    """Return the time in whole seconds, as certificates have it."""
    return datetime.now(UTC).replace(microsecond=0)


def until(at: datetime, days: int) -> datetime:
    """Return the end of a validity of so many days."""
    if not 1 <= days <= 36_500:
        raise InvalidInput(f"a validity has 1 to 36500 days, got {days}")
    return at + timedelta(days=days)


def authority_certificate(key: Ed25519PrivateKey, federation: str, *, at: datetime, days: int) -> x509.Certificate:
    """Return the certificate that everybody in the federation trusts."""
    name = subject(federation=federation, role=_AUTHORITY, name=f"{federation} {_AUTHORITY}"[:64])
    builder = _begun(name, key.public_key(), at=at, end=until(at, days)).issuer_name(name)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    uses = x509.KeyUsage(**_NO_USE | {"key_cert_sign": True, "crl_sign": True})
    return builder.add_extension(uses, critical=True).sign(key, None)


def federation_of(authority: x509.Certificate) -> str:
    """Return the federation that an authority's certificate is of, once the certificate is found to be whole."""
    federation, role, _ = words_of(authority.subject, FEDERATION, ROLE, NAME)
    bounds = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    if role != _AUTHORITY or not bounds.ca or not isinstance(authority.public_key(), Ed25519PublicKey):
        raise ValueError("not an authority")
    return federation


def party_certificate(
    key: Ed25519PrivateKey, authority: x509.Certificate, request: Request, *, at: datetime, days: int
) -> x509.Certificate:
    """Return the certificate that a party asked for; it ends with the authority's own at the latest."""
    name = subject(federation=federation_of(authority), role=request.role, name=request.name)
    end = min(until(at, days), authority.not_valid_after_utc)
    builder = _begun(name, Ed25519PublicKey.from_public_bytes(request.tls_key), at=at, end=end)
    builder = builder.issuer_name(authority.subject)
    for value, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.KeyUsage(**_NO_USE | {"digital_signature": True}), True),
        (x509.ExtendedKeyUsage(USES[request.role]), False),
        (_signer(authority), False),
        (own_extension(EXCHANGE_KEY, request.exchange_key), False),
    ):
        builder = builder.add_extension(value, critical=critical)
    if request.hosts:
        builder = builder.add_extension(alternative_names(request.hosts), critical=False)
    return builder.sign(key, None)


def revocation_list(
    key: Ed25519PrivateKey,
    authority: x509.Certificate,
    revoked: Iterable[tuple[int, datetime]],
    *,
    number: int,
    at: datetime,
    days: int,
) -> x509.CertificateRevocationList:
    """Return the signed list of revoked serial numbers with their dates."""
    builder = x509.CertificateRevocationListBuilder().issuer_name(authority.subject)
    builder = builder.last_update(at - _SLACK).next_update(until(at, days))
    builder = builder.add_extension(x509.CRLNumber(number), critical=False)
    builder = builder.add_extension(_signer(authority), critical=False)
    for serial, date in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(date).build()
        builder = builder.add_revoked_certificate(entry)
    return builder.sign(key, None)


def _begun(name: x509.Name, key: Ed25519PublicKey, *, at: datetime, end: datetime) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(name).public_key(key)
    builder = builder.serial_number(int.from_bytes(secrets.token_bytes(20), "big") >> 1 | 1)
    builder = builder.not_valid_before(at - _SLACK).not_valid_after(end)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _signer(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    known = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known)
