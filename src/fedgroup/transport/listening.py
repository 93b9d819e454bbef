"""Where a broker listens, and the files by which it shows itself and knows its clients."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.transport.topics import PROVIDER

Identify = Callable[[bytes], tuple[str, str]]
"""From a client's certificate (DER, signed by the federation) to its role, owner or provider, and its name."""


@dataclass(frozen=True)
class Listening:
    """An address, and PEM files: the federation's authority, the broker's certificate, its key, what was revoked."""

    bind: str
    port: int
    authority: Path
    certificate: Path
    key: Path
    revoked: Path | None = None

    def tls(self) -> ssl.SSLContext:
        """Return what lets in only clients with a certificate of the federation."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.verify_mode = ssl.CERT_REQUIRED
        context.num_tickets = 0  # a resumed session would not look at the certificate again
        try:
            context.load_verify_locations(self.authority)
            context.load_cert_chain(self.certificate, self.key)
            if self.revoked is not None:
                context.load_verify_locations(self.revoked)
                context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
        except OSError as error:
            raise InvalidInput(f"the broker's certificate files cannot be used: {error}") from None
        return context


def by_common_name(certificate: bytes) -> tuple[str, str]:
    """Take the certificate's common name; the provider is who has its name."""
    names = x509.load_der_x509_certificate(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1:
        raise ProtocolViolation("a certificate has one common name")
    name = str(names[0].value)
    return (PROVIDER if name == PROVIDER else "owner"), name
