"""Real brokers in processes of their own, on free ports of the loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from wire_certificates import FEDERATION, Federation

from fedgroup.transport.acl import NatsNode, mosquitto, mosquitto_acl, nats
from fedgroup.transport.connection import BrokerAddress
from fedgroup.transport.topics import Topics

TOPICS = Topics(FEDERATION)
KINDS = ("embedded", "mosquitto", "nats")
HERE = Path(__file__).parent
PATIENCE_S = 120.0
"""How long what must happen may take, on a machine that has other things to do."""


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is not installed: run `make services`"
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class BrokerProcess:
    """One broker: it can be killed, and started again on the same port."""

    def __init__(self, kind: str, folder: Path, federation: Federation, owners: tuple[str, ...]) -> None:
        self.kind = kind
        self.federation = federation
        self.port = free_port()
        self._log = folder / f"{kind}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._command = self._prepare(folder, owners)

    def start(self) -> BrokerProcess:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._wait_until_it_listens()
        return self

    def kill(self) -> None:
        """kill -9."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def address(self, name: str, *, keepalive_s: int = 10) -> BrokerAddress:
        return BrokerAddress("127.0.0.1", self.port, self.federation.client(name), keepalive_s)

    def _wait_until_it_listens(self) -> None:
        assert self._process is not None
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            assert self._process.poll() is None, self._log.read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError(self._log.read_text())

    def _prepare(self, folder: Path, owners: tuple[str, ...]) -> list[str]:
        if self.kind == "embedded":
            here = self.federation.listening(self.port)
            files = (here.authority, here.certificate, here.key, here.revoked)
            return [sys.executable, str(HERE / "run_embedded.py"), str(self.port), *map(str, files)]
        if self.kind == "mosquitto":
            return [program("mosquitto"), "-c", str(self._mosquitto(folder))]
        return [program("nats-server"), "-c", str(self._nats(folder, owners))]

    def _mosquitto(self, folder: Path) -> Path:
        listening = self.federation.listening(self.port)
        acl, conf = folder / "mosquitto.acl", folder / "mosquitto.conf"
        acl.write_text(mosquitto_acl(TOPICS))
        as_root = "user root\n" if os.getuid() == 0 else ""
        conf.write_text(mosquitto(listening, acl_file=acl) + as_root)
        return conf

    def _nats(self, folder: Path, owners: tuple[str, ...]) -> Path:
        conf = folder / "nats.conf"
        listening = self.federation.listening(self.port)
        node = NatsNode("alone", listening, client_port=free_port(), store=folder / "nats")
        conf.write_text(nats(node, TOPICS, owners))
        return conf
