"""What `fedgroup up` prints can be copied: every command in it finds the federation, wherever its folder is."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from fedgroup.cli.access import ServiceOptions, find_access
from fedgroup.cli.live import _up
from fedgroup.errors import InvalidInput

FACTS = {"url": "http://127.0.0.1:1234", "owners": 3, "groups": 1, "alone": 0, "map": 0.3}


def commands(access: Path, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    _up(FACTS | {"access": str(access)}, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    return [shlex.split(line) for line in lines if line.startswith("  fedgroup ask")]


@pytest.mark.parametrize("folder", [".fedgroup", "trial city"])
def test_printed_commands_find_the_federation_of_their_folder(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FEDGROUP_URL", "FEDGROUP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    access = Path(folder) / "up.json"
    access.parent.mkdir()
    access.write_text(json.dumps({"url": FACTS["url"], "token": "secret", "ca": None}))
    access.chmod(0o600)
    printed = commands(access, capsys)
    assert {words[2] for words in printed} == {"count", "avg", "map", "read"}
    for words in printed:
        named = words[words.index("--token-file") + 1] if "--token-file" in words else None
        found = find_access(ServiceOptions(token_file=None if named is None else Path(named)))
        assert (found.url, found.token) == (FACTS["url"], "secret")


def test_a_file_of_up_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "up.json"
    path.write_text("{}")
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="open to others"):
        find_access(ServiceOptions(token_file=path))
