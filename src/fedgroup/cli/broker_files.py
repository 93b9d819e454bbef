"""The files of a broker, written so that the user it runs as can read them, and nobody else its key."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedgroup.cli.output import notice
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from pwd import struct_passwd

_PUBLIC, _SECRET = 0o644, 0o600


@dataclass(frozen=True)
class Account:
    """A user of this machine, and the groups it is in."""

    name: str
    uid: int
    gid: int
    groups: frozenset[int]

    def can_enter(self, folder: Path) -> bool:
        """Tell whether this user can look up files in a folder, by its mode."""
        found = folder.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        return bool(found.st_mode & (stat.S_IXGRP if found.st_gid in self.groups else stat.S_IXOTH))


def runs_as(named: str | None, *, usual: str) -> Account | None:
    """Return the user that a broker started by root runs as; none where it runs as whoever starts it."""
    if os.name != "posix" or os.geteuid() != 0:
        if named is not None:
            raise InvalidInput("only root can write files for another user; without --user they are your own")
        return None
    found = _found(usual if named is None else named)
    if found is None and named is not None:
        raise InvalidInput(f"there is no user {named} on this machine; name one that the broker runs as (--user)")
    if found is None:
        notice(
            f"there is no user {usual} here: the key is root's alone; name the user that the broker runs as (--user)"
        )
        return None
    if found.pw_uid == 0:
        raise InvalidInput("a broker listens to strangers and does not run as root; name another --user")
    groups = frozenset(os.getgrouplist(found.pw_name, found.pw_gid))
    return Account(found.pw_name, found.pw_uid, found.pw_gid, groups)


def _found(name: str) -> struct_passwd | None:
    import pwd

    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def write_files(
    folder: Path,
    public: Mapping[str, bytes],
    secret: Mapping[str, bytes],
    *,
    replace: bool,
    account: Account | None = None,
) -> list[str]:
    """Write files into a folder and return them; all belong to the account, if there is one, and it can reach them."""
    there = [name for name in (*public, *secret) if (folder / name).exists()]
    if there and not replace:
        raise InvalidInput(f"{folder / there[0]} is there already; --replace writes it anew")
    _make(folder, account)
    for name, text in public.items():
        _write(folder / name, text, mode=_PUBLIC, account=account)
    for name, text in secret.items():
        _write(folder / name, text, mode=_SECRET, account=account)
    return [str(folder / name) for name in (*public, *secret)]


def _make(folder: Path, account: Account | None) -> None:
    """Make a folder that the account can enter, or say which folder above it cannot be entered."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if account is None:
        return
    if new:
        os.chown(folder, account.uid, account.gid)
    whole = folder.resolve()
    for place in (*reversed(whole.parents), whole):
        if not account.can_enter(place):
            raise InvalidInput(
                f"{account.name}, whom the broker runs as, cannot enter {place}; name an --out that it can reach, such "
                f"as /etc/{account.name}/fedgroup"
            )


def _write(path: Path, text: bytes, *, mode: int, account: Account | None) -> None:
    """Write a file, or replace it as a whole: it never has another mode or owner under its name."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SECRET), "wb") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
            if account is not None:
                os.fchown(file.fileno(), account.uid, account.gid)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
