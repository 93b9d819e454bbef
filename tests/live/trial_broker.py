"""The embedded broker of a trial federation as a process of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.live.running import _broker, _identity
from fedgroup.transport.topics import Topics


def main(config_file: str) -> None:
    """Run the broker that a provider's file describes, until the process ends."""
    asyncio.run(_serve(read_config(Path(config_file), ProviderConfig)))


async def _serve(config: ProviderConfig) -> None:
    identity, trust = _identity(config.identity.folder, config.identity.authority, config.federation.name)
    async with _broker(config, identity, trust, Topics(config.federation.name)):
        await asyncio.Event().wait()
