"""Whom to let in where only names are looked at: a broker that maps certificates to names and reads no revocations.

Requires:  a copy of the authority's register (it is no secret) beside `ca.pem` and `revoked.pem`.
Guarantee: nobody is admitted whose name stands in a certificate that was revoked and has not run out: its holder would
           come in by that name, also if the name was given to new keys since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fedgroup.errors import InvalidInput
from fedgroup.identity.issuing import now
from fedgroup.identity.naming import Role
from fedgroup.identity.register import REGISTER_FILE, Register, Registered
from fedgroup.identity.trust import REVOKED_FILE, Trust


@dataclass(frozen=True)
class Admitted:
    """The names of one role: those with a valid certificate, and until when others are barred."""

    names: tuple[str, ...]
    barred: dict[str, datetime]


def admitted(trust: Trust, role: Role, *, at: datetime | None = None) -> Admitted | None:
    """Return who may come in by the register and the list of revocations together; None where there is no register."""
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
