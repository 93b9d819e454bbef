"""A party's own identity: a folder with its certificate and two private keys.

Guarantee: private keys are read from files of mode 0600 only; nothing of them prints, pickles or leaves.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity import tls
from fedgroup.identity.certificate import Certificate, read_certificate
from fedgroup.identity.fields import FAULTS
from fedgroup.identity.files import new_folder, read_private, read_public, write_private, write_public
from fedgroup.identity.keys import FreshKeys, exchange_key_in, pem_of, tls_key_in
from fedgroup.identity.naming import Role
from fedgroup.identity.requests import Request, make_request, read_request
from fedgroup.identity.sealing import LettersFrom, LettersTo, opened, sealed
from fedgroup.identity.trust import Trust
from fedgroup.secure.pair_keys import OwnerKey

CERTIFICATE_FILE = "certificate.pem"
REQUEST_FILE = "request.csr"
TLS_KEY_FILE = "tls.key"
EXCHANGE_KEY_FILE = "exchange.key"


class Identity:
    """Who one is: what the provider and other owners see (`certificate`), and what nobody sees."""

    __slots__ = ("_owner_key", "_signer", "certificate", "folder")

    def __init__(self, folder: Path, certificate: Certificate, owner_key: OwnerKey, signer: Ed25519PrivateKey) -> None:
        if certificate.exchange_key != owner_key.public:
            raise InvalidInput(f"{folder / CERTIFICATE_FILE} was issued for other keys than those beside it")
        if certificate.tls_key != signer.public_key().public_bytes_raw():
            raise InvalidInput(f"{folder / CERTIFICATE_FILE} was issued for another key than {folder / TLS_KEY_FILE}")
        self.folder = folder
        self.certificate = certificate
        self._owner_key = owner_key
        self._signer = signer

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Identity:
        """Return the identity in a folder, if its certificate and keys belong together."""
        place = Path(folder)
        certificate = certificate_in(place / CERTIFICATE_FILE)
        signer = tls_key_in(read_private(place / TLS_KEY_FILE))
        return cls(place, certificate, OwnerKey(exchange_key_in(read_private(place / EXCHANGE_KEY_FILE))), signer)

    @property
    def name(self) -> str:
        return self.certificate.name

    @property
    def role(self) -> Role:
        return self.certificate.role

    @property
    def owner_key(self) -> OwnerKey:
        """The exchange key, as masks use it."""
        return self._owner_key

    @property
    def certificate_file(self) -> Path:
        """The certificate, for programs that take files."""
        return self.folder / CERTIFICATE_FILE

    @property
    def key_file(self) -> Path:
        """The TLS key, for programs that take files."""
        return self.folder / TLS_KEY_FILE

    def client_context(self, trust: Trust) -> ssl.SSLContext:
        """Return the context with which to connect to a broker or a provider of the federation."""
        self._require_valid(trust)
        return tls.client_context(self.certificate_file, self.key_file, trust)

    def server_context(self, trust: Trust) -> ssl.SSLContext:
        """Return the context with which to serve the federation; only a provider can."""
        if self.role != "provider":
            raise InvalidInput(f"{self.name!r} is an owner, and owners do not serve; use a provider's certificate")
        self._require_valid(trust)
        return tls.server_context(self.certificate_file, self.key_file, trust)

    def sign(self, statement: bytes) -> bytes:
        """Return a signature that holds for this party's certificate.

        Requires:  a statement that begins with a label of its own purpose; what TLS signs begins with 64 spaces.
        """
        return self._signer.sign(statement)

    def seal(self, to: Certificate, context: bytes, plain: bytes) -> bytes:
        """Return `plain` for the eyes of the owner `to` alone, bound to `context`; see `sealing.py`."""
        return sealed(self._owner_key, self.certificate, to, context, plain)

    def open(self, sender: Certificate, context: bytes, sealed: bytes) -> bytes:
        """Return what the owner `sender` sealed for this one in this context, or raise `ProtocolViolation`."""
        return opened(self._owner_key, sender, self.certificate, context, sealed)

    def letters_to(self, to: Certificate, context: bytes) -> LettersTo:
        """Return what seals letters for the owner `to`, each to be opened after those before it; see `sealing.py`."""
        return LettersTo(self._owner_key, self.certificate, to, context)

    def letters_from(self, sender: Certificate, context: bytes) -> LettersFrom:
        """Return what opens such letters of the owner `sender`."""
        return LettersFrom(self._owner_key, sender, self.certificate, context)

    def _require_valid(self, trust: Trust) -> None:
        try:
            trust.verify(self.certificate.der, role=self.role)
        except ProtocolViolation as fault:
            raise InvalidInput(f"{self.certificate_file} cannot be used: {fault}") from None

    def __repr__(self) -> str:
        return f"Identity({self.name!r}, {self.role!r}, <private>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an identity cannot be copied or stored: load its folder instead")


def write_request(folder: Path, name: str, role: Role, *, hosts: Sequence[str] = ()) -> Request:
    """Make new keys in a folder, and the request that the federation's authority answers with a certificate."""
    if any((folder / file).exists() for file in (TLS_KEY_FILE, EXCHANGE_KEY_FILE)):
        raise InvalidInput(
            f"{folder} holds keys already, which are not replaced; its {REQUEST_FILE} can be issued again"
        )
    keys = FreshKeys()
    request = make_request(keys, name, role, hosts=hosts)
    new_folder(folder)
    write_private(folder / TLS_KEY_FILE, pem_of(keys.tls))
    write_private(folder / EXCHANGE_KEY_FILE, pem_of(keys.exchange))
    write_public(folder / REQUEST_FILE, request)
    return read_request(request)


def write_answer(folder: Path, issued: Certificate, trust: Trust) -> None:
    """Write what the authority sends back: the certificate, its own, and the list of revocations. All are public."""
    new_folder(folder)
    write_public(folder / CERTIFICATE_FILE, issued.pem)
    for file in (trust.authority_file, trust.revoked_file):
        write_public(folder / file.name, read_public(file, what="the authority's"))


def certificate_in(file: Path) -> Certificate:
    """Return the certificate in a file, *unverified*."""
    pem = read_public(file, what="a certificate")
    try:
        return read_certificate(x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER))
    except (ProtocolViolation, *FAULTS):
        raise InvalidInput(f"{file} is not a certificate of a federation") from None
