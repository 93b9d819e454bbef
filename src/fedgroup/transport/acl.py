"""Ready configuration of mosquitto and NATS: certificates instead of passwords, and everybody kept to its topics.

Each function returns the text of a file. The rule is the one of `access.py`. mosquitto takes a client's name from the
common name of its certificate; NATS from its whole subject. The authority must therefore give each name once, and the
name of the provider to the provider only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.transport.access import Access, access_of_owner, access_of_provider
from fedgroup.transport.links import MOST_BYTES
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import PROVIDER, Topics, require_owner

_ROOM = 100_000
"""Messages that a broker may keep for a client that is connected: answers of all owners at once, many times over."""


FEWEST_NODES = 3
"""Of a cluster that outlives the loss of one: what is left must be a majority."""


def mosquitto(listening: Listening, *, acl_file: Path, user: str | None = None) -> str:
    """Return mosquitto.conf; `acl_file` is where the text of `mosquitto_acl` is.

    Started by root, mosquitto runs as `user` (its own, `mosquitto`, if none is named), and reads all files as that one.
    """
    revoked = () if listening.revoked is None else (f"crlfile {listening.revoked}",)
    lines = (
        *(() if user is None else (f"user {user}",)),
        f"listener {listening.port} {listening.bind}",
        f"cafile {listening.authority}",
        f"certfile {listening.certificate}",
        f"keyfile {listening.key}",
        *revoked,
        "tls_version tlsv1.3",
        "require_certificate true",
        "# who a client is stands in its certificate, whatever it calls itself",
        "use_identity_as_username true",
        "use_username_as_clientid true",
        "allow_anonymous false",
        f"acl_file {acl_file}",
        "# nothing outlives the broker: links come back and say who is here",
        "persistence false",
        "queue_qos0_messages false",
        f"message_size_limit {MOST_BYTES}",
        f"max_queued_messages {_ROOM}",
        "set_tcp_nodelay true",
    )
    return _lines(lines)


def mosquitto_acl(topics: Topics) -> str:
    """Return the ACL file of mosquitto: one pattern for all owners, so that it stays the same when owners come."""
    provider, owner = access_of_provider(topics), access_of_owner(topics, "%u")
    lines = (
        f"user {PROVIDER}",
        *_granted("topic", provider),
        "",
        "# %u is the name in the client's certificate",
        *_granted("pattern", owner),
    )
    return _lines(lines)


def _granted(keyword: str, access: Access) -> Iterable[str]:
    yield from (f"{keyword} read {each}" for each in access.reads)
    yield from (f"{keyword} write {each}" for each in access.writes)


@dataclass(frozen=True)
class NatsNode:
    """One NATS server: its name, its MQTT listener, its other ports (on the same address), and its folder.

    In a cluster, `host` is how the others reach it: a DNS name that stands in its certificate.
    """

    name: str
    listening: Listening
    client_port: int
    store: Path
    cluster_port: int | None = None
    host: str = "localhost"


def nats(
    node: NatsNode,
    topics: Topics,
    owners: Iterable[str],
    *,
    cluster: Sequence[NatsNode] = (),
) -> str:
    """Return the configuration of one NATS server, alone or in a cluster of several.

    Owners are listed by name: one that came, or was revoked, needs a new text and a reload. NATS keeps owners to their
    topics, but lets them choose a client id: an owner could disconnect another one, not read or write for it.
    """
    here = node.listening
    tls = _tls(here, "verify_and_map: true")
    named = sorted({require_owner(owner) for owner in owners})
    users = (
        _user(_subject(topics, "provider", PROVIDER), access_of_provider(topics)),
        *(_user(_subject(topics, "owner", owner), access_of_owner(topics, owner)) for owner in named),
    )
    lines = (
        f"server_name: {_quoted(node.name)}",
        f"listen: {_quoted(f'{here.bind}:{node.client_port}')}",
        f"max_payload: {MOST_BYTES}",
        f"max_pending: {64 * MOST_BYTES}",
        *tls,
        "# MQTT needs JetStream for what is retained",
        f"jetstream {{ store_dir: {_quoted(str(node.store))} }}",
        "mqtt {",
        f"  listen: {_quoted(f'{here.bind}:{here.port}')}",
        *_replicas(cluster),
        *(f"  {line}" for line in tls),
        "}",
        *_cluster(node, cluster, topics),
        "authorization {",
        "  users: [",
        *(f"    {user}" for user in users),
        "  ]",
        "}",
    )
    return _lines(lines)


def nats_cluster(nodes: Sequence[NatsNode], topics: Topics, owners: Iterable[str]) -> dict[str, str]:
    """Return the configuration of every node of a cluster, by its name; it outlives the loss of any one."""
    if len(nodes) < FEWEST_NODES:
        raise InvalidInput(f"a cluster that outlives a node has {FEWEST_NODES} at least, got {len(nodes)}")
    names = tuple(owners)
    return {node.name: nats(node, topics, names, cluster=nodes) for node in nodes}


def _replicas(cluster: Sequence[NatsNode]) -> Iterable[str]:
    """Keep what is retained, and sessions, on three nodes.

    Left to itself NATS counts a node's routes, which are those of the *others*: two of three, and then the loss of
    either stops both.
    """
    if cluster:
        yield f"  stream_replicas: {FEWEST_NODES}"


def _cluster(node: NatsNode, nodes: Sequence[NatsNode], topics: Topics) -> Iterable[str]:
    """Join servers whose certificates are for one of these hosts; an owner's certificate does not do."""
    if not nodes:
        return
    if any(each.cluster_port is None for each in nodes):
        raise InvalidInput("every node of a cluster needs a cluster_port")
    routes = (f"nats://{each.host}:{each.cluster_port}" for each in nodes if each.name != node.name)
    yield "cluster {"
    yield f"  name: {_quoted(topics.federation)}"
    yield f"  listen: {_quoted(f'{node.listening.bind}:{node.cluster_port}')}"
    yield f"  routes: [{', '.join(_quoted(route) for route in routes)}]"
    yield from (f"  {line}" for line in _tls(node.listening, "verify_cert_and_check_known_urls: true"))
    yield "}"


def _tls(listening: Listening, verification: str) -> tuple[str, ...]:
    return (
        "tls {",
        f"  cert_file: {_quoted(str(listening.certificate))}",
        f"  key_file: {_quoted(str(listening.key))}",
        f"  ca_file: {_quoted(str(listening.authority))}",
        f"  {verification}",
        "  timeout: 30",
        "}",
    )


def _user(subject: str, access: Access) -> str:
    publish = ", ".join(_quoted(_as_subject(each)) for each in access.writes)
    subscribe = ", ".join(_quoted(_as_subject(each)) for each in access.reads)
    permissions = f"publish: {{ allow: [{publish}] }}, subscribe: {{ allow: [{subscribe}] }}"
    return f"{{ user: {_quoted(subject)}, permissions: {{ {permissions} }} }}"


def _subject(topics: Topics, role: str, name: str) -> str:
    """Return the subject of a party's certificate as NATS writes it (RFC 2253)."""
    return f"CN={name},OU={role},O={topics.federation}"


def _as_subject(topic: str) -> str:
    """Return an MQTT topic or filter as NATS names it; our names have none of the characters that would need care."""
    return topic.replace("/", ".").replace("+", "*")


def _quoted(text: str) -> str:
    return json.dumps(text)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
