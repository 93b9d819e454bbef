"""The federation's certificate authority: a folder with a key, a register of names, and a list of revocations.

Requires:  the folder is held by the federation (its owners together, or somebody all of them trust), never by the
           provider; whoever issues has compared the request's fingerprint with its sender.
Guarantee: at any time a name belongs to one pair of keys; no key is certified under two names, and none again once it
           was revoked. A revocation is in the register before the list that tells of it is written.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import NoReturn

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from fedgroup.errors import InvalidInput
from fedgroup.identity.certificate import Certificate, read_certificate
from fedgroup.identity.files import new_folder, read_private, write_private, write_public
from fedgroup.identity.issuing import authority_certificate, now, party_certificate, revocation_list
from fedgroup.identity.keys import FreshKeys, is_locked, locked, pem_of, tls_key_in, unlocked
from fedgroup.identity.naming import require_name
from fedgroup.identity.register import REGISTER_FILE, Register, Registered, Writing
from fedgroup.identity.requests import Request
from fedgroup.identity.trust import AUTHORITY_FILE, REVOKED_FILE, Trust, list_in, number_of

KEY_FILE = "ca.key"
AUTHORITY_DAYS = 3_650
CERTIFICATE_DAYS = 365
LIST_DAYS = 365


class Authority:
    """Who can say who is who; its key neither prints nor leaves its folder."""

    __slots__ = ("_key", "certificate", "folder", "register")

    def __init__(self, folder: Path, key: Ed25519PrivateKey, certificate: x509.Certificate) -> None:
        if certificate.public_key() != key.public_key():
            raise InvalidInput(f"{folder / AUTHORITY_FILE} does not belong to {folder / KEY_FILE}")
        self.folder, self.certificate = folder, certificate
        self.register = Register(folder / REGISTER_FILE)
        self._key = key

    @classmethod
    def create(
        cls,
        folder: Path,
        federation: str,
        *,
        passphrase: str | None = None,
        days: int = AUTHORITY_DAYS,
        at: datetime | None = None,
    ) -> Authority:
        """Make a folder with a new authority, whose list of revocations is empty."""
        require_name(federation)
        if any((folder / name).exists() for name in (KEY_FILE, AUTHORITY_FILE, REGISTER_FILE)):
            raise InvalidInput(f"{folder} holds an authority already; choose another folder")
        begin, key = at or now(), FreshKeys().tls
        certificate = authority_certificate(key, federation, at=begin, days=days)
        file = pem_of(key) if passphrase is None else locked(pem_of(key), passphrase)
        new_folder(folder)
        write_private(folder / KEY_FILE, file)
        write_public(folder / AUTHORITY_FILE, certificate.public_bytes(Encoding.PEM))
        made = cls(folder, key, certificate)
        made.renew_list(at=begin)
        return made

    @classmethod
    def open(cls, folder: Path, *, passphrase: str | None = None) -> Authority:
        """Return the authority of a folder."""
        file = read_private(folder / KEY_FILE)
        if is_locked(file):
            if passphrase is None:
                raise InvalidInput("the authority's key is locked; give its passphrase")
            file = unlocked(file, passphrase)
        return cls(folder, tls_key_in(file), Trust.load(folder, stale=True).authority)

    def issue(self, request: Request, *, days: int = CERTIFICATE_DAYS, at: datetime | None = None) -> Certificate:
        """Return a new certificate, on the register; the list of revocations gets a new date too."""
        begin = at or now()
        with self.register.writing() as register:
            _require_free(request, register.related(request), begin)
            signed = party_certificate(self._key, self.certificate, request, at=begin, days=days)
            issued = read_certificate(signed.public_bytes(Encoding.DER))
            register.add(issued)
        self.renew_list(at=begin)
        return issued

    def revoke(self, name: str, *, days: int = LIST_DAYS, at: datetime | None = None) -> list[Registered]:
        """Revoke every certificate of a name that is still valid, for ever; return them."""
        begin = at or now()
        with self.register.writing() as register:
            known = register.of(name)
            valid = [entry for entry in known if entry.state(begin) == "valid"]
            for entry in valid:
                register.revoke(entry, begin)
        if not valid and not any(entry.revoked_at for entry in known):
            raise InvalidInput(f"{name!r} has no valid certificate; 'fedgroup certificates list' shows who has")
        self.renew_list(days=days, at=begin)
        return valid

    def renew_list(self, *, days: int = LIST_DAYS, at: datetime | None = None) -> None:
        """Sign the list of revocations anew, valid for so many days from now."""
        with self.register.writing() as register:
            write_public(self.folder / REVOKED_FILE, self._signed_list(register, at or now(), days))

    def _signed_list(self, register: Writing, at: datetime, days: int) -> bytes:
        revoked = [(entry.serial, entry.revoked_at) for entry in register.revoked() if entry.revoked_at is not None]
        number = _next_number(self.folder / REVOKED_FILE)
        made = revocation_list(self._key, self.certificate, revoked, number=number, at=at, days=days)
        return made.public_bytes(Encoding.PEM)

    def __repr__(self) -> str:
        return f"Authority({str(self.folder)!r}, <private>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an authority cannot be copied or stored: open its folder instead")


def is_locked_folder(folder: Path) -> bool:
    """Tell whether an authority's key needs a passphrase."""
    return is_locked(read_private(folder / KEY_FILE))


def _require_free(request: Request, related: list[Registered], at: datetime) -> None:
    """Refuse a request for a name or a key that belongs to somebody else, or whose key was revoked."""
    keys = {request.tls_key, request.exchange_key}
    for entry in related:
        if keys & set(entry.keys) and entry.state(at) == "revoked":
            raise InvalidInput(f"a key of this request was revoked as {entry.name!r}; it needs new keys: request anew")
        if keys & set(entry.keys) and entry.name != request.name:
            raise InvalidInput(f"a key of this request belongs to {entry.name!r}; nobody shares a key: request anew")
        if entry.state(at) == "valid" and (entry.keys, entry.role) != (
            (request.tls_key, request.exchange_key),
            request.role,
        ):
            raise InvalidInput(
                f"{entry.name!r} belongs to another key until {entry.not_after:%Y-%m-%d}; revoke that first, or take "
                "another name"
            )


def _next_number(file: Path) -> int:
    return number_of(list_in(file), file) + 1 if file.exists() else 1
