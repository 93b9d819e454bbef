"""The compose file fits what it is made of: commands, folders, ports, and nobody sees what is another's."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy/compose.yaml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
OWNERS = ("taxi-a", "taxi-b", "taxi-c")
RUNNING = ("provider", *OWNERS)


def mounts(name: str) -> dict[str, str]:
    """Where a service finds which folder of the host."""
    found = [volume.split(":") for volume in SERVICES[name]["volumes"]]
    return {inside: outside for outside, inside, *_ in found}


def settings(name: str) -> dict[str, Any]:
    file = "owner" if name in OWNERS else name
    return tomllib.loads((ROOT / f"deploy/compose/{file}.toml").read_text())


def test_all_parties_are_there_and_none_runs_as_root() -> None:
    assert set(SERVICES) == {"setup", "mosquitto", "provider", *OWNERS, "postgis", "ask"}
    assert {service["user"] for service in SERVICES.values()} == {"${FEDGROUP_UID:-1000}:${FEDGROUP_GID:-1000}"}
    assert {tuple(service["cap_drop"]) for service in SERVICES.values()} == {("ALL",)}
    built = {name for name, service in SERVICES.items() if "build" in service}
    assert built == {"setup", "ask", *RUNNING}
    build = SERVICES["provider"]["build"]
    assert (COMPOSE.parent / build["context"] / build["dockerfile"]).resolve() == ROOT / "deploy/Containerfile"
    assert all(re.search(r":\d", SERVICES[name]["image"]) for name in set(SERVICES) - built)


@pytest.mark.parametrize("name", RUNNING)
def test_roles_are_started_by_commands_that_exist(name: str) -> None:
    role, *options = shlex.split(SERVICES[name]["command"].replace("${FIRST:-}", "--new-ledger"))
    (section,) = re.findall(
        rf"^## fedgroup {role}\n(.*?)(?=^## |\Z)", (ROOT / "docs/reference/cli.md").read_text(), flags=re.M | re.S
    )
    assert [word for word in options if word.startswith("--") and f"`{word}" not in section] == []
    (config,) = [word for word in options if word.endswith(".toml")]
    assert mounts(name) == {str(Path(config).parent): f"./federation/{name}"}
    assert ("--new-ledger" in options) == (role == "owner")


def test_everybody_sees_its_own_folder_alone_and_nobody_the_authority() -> None:
    seen = {name: set(mounts(name).values()) for name in SERVICES if name != "setup"}
    assert [(one, two) for one in seen for two in seen if one < two and seen[one] & seen[two]] == []
    assert not any(
        "authority" in place or place.rstrip("/") == "./federation" for all_ in seen.values() for place in all_
    )
    assert set(mounts("setup").values()) == {"./compose", "./federation"}


def test_names_and_ports_are_those_in_the_files() -> None:
    for name in RUNNING:
        said = settings(name)
        assert (said["broker"]["host"], said["broker"]["port"]) == ("mosquitto", 8883)
        assert said["broker"].get("embedded", False) is False
    http = settings("provider")["http"]
    assert SERVICES["provider"]["ports"] == [f"127.0.0.1:{http['port']}:{http['port']}"]
    assert SERVICES["ask"]["environment"]["FEDGROUP_URL"] == f"https://provider:{http['port']}"
    assert settings("taxi-a")["silo"]["url"].endswith(f"@postgis/{SERVICES['postgis']['environment']['POSTGRES_DB']}")
    for name in OWNERS:
        assert SERVICES[name]["environment"]["PGPASSFILE"] == f"/federation/{name}/pgpass"


def test_what_is_sent_to_build_the_container_holds_no_keys() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    assert lines[lines.index("*") - 1].startswith("#")
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "deploy/Containerfile").read_text(), flags=re.M)
    assert sent == {word for line in copied for word in line.split()}
    assert "/deploy/federation/" in (ROOT / ".gitignore").read_text().splitlines()
