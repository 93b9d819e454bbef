"""A request for a certificate: made by the party itself, which never shows its private keys to anyone.

Guarantee: a `Request` that was read is signed by its TLS key, and proves that its sender holds the exchange key too.
           It does not prove who the sender is: compare fingerprints over a channel that you trust before you issue.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtensionOID

from fedgroup.errors import InvalidInput
from fedgroup.identity.fields import (
    FAULTS,
    NAME,
    POSSESSION,
    ROLE,
    alternative_names,
    hosts_in,
    own_extension,
    own_text,
    subject,
    words_of,
)
from fedgroup.identity.keys import FreshKeys, proven_exchange_key
from fedgroup.identity.naming import Role, require_hosts, require_party, role_called

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_MOST_BYTES = 1 << 14
_KNOWN = {POSSESSION, ExtensionOID.SUBJECT_ALTERNATIVE_NAME}


@dataclass(frozen=True)
class Request:
    """What a party asks to be certified: its name and role, its two public keys, and where it serves."""

    name: str
    role: Role
    tls_key: bytes
    exchange_key: bytes
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_party(self.name, self.role)
        require_hosts(self.hosts, self.role)

    @property
    def fingerprint(self) -> str:
        """128 bits that name the keys, to be compared by people."""
        return fingerprint(self.tls_key + self.exchange_key)


def fingerprint(public: bytes) -> str:
    """Return 128 bits of a digest in groups of four."""
    digest = hashlib.sha256(public).hexdigest()[:32]
    return "-".join(digest[i : i + 4] for i in range(0, 32, 4))


def make_request(keys: FreshKeys, name: str, role: Role, *, hosts: Sequence[str] = ()) -> bytes:
    """Return a signing request (PKCS #10, PEM) for a party's new keys."""
    tls, exchange = keys.tls.public_key().public_bytes_raw(), keys.exchange.public_key().public_bytes_raw()
    asked = Request(name, role, tls, exchange, tuple(hosts))
    proof = own_extension(POSSESSION, keys.possession(role, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject(role=role, name=name))
    builder = builder.add_extension(proof, critical=False)
    if asked.hosts:
        builder = builder.add_extension(alternative_names(asked.hosts), critical=False)
    return builder.sign(keys.tls, None).public_bytes(Encoding.PEM)


def read_request(pem: bytes) -> Request:
    """Return a request, once both of its keys are proven to be its sender's."""
    try:
        if len(pem) > _MOST_BYTES:
            raise ValueError("too long")
        return _checked(x509.load_pem_x509_csr(pem))
    except InvalidInput:
        raise
    except FAULTS:
        raise InvalidInput(
            "this is not a request made by 'fedgroup certificates request', or it was changed on its way; get it again"
        ) from None


def _checked(asked: x509.CertificateSigningRequest) -> Request:
    tls = asked.public_key()
    if not isinstance(tls, Ed25519PublicKey) or not asked.is_signature_valid:
        raise ValueError("not signed by its own Ed25519 key")
    role, name = words_of(asked.subject, ROLE, NAME)
    if not {extension.oid for extension in asked.extensions} <= _KNOWN:
        raise ValueError("an extension is unknown")
    exchange = proven_exchange_key(own_text(asked.extensions, POSSESSION), tls, role, name)
    return Request(name, role_called(role), tls.public_bytes_raw(), exchange, hosts_in(asked.extensions))
