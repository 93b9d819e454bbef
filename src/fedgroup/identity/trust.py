"""Whom a party believes: the federation's authority and its list of revocations, two public files.

Requires:  `ca.pem` came from the federation over a channel that the provider does not control (compare fingerprints).
Guarantee: `verify` returns only certificates that this authority signed for the asked role, that are valid now, and
           that the list at hand does not revoke. Once that list ran out, nobody is believed: newer ones cannot be
           withheld for ever.
Proof:     docs/guarantees.md#identity
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.identity.certificate import Certificate, parsed, read_certificate
from fedgroup.identity.fields import FAULTS
from fedgroup.identity.files import read_public
from fedgroup.identity.issuing import federation_of, now
from fedgroup.identity.naming import Role
from fedgroup.identity.register import REGISTER_FILE, Register, Registered
from fedgroup.identity.requests import fingerprint

AUTHORITY_FILE = "ca.pem"
REVOKED_FILE = "revoked.pem"


class Trust:
    """An authority's certificate and the revocations it signed."""

    __slots__ = ("_end", "_read_at", "_revoked", "authority", "federation", "folder", "number")

    def __init__(self, folder: Path, authority: x509.Certificate, revoked: x509.CertificateRevocationList) -> None:
        self.folder = folder
        self.authority = authority
        self.federation = _checked_federation(authority, self.authority_file)
        if revoked.issuer != authority.subject or not revoked.is_signature_valid(_key_of(authority)):
            raise InvalidInput(f"{self.revoked_file} was not signed by the authority in {self.authority_file}")
        self.number = number_of(revoked, self.revoked_file)
        self._revoked = frozenset(entry.serial_number for entry in revoked)
        self._end = revoked.next_update_utc
        self._read_at = 0

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, stale: bool = False) -> Trust:
        """Return what `ca.pem` and `revoked.pem` in a folder say; an outdated list is refused unless `stale`."""
        place = Path(folder)
        read_at = _changed_at(place / REVOKED_FILE)
        found = cls(place, _authority_in(place / AUTHORITY_FILE), list_in(place / REVOKED_FILE))
        found._read_at = read_at
        if not stale and found._ran_out(now()):
            ended = "" if found.ends is None else f" on {found.ends:%Y-%m-%d}"
            raise InvalidInput(f"{found.revoked_file} ran out{ended}; get the newest list from who holds the authority")
        return found

    @property
    def authority_file(self) -> Path:
        """The authority's certificate, for programs that take files."""
        return self.folder / AUTHORITY_FILE

    @property
    def revoked_file(self) -> Path:
        """The list of revocations, for programs that take files."""
        return self.folder / REVOKED_FILE

    @property
    def fingerprint(self) -> str:
        """128 bits that name the authority's key, to be compared by people."""
        return fingerprint(_key_of(self.authority).public_bytes_raw())

    @property
    def ends(self) -> datetime | None:
        """When the list of revocations runs out; nobody is believed then, nor where it does not say it."""
        return self._end

    @property
    def revoked(self) -> frozenset[int]:
        """The serial numbers on the list of revocations."""
        return self._revoked

    def verify(self, der: bytes, *, role: Role = "owner") -> Certificate:
        """Return the certificate in `der`, or raise `ProtocolViolation` if the federation does not vouch for it."""
        self._require_list(now())
        found = self._issued(der, role)
        self.require_current(found)
        return found

    def require_current(self, found: Certificate) -> None:
        """Raise `ProtocolViolation` if a certificate that this authority signed does not, or no longer, hold."""
        at = now()
        self._require_list(at)
        if at < found.not_before:
            raise ProtocolViolation(f"the certificate of {found.name!r} is not valid yet; is the clock right?")
        if at > found.not_after:
            ended = f"ran out on {found.not_after:%Y-%m-%d}"
            raise ProtocolViolation(f"the certificate of {found.name!r} {ended}; have its request issued again")
        if at > self.authority.not_valid_after_utc:
            ended = f"ran out on {self.authority.not_valid_after_utc:%Y-%m-%d}"
            raise ProtocolViolation(f"the authority's own certificate {ended}; the federation needs a new authority")
        self._require_unrevoked(found)

    def issued(self, der: bytes, *, role: Role) -> Certificate:
        """Return a certificate that the authority issued and did not revoke, whether or not it still holds.

        It is for what was signed in the past: a certificate that ran out since is good for that.
        """
        found = self._issued(der, role)
        self._require_unrevoked(found)
        return found

    def _issued(self, der: bytes, role: Role) -> Certificate:
        try:
            parsed(der).verify_directly_issued_by(self.authority)
        except (InvalidSignature, *FAULTS):
            raise ProtocolViolation("a certificate was not signed by the federation's authority") from None
        found = read_certificate(der)
        if found.federation != self.federation or found.role != role:
            raise ProtocolViolation(f"a certificate is not that of this federation's {role}")
        return found

    def has_revoked(self, found: Certificate) -> bool:
        """Tell whether a certificate stands in the authority's list of revocations."""
        return found.serial in self._revoked

    def _require_unrevoked(self, found: Certificate) -> None:
        if self.has_revoked(found):
            raise ProtocolViolation(f"the certificate of {found.name!r} was revoked")

    def current(self) -> Trust:
        """Return what the files say now: this very value as long as the list of revocations is the same file.

        A list that is older, of another authority, or only half copied is not taken: the one in use stays, until it
        runs out.
        """
        if _changed_at(self.revoked_file) == self._read_at:
            return self
        try:
            found = Trust.load(self.folder)
        except InvalidInput:
            return self
        return found if found.fingerprint == self.fingerprint and found.number >= self.number else self

    def _require_list(self, at: datetime) -> None:
        if self._ran_out(at):
            raise ProtocolViolation("nobody is believed, for the list of revocations ran out; get the newest one")

    def _ran_out(self, at: datetime) -> bool:
        return self._end is None or at > self._end

    def __repr__(self) -> str:
        return f"Trust({self.federation!r}, fingerprint={self.fingerprint!r}, list={self.number})"


