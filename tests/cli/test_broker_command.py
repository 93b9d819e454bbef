"""`fedgroup broker`."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HOSTS = [f"nats-{n}.example" for n in (1, 2, 3)]
NODES = [word for host in HOSTS for word in ("--node", host)]


@pytest.fixture
def here(fedgroup, monkeypatch) -> Iterator[Path]:
    """A folder that every user can enter, with an authority, a broker and three nodes of a cluster."""
    folder = Path(tempfile.mkdtemp(prefix="fedgroup-broker-"))
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    assert fedgroup("certificates", "init", "authority", "--federation", "city").code == 0
    for name in ("broker", "nats-1", "nats-2", "nats-3"):
        named = ("--host", f"{name}.example", "--host", "broker.example")
        assert fedgroup("certificates", "issue", "authority", "--name", name, "--role", "broker", *named, "--out", name)
    assert fedgroup("certificates", "issue", "authority", "--name", "taxi-a", "--out", "taxi-a").code == 0
    yield folder
    shutil.rmtree(folder)


def identities(*names: str) -> list[str]:
    return [word for name in names for word in ("--identity", name)]


def test_every_node_of_a_cluster_shows_its_own_certificate(fedgroup, here):
    made = fedgroup("broker", "nats", "--out", "nats", *identities("nats-3", "nats-1", "nats-2"), *NODES, "--json").json
    assert made["files"] == [f"nats/{host}.conf" for host in HOSTS]
    assert made["owners"] == ["taxi-a"]
    for number, file in enumerate(made["files"], 1):
        text = Path(file).read_text()
        assert set(re.findall(r'_file: "(.*/nats-\d/.*)"', text)) == {
            str(here / f"nats-{number}" / name) for name in ("certificate.pem", "tls.key")
        }
        assert text.count('"0.0.0.0:') == 3


def test_a_node_writes_its_own_file_alone(fedgroup, here):
    made = fedgroup("broker", "nats", "--out", "nats", *identities("nats-2"), *NODES, "--json").json
    assert made["files"] == ["nats/nats-2.example.conf"]
    assert "nats://nats-3.example:6222" in Path("nats/nats-2.example.conf").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*identities("broker"), *NODES], "names no node"),
        ([*identities("nats-1"), *NODES, "--node", "broker.example"], "names nats-1.example and broker.example"),
        ([*identities("nats-1"), "--node", HOSTS[0], "--node", HOSTS[1]], "has 3 at least, got 2"),
        ([*identities("nats-1", "nats-2")], "one broker has one certificate"),
        ([*identities("taxi-a")], "owners do not serve"),
        ([*identities("nats-1"), "--user", "mosquitto"], "--user is mosquitto's"),
    ],
)
def test_what_cannot_serve_is_refused_before_anything_is_written(fedgroup, here, words, said):
    ran = fedgroup("broker", "nats", "--out", "nats", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not Path("nats").exists()


def test_files_are_written_once_unless_somebody_says_replace(fedgroup, here):
    for kind in ("mosquitto", "nats"):
        words = ("broker", kind, "--out", kind)
        assert fedgroup(*words).code == 0
        assert "is there already; --replace writes it anew" in fedgroup(*words).err
        assert fedgroup(*words, "--replace").code == 0


def test_a_new_list_of_revocations_comes_to_mosquitto_by_replace(fedgroup, here):
    assert fedgroup("broker", "mosquitto", "--out", "mosquitto").code == 0
    assert fedgroup("certificates", "revoke", "authority", "taxi-a").code == 0
    newest, copy = Path("authority/revoked.pem"), Path("mosquitto/revoked.pem")
    assert copy.read_bytes() != newest.read_bytes()
    assert fedgroup("broker", "mosquitto", "--out", "mosquitto", "--replace").code == 0
    assert copy.read_bytes() == newest.read_bytes()


def test_mosquittos_files_belong_to_whom_it_runs_as(fedgroup, here):
    assert fedgroup("broker", "mosquitto", "--out", "mosquitto").code == 0
    user = pwd.getpwnam("mosquitto") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
    text = Path("mosquitto/mosquitto.conf").read_text()
    assert ("user mosquitto\n" in text) == (os.getuid() == 0)
    named = re.findall(r"^(?:ca|cert|key|crl|acl_)file (.*)$", text, flags=re.M)
    assert {Path(file).parent for file in named} == {here / "mosquitto"}
    assert {Path(file).stat().st_uid for file in (*named, "mosquitto")} == {user.pw_uid}
    modes = {file.name: file.stat().st_mode & 0o777 for file in Path("mosquitto").iterdir()}
    assert {name for name, mode in modes.items() if mode == 0o600} == {"mosquitto.acl", "tls.key"}
    assert {mode for name, mode in modes.items() if name not in ("mosquitto.acl", "tls.key")} == {0o644}


def test_others_than_root_write_for_themselves_only(fedgroup, here, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert (
        "only root can write files for another user"
        in fedgroup("broker", "mosquitto", "--out", "mosquitto", "--user", "nobody").err
    )
    assert fedgroup("broker", "mosquitto", "--out", "mosquitto").code == 0
    assert "user " not in Path("mosquitto/mosquitto.conf").read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("user", "said"), [("root", "does not run as root"), ("nobody-at-all", "there is no user nobody-at-all")]
)
def test_root_names_a_user_without_rights(fedgroup, here, monkeypatch, user, said):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ran = fedgroup("broker", "mosquitto", "--out", "mosquitto", "--user", user)
    assert said in ran.err
    assert not Path("mosquitto").exists()


def test_a_folder_that_the_broker_cannot_reach_is_named(fedgroup, here, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda *_: None)
    Path("closed/inside").mkdir(parents=True)
    Path("closed").chmod(0o700)
    ran = fedgroup("broker", "mosquitto", "--out", "closed/inside", "--user", "nobody")
    assert (ran.code, ran.out) == (2, "")
    assert f"nobody, whom the broker runs as, cannot enter {here / 'closed'};" in ran.err
    assert list(Path("closed/inside").iterdir()) == []
