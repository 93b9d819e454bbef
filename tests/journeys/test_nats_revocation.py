"""NATS reads no revocations: a revoked owner is gone once the broker's file was written anew and reloaded."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from pathlib import Path

import pytest
from journey_roles import PATIENCE_S, Roles, broker_words, free_ports, run

from fedgroup.identity import Identity, Trust
from fedgroup.live.trial import FEDERATION
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.packets import Will
from fedgroup.transport.topics import PROVIDER, Topics

TOPICS = Topics(FEDERATION)
REVOKED = "owner-001"


class Broker:
    """A NATS server as its operator runs it."""

    def __init__(self, roles: Roles) -> None:
        (self.port,) = free_ports(1)
        self.trial = roles.trial.folder
        words = broker_words(roles, "nats", self.port)
        self._conf = Path(words[-1])
        self._client_port = re.search(r'^listen: ".*:(\d+)"', self._conf.read_text(), flags=re.M)[1]
        self._process = roles.start_server("nats", words, self.port).process

    def address(self, name: str) -> BrokerAddress:
        """Where `name` connects to, with its certificate: known here are no revocations, as somebody hostile would."""
        folder = self.trial / "provider" if name == PROVIDER else self.trial / "owners" / name / "identity"
        identity = Identity.load(folder)
        return BrokerAddress("127.0.0.1", self.port, identity.client_context(Trust.load(folder)))

    def write_anew(self) -> dict:
        where = ["--identity", str(self.trial / "provider"), "--authority", str(self.trial / "authority")]
        told = run("broker", "nats", "--out", str(self._conf.parent), *where, "--port", str(self.port), "--replace")
        self._conf.write_text(self._conf.read_text().replace(":4222", f":{self._client_port}"))
        return told

    def reload(self) -> None:
        self._process.send_signal(signal.SIGHUP)


async def connected(broker: Broker, name: str, heard: list[tuple[str, bytes]] | None = None) -> Connection:
    will = None if name == PROVIDER else Will(TOPICS.presence(name), b"gone")
    note = (lambda *_: None) if heard is None else lambda topic, payload: heard.append((topic, payload))
    return await Connection.open(broker.address(name), client=name, will=will, on_message=note)


async def until_heard(heard: list[tuple[str, bytes]], *message: object) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while message not in heard:
            await asyncio.sleep(0.02)


def test_a_revoked_owner_is_cut_off_and_the_others_go_on(tmp_path: Path) -> None:
    async def journey(broker: Broker) -> None:
        heard: list[tuple[str, bytes]] = []
        asked: list[tuple[str, bytes]] = []
        provider = await connected(broker, PROVIDER, heard)
        await provider.subscribe([TOPICS.say("+"), TOPICS.presence("+")])
        other, revoked = await connected(broker, "owner-000", asked), await connected(broker, REVOKED)
        await other.subscribe([TOPICS.ask("owner-000")])
        revoked.publish(TOPICS.say(REVOKED), b"still here")
        await until_heard(heard, TOPICS.say(REVOKED), b"still here")

        run("certificates", "revoke", str(broker.trial / "authority"), REVOKED)
        told = broker.write_anew()
        assert (told["owners"], list(told["left_out"])) == (["owner-000", "owner-002"], [REVOKED])
        broker.reload()
        await asyncio.wait_for(revoked.end(), PATIENCE_S)
        await until_heard(heard, TOPICS.presence(REVOKED), b"gone")
        with pytest.raises(OSError):
            await connected(broker, REVOKED)

        other.publish(TOPICS.say("owner-000"), b"on the same connection")
        await until_heard(heard, TOPICS.say("owner-000"), b"on the same connection")
        provider.publish(TOPICS.ask("owner-000"), b"question")
        await until_heard(asked, TOPICS.ask("owner-000"), b"question")
        await (await connected(broker, "owner-002")).leave()
        await other.leave()
        await provider.leave()

    with Roles(tmp_path, owners=3) as roles:
        asyncio.run(journey(Broker(roles)))


def test_files_of_nats_name_who_is_valid_by_the_register(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=3) as roles:
        trial, here = roles.trial.folder, tmp_path / "at-the-broker"
        here.mkdir()
        where = ["--identity", str(trial / "provider"), "--authority", str(here), "--replace"]
        run("certificates", "revoke", str(trial / "authority"), REVOKED)
        for file in ("ca.pem", "revoked.pem"):
            shutil.copy(trial / "authority" / file, here)

        def written(*owners: str) -> tuple[list[str], list[str]]:
            named = [word for owner in owners for word in ("--owner", owner)]
            told = run("broker", "nats", "--out", str(tmp_path / "nats"), *where, *named)
            users = re.findall(r'"CN=([\w-]+),OU=owner', (tmp_path / "nats" / "nats.conf").read_text())
            assert users == told["owners"]
            return users, list(told["left_out"])

        with pytest.raises(AssertionError, match="name the owners"):
            written()
        assert written("taxi-b", "taxi-a") == (["taxi-a", "taxi-b"], [])
        shutil.copy(trial / "authority" / "register.db", here)
        assert written() == (["owner-000", "owner-002"], [REVOKED])
        assert written("owner-002", REVOKED, "soon-to-come") == (["owner-002", "soon-to-come"], [REVOKED])
