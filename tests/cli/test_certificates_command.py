"""`fedgroup certificates`."""

from __future__ import annotations

import io

import pytest

from fedgroup.errors import ProtocolViolation
from fedgroup.identity import Identity, Trust

PASSPHRASE = "FEDGROUP_CA_PASSPHRASE"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(PASSPHRASE, raising=False)
    return tmp_path


@pytest.fixture
def certificates(fedgroup, place):
    return lambda *words: fedgroup("certificates", *words)


@pytest.fixture
def authority(certificates, place):
    assert certificates("init", "authority", "--federation", "taxis").code == 0
    return place / "authority"


@pytest.fixture
def refused(certificates):
    def run(*words: object) -> str:
        ran = certificates(*words)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("fedgroup: ")
        assert ran.err.count("\n") == 1
        return ran.err

    return run


def test_an_authority_is_made_once(certificates, refused, place):
    facts = certificates("init", "authority", "--federation", "taxis", "--json").json
    assert set(facts) == {"folder", "federation", "fingerprint", "until", "locked"}
    assert facts["fingerprint"] == Trust.load(place / "authority").fingerprint
    assert "another folder" in refused("init", "authority", "--federation", "taxis")


def test_an_owner_makes_its_keys_and_gets_a_certificate(certificates, authority, place):
    asked = certificates("request", "taxi-a", "--role", "owner", "--out", "taxi-a", "--json").json
    issued = certificates("issue", authority, "taxi-a/request.csr", "--out", "taxi-a", "--json").json
    assert (issued["name"], issued["role"], issued["fingerprint"]) == ("taxi-a", "owner", asked["fingerprint"])
    owner = Identity.load(place / "taxi-a")
    assert Trust.load(place / "taxi-a").verify(owner.certificate.der) == owner.certificate


def test_people_are_told_the_fingerprint_on_both_sides(certificates, authority):
    asked = certificates("request", "taxi-a", "--role", "owner", "--out", "taxi-a").out
    issued = certificates("issue", authority, "taxi-a/request.csr").out
    assert asked.split("fingerprint ")[1].strip() in issued


def test_a_certificate_waits_beside_the_authority_unless_told_otherwise(certificates, authority):
    certificates("request", "taxi-a", "--role", "owner", "--out", "taxi-a")
    assert certificates("issue", authority, "taxi-a/request.csr").code == 0
    sent = authority / "issued" / "taxi-a"
    assert sorted(path.name for path in sent.iterdir()) == ["ca.pem", "certificate.pem", "revoked.pem"]


def test_keys_and_certificate_in_one_go_for_trying(certificates, authority, place):
    assert certificates("issue", authority, "--name", "taxi-a", "--out", "taxi-a").code == 0
    assert Identity.load(place / "taxi-a").role == "owner"
    serving = ("--name", "provider", "--role", "provider", "--host", "broker.example.org", "--host", "127.0.0.1")
    facts = certificates("issue", authority, *serving, "--out", "provider", "--json").json
    assert facts["hosts"] == ["broker.example.org", "127.0.0.1"]
    assert Identity.load(place / "provider").role == "provider"


def test_a_provider_serves_on_this_machine_by_default(certificates, place):
    asked = certificates("request", "provider", "--role", "provider", "--out", "provider", "--json").json
    assert asked["hosts"] == ["localhost", "127.0.0.1", "::1"]


def test_nobody_becomes_a_provider_unnoticed(certificates, refused, authority):
    certificates("request", "taxi-a", "--role", "provider", "--out", "taxi-a")
    assert "--role provider" in refused("issue", authority, "taxi-a/request.csr")
    assert certificates("issue", authority, "taxi-a/request.csr", "--role", "provider").code == 0


def test_a_request_must_be_what_was_expected(certificates, refused, authority):
    certificates("request", "taxi-a", "--role", "owner", "--out", "taxi-a")
    assert "taxi-b" in refused("issue", authority, "taxi-a/request.csr", "--name", "taxi-b")
    certificates("request", "provider", "--role", "provider", "--out", "provider")
    as_provider = ("provider/request.csr", "--role", "provider", "--host")
    assert "hosts" in refused("issue", authority, *as_provider, "elsewhere.example.org")


