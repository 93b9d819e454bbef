"""What operators are told is true: files in the documents can be read, units and container file fit the program."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedgroup.live.attendance import Attendance
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.samples import owner_text, provider_text
from fedgroup.messages.said import REASONS
from fedgroup.service.metrics import Metrics
from fedgroup.silos.settings import settings_of

ROOT = Path(__file__).parents[2]
OPERATE = ROOT / "docs/how-to/operate.md"
UNITS = sorted((ROOT / "deploy").glob("*.service"))
SAMPLES = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), flags=re.M | re.S))
]
FACTS = {"file": "f", "federation": "city", "domain": "0, 0, 9, 9", "lonlat": False, "host": "h", "port": 1}
PLACES = {"folder": "own", "authority": "authority"}
PROVIDERS = {"http", "answers", "state", "standing"}


def completed(block: str) -> tuple[str, type]:
    """A sample with the tables that it leaves out, and whose file it is."""
    said = tomllib.loads(block)
    of_provider = bool(PROVIDERS & set(said)) or "embedded" in said.get("broker", {})
    usual = provider_text(**FACTS, **PLACES, http_port=2) if of_provider else owner_text(**FACTS, **PLACES)
    tables = re.findall(r"^(\[(\w+)\].*?)(?=^\[|\Z)", usual, flags=re.M | re.S)
    return block + "\n".join(text for text, name in tables if name not in said), (
        ProviderConfig if of_provider else OwnerConfig
    )


@pytest.mark.parametrize("block", SAMPLES)
def test_samples_of_files_can_be_read(block: str, tmp_path: Path) -> None:
    text, kind = completed(block)
    (tmp_path / "role.toml").write_text(text)
    found = read_config(tmp_path / "role.toml", kind)
    if isinstance(found, OwnerConfig) and found.silo["kind"] != "records":
        settings_of(found.silo)


def test_every_metric_and_every_reason_is_explained() -> None:
    page = OPERATE.read_text()
    told = Metrics().text(Attendance(frozenset(), frozenset()), broker=True, answered_at=1.0, refused_messages=0)
    metrics = re.findall(r"^# TYPE (\w+)", told, flags=re.M)
    assert [name for name in metrics if f"`{name}" not in page] == []
    assert set(re.findall(r"`(fedgroup_\w+)", page)) == set(metrics)
    assert [reason for reason in REASONS if f"`{reason}`" not in page] == []


def unit(path: Path) -> dict[str, list[str]]:
    """What a unit says about its service, by directive."""
    parser = configparser.RawConfigParser(strict=False, dict_type=dict, interpolation=None)
    parser.optionxform = str
    parser.read_string(path.read_text())
    assert set(parser.sections()) == {"Unit", "Service", "Install"}
    said: dict[str, list[str]] = {}
    for line in path.read_text().split("[Service]")[1].split("[Install]")[0].splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            said.setdefault(name, []).append(value)
    return said


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_run_commands_that_exist_and_little_else(path: Path) -> None:
    said = unit(path)
    (command,) = said["ExecStart"]
    program, role, *options = shlex.split(command)
    assert Path(program).name == "fedgroup"
    reference = (ROOT / "docs/reference/cli.md").read_text()
    (section,) = re.findall(rf"^## fedgroup {role}\n(.*?)(?=^## |\Z)", reference, flags=re.M | re.S)
    assert [word for word in options if word.startswith("--") and f"`{word} " not in section] == []
    hardened = {"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "UMask": "0077"}
    assert {name: said[name] for name in hardened} == {name: [value] for name, value in hardened.items()}
    (state,) = said["StateDirectory"]
    assert f"/var/lib/{state}/{role}.toml" in options
    (cache,) = said["CacheDirectory"]
    assert f"NUMBA_CACHE_DIR=/var/cache/{cache}" in said["Environment"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_finds_nothing_wrong_with_units(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name.replace("@.", "@taxi-a.")
    installed = str(Path(sys.executable).with_name("fedgroup"))
    copy.write_text(path.read_text().replace("/opt/fedgroup/bin/fedgroup", installed))
    words = ["systemd-analyze", "verify", "--man=no", str(copy)]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert [line for line in ran.stderr.splitlines() if "fedgroup" in line] == []
    assert ran.returncode == 0


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "deploy/Containerfile").read_text(), flags=re.M).replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.strip()]
    return [(name, rest) for name, rest in lines]


def test_the_container_is_built_of_files_that_exist() -> None:
    found = instructions()
    allowed = ["FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"]
    assert {name for name, _ in found} == set(allowed)
    copied = [rest.split()[:-1] for name, rest in found if name == "COPY" and "--from" not in rest]
    assert [file for files in copied for file in files if not (ROOT / file).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = [re.findall(r"'\.\[(.*?)\]'", rest)[0] for name, rest in found if "pip install" in rest]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    assert project["readme"] in copied[0]
    assert set(project["license-files"]) <= set(copied[0])


def test_the_container_runs_the_program_and_not_as_root() -> None:
    found = instructions()
    stages = [rest for name, rest in found if name == "FROM"]
    assert all(re.match(r"python:3\.\d+-slim\b", stage) for stage in stages)
    last = dict(found[max(i for i, (name, _) in enumerate(found) if name == "FROM") :])
    user, _, group = last["USER"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["fedgroup"]
    assert "NUMBA_CACHE_DIR=/var/cache/fedgroup" in last["ENV"]
    assert json.loads(last["VOLUME"]) == ["/var/lib/fedgroup", "/var/cache/fedgroup"]
