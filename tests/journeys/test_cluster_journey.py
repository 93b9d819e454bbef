"""Three NATS servers as one broker, set up as operate.md tells: each is killed in turn, and the federation goes on."""

from __future__ import annotations

import asyncio
import re
import shlex
from pathlib import Path

from journey_roles import Roles, Running, documented, eventually, free_ports, program, typed, where_names_lead

import fedgroup as fg
from fedgroup.errors import ServiceUnavailable, TooFewHeard
from fedgroup.identity import Identity, Trust
from fedgroup.transport.connection import BrokerAddress, Connection

PLACE = fg.Circle(10_000, 10_000, 3_000)
NODES = {f"nats-{n}.example.org": f"127.0.0.{n}" for n in (1, 2, 3)}
BROKER = "broker.example.org"
SEVERAL = {name: [address] for name, address in NODES.items()} | {BROKER: list(NODES.values())}


class Cluster:
    """The cluster of the walk-through; its nodes have addresses of this machine, and ports that are free."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._ports = dict(zip(("8883", "4222", "6222"), free_ports(3), strict=True))
        self.port = self._ports["8883"]
        lines = [line for line in documented("Scale out: three NATS servers") if "..." not in line]
        for line in lines:
            if line.startswith("fedgroup "):
                typed(line, roles.trial.folder)
        started = [shlex.split(line) for line in lines if line.startswith("nats-server -c ")]
        self._files = {Path(words[-1]).stem: roles.trial.folder / words[-1] for words in started}
        self.nodes: dict[str, Running] = {}
        for node, file in self._files.items():
            file.write_text(self._here(file.read_text(), node))

    def start(self, node: str) -> None:
        words = [program("nats-server"), "-c", str(self._files[node])]
        self.nodes[node] = self._roles.start_server(node, words, self.port, NODES[node])

    def lets_in(self, node: str, owner: Path) -> bool:
        """Whether a node serves: without a majority of all three it lets nobody in."""

        async def come_and_go() -> None:
            tls = Identity.load(owner / "identity").client_context(Trust.load(owner / "identity"))
            address = BrokerAddress(NODES[node], self.port, tls, named=node)
            connection = await Connection.open(address, client=owner.name, will=None, on_message=lambda *_: None)
            await connection.leave()

        try:
            asyncio.run(come_and_go())
        except OSError:
            return False
        return True

    def _here(self, text: str, node: str) -> str:
        for usual, free in self._ports.items():
            text = re.sub(rf":{usual}\b", f":{free}", text)
        return text.replace("0.0.0.0", NODES[node])


def test_a_federation_outlives_any_node_of_its_cluster(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=7) as roles:
        roles.before = where_names_lead(SEVERAL, tmp_path)
        cluster = Cluster(roles)
        for node in NODES:
            cluster.start(node)
        *files, visitor = roles.trial.owners
        for file in files:
            roles.rewrite(file, {'host = "127.0.0.1"': f'host = "{BROKER}"'})
        eventually(lambda: all(cluster.lets_in(node, visitor.parent) for node in NODES))
        roles.rewrite(roles.trial.provider, {"seconds = 240.0": "seconds = 3.0"})  # some will be silent
        roles.point_provider_at(cluster.port, embedded=False, host=BROKER)
        provider, url = roles.start_provider()
        owners = [roles.start_owners(f"owners-{n}", files[n::3], cluster.port) for n in range(3)]
        with roles.client(url, present=6) as federation:

            def heard(method: str) -> int:
                try:
                    return federation.count(PLACE, epsilon=0.01, method=method, fresh=True).heard
                except (TooFewHeard, ServiceUnavailable):  # the provider hung on the node itself
                    return 0

            for method in ("dp", "cohorts"):
                eventually(lambda method=method: heard(method) == 6)
            for node in NODES:
                cluster.nodes[node].end()
                eventually(lambda: heard("dp") == 6, pause_s=0.2)
                cluster.start(node)
                eventually(lambda node=node: cluster.lets_in(node, visitor.parent))
            eventually(lambda: heard("cohorts") == 6)
        assert [each.stop() for each in (*owners, provider)] == [0, 0, 0, 0]
