"""Key files that only their owner can read, and public files that appear whole or not at all.

Guarantee: a private file is made with mode 0600 and never replaces another; one that its group or the world could read
           is refused, because its secret must be taken for known.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from fedgroup.errors import InvalidInput

MOST_BYTES = 1 << 20
_PUBLIC = 0o644
_LISTS = 1 << 28


def new_folder(path: Path) -> None:
    """Make a folder that only its owner can enter; one that is there already stays as it is."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise InvalidInput(f"the folder {path} cannot be made; name one in a place that is writable") from None


def write_private(path: Path, secret: bytes) -> None:
    """Write a new file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{path} exists and is not replaced; choose another folder") from None
    except OSError:
        raise InvalidInput(f"{path} cannot be written; choose a folder that is writable") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret)


def read_private(path: Path) -> bytes:
    """Return a key file's bytes, unless others could read it too."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if os.name == "posix" and mode & 0o077:
                raise InvalidInput(f"{path} can be read by others (mode {mode:04o}); close it with: chmod 600 {path}")
            return file.read(MOST_BYTES)
    except OSError:
        raise InvalidInput(f"the key file {path} cannot be read") from None


def write_public(path: Path, text: bytes) -> None:
    """Write or replace a file that everybody may read, at once and as a whole."""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError:
        raise InvalidInput(f"{path} cannot be written; name a folder that exists and is writable") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        os.chmod(draft, _PUBLIC)
        os.replace(draft, path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise InvalidInput(f"{path} cannot be written") from None


def read_public(path: Path, *, what: str) -> bytes:
    """Return a public file's bytes; `what` says in an error what it should have been."""
    try:
        with path.open("rb") as file:
            return file.read(_LISTS)
    except OSError:
        raise InvalidInput(f"{path} cannot be read; it should be {what}") from None
