"""Mutual TLS 1.3 within a federation: both sides show certificates of its authority, checked against revocations.

Guarantee: a connection stands only between parties that the authority vouches for at that moment. Who serves has a
           provider's certificate for the host that was asked for: an owner cannot pose as one. TLS 1.3 keeps owners'
           names from who listens on the line.
A handshake checks revocations once: a connection that stands lives on. Sessions are not resumed, because a resumed one
would not look at the certificate again.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.identity.files import read_private
from fedgroup.identity.trust import Trust


def client_context(certificate: Path, key: Path, trust: Trust) -> ssl.SSLContext:
    """Return a context for connections to whoever serves: it checks the server's certificate and host."""
    return _mutual(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key, trust)


def server_context(certificate: Path, key: Path, trust: Trust) -> ssl.SSLContext:
    """Return a context for serving: whoever connects must show a certificate of the federation."""
    context = _mutual(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key, trust)
    context.num_tickets = 0
    return context


def refresh(context: ssl.SSLContext, trust: Trust) -> None:
    """Let a context that is in use know the newest list of revocations: handshakes from now on obey it."""
    context.load_verify_locations(cafile=trust.revoked_file)


def _mutual(context: ssl.SSLContext, certificate: Path, key: Path, trust: Trust) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_CRL_CHECK_LEAF
    read_private(key)  # refuses a key that others can read
    try:
        context.load_verify_locations(cafile=trust.authority_file)
        context.load_cert_chain(certificate, key)
        refresh(context, trust)
    except (ssl.SSLError, OSError):
        raise InvalidInput(f"TLS cannot use {certificate}, {key} and the files in {trust.folder} together") from None
    return context
