"""An owner's link as a process: run_owner_link.py FOLDER PORT OWNER, with the folder of a test's federation."""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path

from wire_certificates import FEDERATION

from fedgroup.transport.connection import BrokerAddress
from fedgroup.transport.mqtt import MqttOwnerLink
from fedgroup.transport.topics import Topics


async def stay(folder: Path, port: int, owner: str) -> None:
    tls = ssl.create_default_context(cafile=folder / "authority.pem")
    tls.load_cert_chain(folder / f"{owner}.pem", folder / f"{owner}.key")
    broker = BrokerAddress("127.0.0.1", port, tls)
    async with MqttOwnerLink(owner, topics=Topics(FEDERATION), broker=broker, certificate=b""):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(stay(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
