from __future__ import annotations

import os
import stat
import sys

import pytest

from fedgroup.errors import InvalidInput
from fedgroup.identity.files import new_folder, read_private, read_public, write_private, write_public
from fedgroup.identity.keys import is_locked, locked, unlocked

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@on_posix
def test_a_private_file_is_its_owners_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        write_private(tmp_path / "key", b"secret")
        new_folder(tmp_path / "party")
        write_public(tmp_path / "cert", b"public")
    finally:
        os.umask(before)
    assert [mode(tmp_path / name) for name in ("key", "party", "cert")] == [0o600, 0o700, 0o644]
    assert read_private(tmp_path / "key") == b"secret"


@on_posix
@pytest.mark.parametrize("open_to", [0o640, 0o604, 0o620, 0o602, 0o610, 0o666, 0o777])
def test_a_key_that_others_could_touch_is_refused_with_the_remedy(tmp_path, open_to):
    write_private(tmp_path / "key", b"secret")
    (tmp_path / "key").chmod(open_to)
    with pytest.raises(InvalidInput, match="chmod 600") as refused:
        read_private(tmp_path / "key")
    assert "secret" not in str(refused.value)


def test_a_private_file_is_never_replaced(tmp_path):
    write_private(tmp_path / "key", b"first")
    with pytest.raises(InvalidInput, match="not replaced"):
        write_private(tmp_path / "key", b"second")
    assert read_private(tmp_path / "key") == b"first"


def test_a_public_file_is_replaced_as_a_whole(tmp_path):
    write_public(tmp_path / "list", b"first")
    write_public(tmp_path / "list", b"second")
    assert [path.name for path in tmp_path.iterdir()] == ["list"]
    assert read_public(tmp_path / "list", what="a list") == b"second"


@pytest.mark.parametrize(
    "act",
    [
        lambda place: read_private(place / "none"),
        lambda place: read_public(place / "none", what="a list"),
        lambda place: write_private(place / "none" / "key", b""),
        lambda place: write_public(place / "none" / "list", b""),
        lambda place: new_folder(place / "file" / "below"),
    ],
)
def test_what_cannot_be_read_or_written_is_invalid_input(tmp_path, act):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput):
        act(tmp_path)


def test_a_locked_key_opens_with_its_passphrase_only():
    file = locked(b"the key", "correct horse")
    assert is_locked(file)
    assert b"the key" not in file
    assert unlocked(file, "correct horse") == b"the key"
    with pytest.raises(InvalidInput, match="passphrase"):
        unlocked(file, "correct house")


def test_a_locked_key_that_was_changed_does_not_open():
    file = locked(b"the key", "correct horse")
    changed = [file[:at] + bytes([file[at] ^ 1]) + file[at + 1 :] for at in (30, 60, 90)]
    for wrong in (*changed, file[:60], file[:23]):
        with pytest.raises(InvalidInput):
            unlocked(wrong, "correct horse")


def test_a_short_passphrase_is_refused_without_repeating_it():
    with pytest.raises(InvalidInput) as refused:
        locked(b"the key", "hunter2")
    assert "hunter2" not in str(refused.value)
