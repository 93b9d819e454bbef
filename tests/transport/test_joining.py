"""Parties of one process connect a few at a time, and show seldom enough that they are there."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from wire_certificates import Federation

from driven_time import in_driven_time
from fedgroup.identity.tls import OwnCalls
from fedgroup.transport.backoff import Backoff
from fedgroup.transport.connection import BrokerAddress, Connection
from fedgroup.transport.joining import Joining, keepalive_s
from fedgroup.transport.mqtt import MqttOwnerLink
from fedgroup.transport.topics import Topics
from fedgroup.transport.tunnel import Tunnel

SECONDS = 0.5


def test_owners_of_a_process_shake_hands_a_few_at_a_time_and_all_get_their_turn(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most, done = 0, 0, set[str]()

    async def slow(address: BrokerAddress, *, client: str, **_: object) -> Connection:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        try:
            await asyncio.sleep(SECONDS)
        finally:
            under_way -= 1
        done.add(client)
        raise ConnectionRefusedError("that is all")

    monkeypatch.setattr(Connection, "open", slow)
    broker = BrokerAddress("localhost", 1, federation.client("ann-0"))

    async def story() -> None:
        joining = Joining(at_once=5)
        links = [
            MqttOwnerLink(f"owner-{i}", topics=Topics("city"), broker=broker, certificate=b"", joining=joining)
            for i in range(40)
        ]
        for link in links:
            link.start()
        while len(done) < len(links):
            await asyncio.sleep(SECONDS)
        for link in links:
            await link.close()

    in_driven_time(story())
    assert most == 5


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), ConnectionRefusedError("nobody there")])
def test_whatever_keeps_a_party_from_connecting_it_tries_again_and_waits_longer_each_time(
    error: Exception, federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it has to wait for its turn, or for a broker that does not answer, for longer than a line lasts."""
    tries: list[float] = []

    async def failing(_address: BrokerAddress, **_: object) -> Connection:
        tries.append(asyncio.get_running_loop().time())
        await asyncio.sleep(30)
        raise error

    monkeypatch.setattr(Connection, "open", failing)
    broker = BrokerAddress("localhost", 1, federation.client("ann-0"))

    async def story() -> None:
        link = MqttOwnerLink("ann-0", topics=Topics("city"), broker=broker, certificate=b"", backoff=Steady())
        link.start()
        await asyncio.sleep(31 + 32 + 33 + 34 + SECONDS)
        await link.close()

    in_driven_time(story())
    assert [round(later - earlier) for earlier, later in itertools.pairwise(tries)] == [31, 32, 33, 34]


class Steady(Backoff):
    """Waits as many seconds as there were tries."""

    def wait_s(self, _name: str, attempt: int) -> float:
        return float(attempt)


def test_many_parties_ping_seldom_and_few_as_before() -> None:
    assert [keepalive_s(parties) for parties in (1, 500, 1_000, 2_500, 100_000)] == [10, 10, 20, 50, 120]


def test_calls_by_one_context_show_the_certificate_of_who_calls(federation: Federation) -> None:
    context = federation.client("provider")
    calls = {
        name: OwnCalls(context, federation.pem(name), federation.folder / f"{name}.key") for name in ("ann-0", "bob-1")
    }
    near = federation.listening(0).tls()
    far = {name: (Tunnel(each, to="localhost"), Tunnel(near)) for name, each in calls.items()}
    for _ in range(6):  # both shake hands at the same time
        for client, server in far.values():
            server.receive(client.to_send() if client.receive(b"") == b"" else b"")
            client.receive(server.to_send())
    assert {name: server.certificate for name, (_, server) in far.items()} == {
        name: federation.der(name) for name in calls
    }


def test_a_certificate_that_went_away_is_an_error_of_the_line(federation: Federation, tmp_path: Path) -> None:
    lost = OwnCalls(federation.client("ann-0"), tmp_path / "none.pem", tmp_path / "none.key")
    with pytest.raises(OSError, match="No such file"):
        Tunnel(lost, to="localhost")
