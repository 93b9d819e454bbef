"""A certificate as the federation reads it: who, in which role, with which exchange key, until when."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity.fields import (
    EXCHANGE_KEY,
    FAULTS,
    FEDERATION,
    NAME,
    ROLE,
    USES,
    hosts_in,
    own_text,
    words_of,
)
from fedgroup.identity.naming import Role, require_hosts, require_name, require_party, role_called
from fedgroup.identity.requests import fingerprint

MOST_CERTIFICATE = 4_096

# Algorithm and head of a signature of 64 whole bytes. Parsers let some spare bits pass for part of the head; then one
# certificate would have two spellings, and rosters are compared by their bytes.
_ED25519_SIGNED = bytes.fromhex("300506032b6570 034100")


@dataclass(frozen=True)
class Certificate:
    """Who holds which exchange key. Only what `Trust.verify` returned is vouched for by the federation."""

    name: str
    role: Role
    federation: str
    exchange_key: bytes = field(repr=False)
    tls_key: bytes = field(repr=False)
    serial: int = field(repr=False)
    not_before: datetime = field(repr=False)
    not_after: datetime
    hosts: tuple[str, ...] = field(repr=False)
    der: bytes = field(repr=False)

    def __post_init__(self) -> None:
        require_name(self.federation)
        require_party(self.name, self.role)
        require_hosts(self.hosts, self.role)
        if len(self.exchange_key) != 32 or len(self.tls_key) != 32:
            raise InvalidInput("a public key has 32 bytes")

    @property
    def fingerprint(self) -> str:
        """128 bits that name the keys, the same as in the request."""
        return fingerprint(self.tls_key + self.exchange_key)

    @property
    def pem(self) -> bytes:
        """The certificate as files hold it."""
        return x509.load_der_x509_certificate(self.der).public_bytes(Encoding.PEM)


def parsed(der: bytes) -> x509.Certificate:
    """Return what X.509 reads, or raise `ProtocolViolation`."""
    try:
        if len(der) > MOST_CERTIFICATE:
            raise ValueError("too long")
        found = x509.load_der_x509_certificate(der)
        if not der.endswith(_ED25519_SIGNED + found.signature):
            raise ValueError("signed otherwise, or spelled otherwise")
        return found
    except FAULTS:
        raise ProtocolViolation("these bytes are not a certificate") from None


def read_certificate(der: bytes) -> Certificate:
    """Return what a certificate says, *unverified*: anybody can write one; `Trust.verify` checks who did."""
    found = parsed(der)
    try:
        return _checked(found, der)
    except FAULTS:
        raise ProtocolViolation("a certificate is not of the kind that the federation's authority issues") from None


def _checked(found: x509.Certificate, der: bytes) -> Certificate:
    federation, word, name = words_of(found.subject, FEDERATION, ROLE, NAME)
    role, extensions, tls = role_called(word), found.extensions, found.public_key()
    uses = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    bounds = extensions.get_extension_for_class(x509.BasicConstraints).value
    if bounds.ca or list(uses) != USES[role] or not isinstance(tls, Ed25519PublicKey):
        raise ValueError("uses and role do not fit")
    return Certificate(
        name=name,
        role=role,
        federation=federation,
        exchange_key=own_text(extensions, EXCHANGE_KEY),
        tls_key=tls.public_bytes_raw(),
        serial=found.serial_number,
        not_before=found.not_valid_before_utc,
        not_after=found.not_valid_after_utc,
        hosts=hosts_in(extensions),
        der=der,
    )