def test_a_revoked_owner_is_on_the_list_and_its_name_is_free(certificates, authority, place):
    certificates("issue", authority, "--name", "taxi-a", "--out", "old")
    done = certificates("revoke", authority, "taxi-a", "--json").json
    assert (done["revoked"], len(done["serials"])) == (["taxi-a"], 1)
    with pytest.raises(ProtocolViolation, match="revoked"):
        Trust.load(authority).verify(Identity.load(place / "old").certificate.der)
    assert certificates("issue", authority, "--name", "taxi-a", "--out", "new").code == 0


def test_a_list_is_dated_anew(certificates, authority):
    before = Trust.load(authority).number
    assert "nobody" in certificates("revoke", authority, "--days", 30).out
    assert Trust.load(authority).number == before + 1


def test_the_list_shows_everybody(certificates, authority):
    for name in ("taxi-a", "taxi-b"):
        certificates("issue", authority, "--name", name, "--out", name)
    certificates("revoke", authority, "taxi-b")
    facts = certificates("list", authority, "--json").json
    assert facts["federation"] == "taxis"
    assert [(row["name"], row["state"]) for row in facts["certificates"]] == [
        ("taxi-a", "valid"), ("taxi-b", "revoked"),
    ]  # fmt: skip
    shown = certificates("list", authority).out
    assert all(row["fingerprint"] in shown for row in facts["certificates"])


def test_an_owner_looks_at_its_own(certificates, authority, place):
    certificates("issue", authority, "--name", "taxi-a", "--out", "taxi-a")
    [row] = certificates("list", "taxi-a", "--json").json["certificates"]
    assert (row["name"], row["state"]) == ("taxi-a", "valid")
    certificates("revoke", authority, "taxi-a")
    (place / "taxi-a" / "revoked.pem").write_bytes((authority / "revoked.pem").read_bytes())
    [row] = certificates("list", "taxi-a", "--json").json["certificates"]
    assert "revoked" in row["state"]


def test_an_authority_without_certificates_lists_none(certificates, authority):
    assert certificates("list", authority, "--json").json["certificates"] == []


def test_a_passphrase_comes_from_the_environment(certificates, refused, place, monkeypatch):
    monkeypatch.setenv(PASSPHRASE, "correct horse")
    assert certificates("init", "authority", "--federation", "taxis", "--json").json["locked"] is True
    assert certificates("issue", "authority", "--name", "taxi-a", "--out", "taxi-a").code == 0
    monkeypatch.setenv(PASSPHRASE, "correct house")
    said = refused("revoke", "authority", "taxi-a")
    assert "passphrase" in said
    assert "house" not in said


def test_a_passphrase_is_asked_for_where_there_is_a_terminal(certificates, refused, place, monkeypatch):
    asked = []
    monkeypatch.setattr("typer.prompt", lambda text, **how: asked.append(how) or "correct horse")
    assert PASSPHRASE in refused("init", "authority", "--federation", "taxis", "--passphrase")
    monkeypatch.setattr("sys.stdin", _Terminal())
    assert certificates("init", "authority", "--federation", "taxis", "--passphrase").code == 0
    assert certificates("issue", "authority", "--name", "taxi-a", "--out", "taxi-a").code == 0
    assert all(how["hide_input"] and how["err"] for how in asked)


@pytest.mark.parametrize(
    "words",
    [
        "init made --federation Taxis",
        "init made --federation taxis --days 0",
        "init made",
        "request Taxi --role owner --out made",
        "request taxi-a --role driver --out made",
        "request taxi-a --role owner --host localhost --out made",
        "request provider --role owner --out made",
        "request provider --role provider --host * --out made",
        "request taxi-a --role owner",
        "issue nowhere request.csr",
        "issue authority missing.csr",
        "issue authority authority/ca.pem",
        "issue authority --name taxi-a",
        "issue authority --out made",
        "issue authority --name taxi-a --days 0 --out other",
        "revoke nowhere taxi-a",
        "revoke authority taxi-z",
        "revoke authority --days 0",
        "list nowhere",
        "nonsense",
    ],
)
def test_bad_words_are_refused_and_make_nothing(refused, authority, place, words):
    refused(*words.split())
    assert not (place / "made").exists()


def test_keys_never_reach_a_terminal(certificates, authority, place):
    ran = [
        certificates("request", "taxi-a", "--role", "owner", "--out", "taxi-a"),
        certificates("issue", authority, "taxi-a/request.csr", "--out", "taxi-a"),
        certificates("list", authority),
    ]
    said = "".join(one.out + one.err for one in ran)
    for key in (place / "taxi-a" / "tls.key", place / "taxi-a" / "exchange.key", authority / "ca.key"):
        assert key.read_text().splitlines()[1] not in said


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
