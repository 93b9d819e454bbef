"""Measure what a live owner takes: memory and files of one process that hosts many, step by step.

    python scripts/owner_memory.py 200
    python scripts/owner_memory.py 200 shared    # their ledgers in one file

Prints KB and files for each owner after their process has started, after all have joined, after questions to all of
them alone (`dp`), and after questions to masked cohorts. The provider and its broker run in a process of their own.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fedgroup.epsilon import Epsilon
from fedgroup.live.config import OwnerConfig, ProviderConfig, read_config
from fedgroup.live.running import allow_open_files, running_owners, running_provider
from fedgroup.live.trial import make_trial
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Circle

PATIENCE_S = 600.0


def taken() -> tuple[int, int]:
    """Return the KB in memory and the open files of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024, len(os.listdir("/proc/self/fd"))


async def host(folder: Path, port: int) -> None:
    """Run all owners of a folder; tell what is taken at first, and for each line that is read."""
    configs = [read_config(file, OwnerConfig) for file in sorted((folder / "owners").glob("*/owner.toml"))]
    print(*taken(), flush=True)
    async with running_owners(configs, port=port, new_ledger=True):
        while await asyncio.to_thread(sys.stdin.readline):
            print(*taken(), flush=True)


async def measure(owners: int, *, shared: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "trial"
        make_trial(folder, owners=owners, seed=1, records_per_owner=20, most=owners, hosts=int(shared))
        async with running_provider(read_config(folder / "provider.toml", ProviderConfig)) as up:
            words = [sys.executable, __file__, str(folder), str(up.broker_port)]
            with subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            ) as hosting:
                assert hosting.stdin is not None
                assert hosting.stdout is not None
                first = [int(each) for each in (await asyncio.to_thread(hosting.stdout.readline)).split()]

                async def show(after: str) -> None:
                    hosting.stdin.write("\n")
                    hosting.stdin.flush()
                    now = [int(each) for each in (await asyncio.to_thread(hosting.stdout.readline)).split()]
                    kilobytes, files = ((one - two) / owners for one, two in zip(now, first, strict=True))
                    print(f"{after:<14} {kilobytes:7.0f} KB and {files:.1f} files for each of {owners:,} owners")

                await show("started")
                assert await up.provider.desk.until_present(owners, PATIENCE_S)
                await show("joined")
                for method, radius in (("dp", 3_000), ("cohorts", 4_000)):
                    for more in range(3):
                        circle = Circle(10_000, 10_000, radius + more)
                        await up.provider.ask(RangeQuery("count", circle, Epsilon.of(0.1)), method=method)
                    await show(f"after {method}")
                hosting.stdin.close()


if __name__ == "__main__":
    allow_open_files()
    shared = sys.argv[2:] == ["shared"]
    hosting = len(sys.argv) > 2 and not shared
    asyncio.run(
        host(Path(sys.argv[1]), int(sys.argv[2])) if hosting else measure(int(sys.argv[1]), shared=shared)
    )
