"""Three NATS servers as one broker: one is killed, and the federation goes on; it comes back, and so do its owners."""

from __future__ import annotations

from pathlib import Path

from journey_roles import PATIENCE_S, Roles, eventually, free_ports, program

import fedgroup as fg
from fedgroup.identity import Identity, Trust
from fedgroup.live.trial import FEDERATION
from fedgroup.transport.acl import NatsNode, nats_cluster
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import Topics

PLACE = fg.Circle(10_000, 10_000, 3_000)


def cluster_words(roles: Roles, ports: list[int]) -> list[list[str]]:
    """Write the shipped configuration of a cluster, and return how to start each node."""
    identity = Identity.load(roles.trial.folder / "provider")
    trust = Trust.load(roles.trial.folder / "authority")
    files = (trust.authority_file, identity.certificate_file, identity.key_file, trust.revoked_file)
    others = iter(free_ports(2 * len(ports)))
    nodes = [
        NatsNode(
            f"node-{number}",
            Listening("127.0.0.1", port, *files),
            client_port=next(others),
            store=roles.folder / f"store-{number}",
            cluster_port=next(others),
        )
        for number, port in enumerate(ports)
    ]
    texts = nats_cluster(nodes, Topics(FEDERATION), [file.parent.name for file in roles.trial.owners])
    for name, text in texts.items():
        (roles.folder / f"{name}.conf").write_text(text)
    return [[program("nats-server"), "-c", str(roles.folder / f"{name}.conf")] for name in texts]


def test_a_federation_outlives_a_node_of_its_cluster(tmp_path: Path) -> None:
    with Roles(tmp_path) as roles:
        ports = free_ports(3)
        words = cluster_words(roles, ports)
        nodes = [roles.start_server(f"node-{n}", words[n], ports[n]) for n in range(3)]
        roles.rewrite(roles.trial.provider, {f"seconds = {PATIENCE_S}": "seconds = 10.0"})  # two will be silent
        roles.point_provider_at(ports[0], embedded=False)
        provider, url = roles.start_provider()
        files = roles.trial.owners
        owners = [roles.start_owners(f"owners-{n}", files[n::3], ports[n]) for n in range(3)]
        with roles.client(url, present=6) as federation:

            def heard(method: str) -> int:
                return federation.count(PLACE, epsilon=0.1, method=method, fresh=True).heard

            assert [heard(method) for method in ("dp", "cohorts")] == [6, 6]
            nodes[2].end()
            eventually(lambda: heard("dp") == 4)  # nobody is left to tell that two are gone
            assert heard("dp") == 4
            before = len(owners[2].events("connected"))
            nodes[2] = roles.start_server("node-2", words[2], ports[2])
            owners[2].wait_for(lambda: len(owners[2].events("connected")) >= before + 2)
            eventually(lambda: heard("dp") == 6, pause_s=1.0)
            assert heard("cohorts") == 6
        assert [each.stop() for each in (*owners, provider)] == [0, 0, 0, 0]
