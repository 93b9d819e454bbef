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


class SharedCalls:
    """Calls of many parties of one process by one context: each has its own certificate and key, and shares the rest.

    A context of its own costs a party some hundred kilobytes: its copies of the authority and the revocations.

    Requires:  all calls are begun by one thread.
    Guarantee: a call shows the certificate of the party that begins it, whoever begins one before it is over.
    """

    def __init__(self, trust: Trust) -> None:
        self.context = _trusting(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), trust)

    def by(self, certificate: Path, key: Path) -> OwnCalls:
        """Return the calls of the party with this certificate and key; a key that others can read is refused."""
        read_private(key)
        return OwnCalls(self.context, certificate, key)


class OwnCalls:
    """Calls of one party by a context that it shares with others."""

    __slots__ = ("_certificate", "_context", "_key")

    def __init__(self, context: ssl.SSLContext, certificate: Path, key: Path) -> None:
        self._context = context
        self._certificate = certificate
        self._key = key

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
    ) -> ssl.SSLObject:
        """Return a connection's TLS: it takes the certificate that the context has at this moment, and keeps it."""
        self._context.load_cert_chain(self._certificate, self._key)
        return self._context.wrap_bio(incoming, outgoing, server_side, server_hostname)


def refresh(context: ssl.SSLContext, trust: Trust) -> None:
    """Let a context that is in use know the newest list of revocations: handshakes from now on obey it."""
    context.load_verify_locations(cafile=trust.revoked_file)


def _mutual(context: ssl.SSLContext, certificate: Path, key: Path, trust: Trust) -> ssl.SSLContext:
    read_private(key)  # refuses a key that others can read
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError):
        raise InvalidInput(f"TLS cannot use {certificate} and {key} together") from None
    return _trusting(context, trust)


def _trusting(context: ssl.SSLContext, trust: Trust) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_CRL_CHECK_LEAF
    try:
        context.load_verify_locations(cafile=trust.authority_file)
        refresh(context, trust)
    except (ssl.SSLError, OSError):
        raise InvalidInput(f"TLS cannot use the files in {trust.folder}") from None
    return context