@dataclass(frozen=True)
class Admitted:
    """The names of one role: those with a valid certificate, and until when others are barred."""

    names: tuple[str, ...]
    barred: dict[str, datetime]


def admitted(trust: Trust, role: Role, *, at: datetime | None = None) -> Admitted | None:
    """Return whom to let in where only names are looked at: a broker that maps certificates to names does so.

    Such a broker reads no revocations, so they are taken from the register and from the list together; None where
    there is no register.

    Requires:  a copy of the authority's register (it is no secret) beside `ca.pem` and `revoked.pem`.
    Guarantee: nobody is admitted whose name stands in a certificate that was revoked and has not run out: its holder
               would come in by that name, also if the name was given to new keys since.
    """
    file, moment = trust.folder / REGISTER_FILE, at or now()
    if not file.exists():
        return None
    entries = Register(file).entries()
    if trust.revoked - {entry.serial for entry in entries}:
        raise InvalidInput(f"{file} is older than {REVOKED_FILE} beside it; get the authority's newest register")
    running = [entry for entry in entries if entry.role == role and moment <= entry.not_after]
    barred: dict[str, datetime] = {}
    for entry in running:
        if _is_revoked(entry, trust):
            barred[entry.name] = max(entry.not_after, barred.get(entry.name, entry.not_after))
    return Admitted(tuple(sorted({entry.name for entry in running} - set(barred))), barred)


def _is_revoked(entry: Registered, trust: Trust) -> bool:
    """Look at both: whichever of the two files is newer knows more."""
    return entry.revoked_at is not None or entry.serial in trust.revoked


def list_in(file: Path) -> x509.CertificateRevocationList:
    """Return the list of revocations in a file, its signature not yet checked."""
    pem = read_public(file, what="the authority's list of revocations")
    try:
        return x509.load_pem_x509_crl(pem)
    except FAULTS:
        raise InvalidInput(f"{file} is not a list of revocations") from None


def number_of(revoked: x509.CertificateRevocationList, file: Path) -> int:
    """Return the number of a list: it grows with every new one."""
    try:
        return revoked.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    except FAULTS:
        raise InvalidInput(f"{file} is not a list of revocations of a federation's authority") from None


def _authority_in(file: Path) -> x509.Certificate:
    pem = read_public(file, what="the authority's certificate")
    try:
        found = x509.load_pem_x509_certificate(pem)
        found.verify_directly_issued_by(found)
    except (InvalidSignature, *FAULTS):
        raise InvalidInput(f"{file} is not an authority's certificate") from None
    return found


def _checked_federation(authority: x509.Certificate, file: Path) -> str:
    try:
        return federation_of(authority)
    except FAULTS:
        raise InvalidInput(f"{file} is not the certificate of a federation's authority") from None


def _key_of(authority: x509.Certificate) -> Ed25519PublicKey:
    key = authority.public_key()
    assert isinstance(key, Ed25519PublicKey)  # noqa: S101  checked at birth
    return key


def _changed_at(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
