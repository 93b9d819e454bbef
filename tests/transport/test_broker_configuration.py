"""Configuration for other brokers: what is in it, and a cluster of three NATS servers that works."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from wire_brokers import TOPICS, free_port, program
from wire_certificates import Federation
from wire_parties import SOON, listening

from fedgroup.errors import InvalidInput
from fedgroup.transport.acl import NatsNode, mosquitto, mosquitto_acl, nats, nats_cluster
from fedgroup.transport.connection import BrokerAddress
from fedgroup.transport.listening import Listening
from fedgroup.transport.mqtt import MqttOwnerLink, MqttProviderLink
from fedgroup.transport.topics import PROVIDER

FILES = Listening("127.0.0.1", 8883, Path("ca.pem"), Path("broker.pem"), Path("broker.key"))
NODE = NatsNode("one", FILES, client_port=4222, store=Path("store"))


def test_mosquitto_wants_certificates_and_keeps_limits() -> None:
    lines = mosquitto(FILES, acl_file=Path("acl")).splitlines()
    expected = {
        "listener 8883 127.0.0.1",
        "require_certificate true",
        "use_identity_as_username true",
        "use_username_as_clientid true",
        "allow_anonymous false",
        "acl_file acl",
        "message_size_limit 1048576",
    }
    assert expected <= set(lines)
    assert not any(line.startswith("crlfile") for line in lines)


def test_mosquitto_knows_what_was_revoked() -> None:
    revoked = Listening("127.0.0.1", 8883, Path("ca.pem"), Path("b.pem"), Path("b.key"), revoked=Path("revoked.pem"))
    assert "crlfile revoked.pem\n" in mosquitto(revoked, acl_file=Path("acl"))


def test_the_rules_of_mosquitto_are_patterns_for_all_owners() -> None:
    assert mosquitto_acl(TOPICS) == (
        "user provider\n"
        "topic read fedgroup/city/owner/+/say\n"
        "topic read fedgroup/city/owner/+/presence\n"
        "topic write fedgroup/city/owner/+/ask\n"
        "\n"
        "# %u is the name in the client's certificate\n"
        "pattern read fedgroup/city/owner/%u/ask\n"
        "pattern read fedgroup/city/owner/%u/from/+\n"
        "pattern write fedgroup/city/owner/%u/say\n"
        "pattern write fedgroup/city/owner/%u/presence\n"
        "pattern write fedgroup/city/owner/+/from/%u\n"
    )


def test_the_rules_of_nats_name_every_owner_by_its_certificate() -> None:
    text = nats(NODE, TOPICS, ["ann"])
    assert (
        '{ user: "CN=ann,OU=owner,O=city", permissions: { publish: { allow: ["fedgroup.city.owner.ann.say", '
        '"fedgroup.city.owner.ann.presence", "fedgroup.city.owner.*.from.ann"] }, '
        'subscribe: { allow: ["fedgroup.city.owner.ann.ask", "fedgroup.city.owner.ann.from.*"] } } }'
    ) in text
    assert text.count("verify_and_map: true") == 2  # for MQTT and for NATS' own protocol
    assert "cluster {" not in text


def test_owners_of_nats_have_names_that_can_stand_in_topics() -> None:
    with pytest.raises(InvalidInput):
        nats(NODE, TOPICS, ["a.b"])


def test_a_cluster_needs_ports_for_itself() -> None:
    with pytest.raises(InvalidInput, match="cluster_port"):
        nats_cluster([NODE] * 3, TOPICS, ["ann"])


def test_a_cluster_keeps_what_it_keeps_on_three_nodes_and_has_three() -> None:
    nodes = [replace(NODE, name=f"node-{n}", cluster_port=6222) for n in range(5)]
    for few in (1, 2):
        with pytest.raises(InvalidInput, match="has 3 at least"):
            nats_cluster(nodes[:few], TOPICS, ["ann"])
    for text in (*nats_cluster(nodes[:3], TOPICS, ["ann"]).values(), *nats_cluster(nodes, TOPICS, ["ann"]).values()):
        (mqtt,) = re.findall(r"^mqtt \{\n(.*?)^\}", text, flags=re.M | re.S)
        assert "  stream_replicas: 3\n" in mqtt
    assert "stream_replicas" not in nats(NODE, TOPICS, ["ann"])


def test_mosquitto_is_told_whom_to_run_as() -> None:
    assert mosquitto(FILES, acl_file=Path("acl"), user="mosquitto").startswith("user mosquitto\n")
    assert "user " not in mosquitto(FILES, acl_file=Path("acl")).splitlines()[0]


@pytest.fixture
def cluster(federation: Federation, tmp_path: Path) -> Iterator[list[int]]:
    """The MQTT ports of three NATS servers."""
    ports = [free_port() for _ in range(3)]
    nodes = [
        NatsNode(
            f"node-{port}",
            federation.listening(port),
            client_port=free_port(),
            store=tmp_path / f"store-{port}",
            cluster_port=free_port(),
        )
        for port in ports
    ]
    running = []
    for name, text in nats_cluster(nodes, TOPICS, ["ann-0", "bob-0"]).items():
        conf = tmp_path / f"{name}.conf"
        conf.write_text(text)
        with (tmp_path / f"{name}.log").open("wb") as log:
            running.append(subprocess.Popen([program("nats-server"), "-c", str(conf)], stdout=log, stderr=log))
    yield ports
    for process in running:
        process.kill()
        process.wait()


def test_a_cluster_of_nats_carries_messages_between_its_nodes(federation: Federation, cluster: list[int]) -> None:
    def at(node: int, name: str) -> BrokerAddress:
        return BrokerAddress("127.0.0.1", cluster[node], federation.client(name))

    async def journey() -> None:
        provider_link = MqttProviderLink(topics=TOPICS, broker=at(0, "provider"), backoff=SOON)
        ann_link = MqttOwnerLink("ann-0", topics=TOPICS, broker=at(1, "ann-0"), certificate=b"", backoff=SOON)
        bob_link = MqttOwnerLink("bob-0", topics=TOPICS, broker=at(2, "bob-0"), certificate=b"", backoff=SOON)
        elected = listening(provider_link)  # a cluster needs a moment to agree on a leader
        async with elected as provider, listening(ann_link) as ann, listening(bob_link) as bob:
            await provider.finds("ann-0", here=True)
            await provider.finds("bob-0", here=True)
            await provider_link.send("ann-0", b"question")
            await ann.hears(PROVIDER, b"question")
            ann_link.say([("bob-0", b"sealed")])
            await bob.hears("ann-0", b"sealed")
            bob_link.say([(PROVIDER, b"answer")])
            await provider.hears("bob-0", b"answer")

    asyncio.run(journey())
