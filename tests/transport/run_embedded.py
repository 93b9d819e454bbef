"""The embedded broker as a process: run_embedded.py PORT and the PEM files of `Listening`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from wire_certificates import FEDERATION, by_subject

from fedgroup.transport.broker import EmbeddedBroker
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import Topics


async def serve(port: int, files: list[Path]) -> None:
    tls = Listening("127.0.0.1", port, *files).tls()
    async with EmbeddedBroker(Topics(FEDERATION), bind="127.0.0.1", port=port, tls=tls, identify=by_subject):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), [Path(file) for file in sys.argv[2:]]))
