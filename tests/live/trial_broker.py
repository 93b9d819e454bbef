"""The embedded broker of a trial federation as a process of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fedgroup.identity import Identity, Trust
from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.topics import Topics


def main(config_file: str) -> None:
    """Run the broker that a provider's file describes, until the process ends."""
    asyncio.run(_serve(read_config(Path(config_file), ProviderConfig)))


async def _serve(config: ProviderConfig) -> None:
    identity, trust = Identity.load(config.identity.folder), Trust.load(config.identity.authority)

    def identify(der: bytes) -> tuple[str, str]:
        role = "provider" if der == identity.certificate.der else "owner"
        return role, trust.verify(der, role=role).name

    tls, topics = identity.server_context(trust), Topics(config.federation.name)
    async with EmbeddedBroker(topics, bind=config.broker.host, port=config.broker.port, tls=tls, identify=identify):
        await asyncio.Event().wait()
