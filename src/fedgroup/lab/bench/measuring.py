"""How a bench measures: medians, peaks of memory, and where it ran."""

from __future__ import annotations

import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from fedgroup import __version__

_PACKAGES = ("numpy", "numba", "cryptography", "pynacl", "torch", "triton")


@dataclass(frozen=True)
class BenchRow:
    """One case: our seconds, the reference's in the same run, and what else was counted."""

    case: str
    ours_s: float
    peak_mb: float
    reference: str | None = None
    reference_s: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """How many times as long the reference takes."""
        return None if self.reference_s is None else self.reference_s / self.ours_s

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        reference = {"reference": self.reference, "reference_s": self.reference_s, "ratio": self.ratio}
        return {"case": self.case, "ours_s": self.ours_s, **reference, "peak_mb": self.peak_mb, **self.more}


@dataclass(frozen=True)
class BenchReport:
    """What one bench measured, and where."""

    name: str
    quick: bool
    cores: int
    versions: Mapping[str, str]
    rows: tuple[BenchRow, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        rows = [row.as_json() for row in self.rows]
        return {
            "name": self.name,
            "quick": self.quick,
            "cores": self.cores,
            "versions": dict(self.versions),
            "rows": rows,
        }


def median_seconds(work: Callable[[], object], *, repeats: int) -> float:
    """Return the median wall time of `work`."""
    return statistics.median(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_mb(pid: int | None = None) -> float:
    """Return the most memory that this process has held so far, in units of 10^6 bytes; another one's on Linux only."""
    # Linux hands the peak that getrusage tells down to new programs; the status file tells this program's own.
    status = Path("/proc", "self" if pid is None else str(pid), "status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024 / 1e6
    if pid is not None:
        return 0.0
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def private_mb(pid: int | None = None) -> float:
    """Return the memory that is this process' alone now, in units of 10^6 bytes; 0 where there is no such file.

    The rest are files that it reads in place, as libraries are: several processes share what each is counted for.
    """
    status = Path("/proc", "self" if pid is None else str(pid), "status")
    found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return 0.0 if found is None else int(found[1]) * 1024 / 1e6


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has used so far; 0 where there is no such file."""
    stat = Path("/proc", str(pid), "stat")
    if not stat.exists():
        return 0.0
    used, system = stat.read_text().rpartition(")")[2].split()[11:13]
    return (int(used) + int(system)) / os.sysconf("SC_CLK_TCK")


def moved_bytes(pid: int) -> int:
    """Return how many bytes a process has read and written so far, sockets included; 0 where there is no such file."""
    io = Path("/proc", str(pid), "io")
    if not io.exists():
        return 0
    facts = dict(line.split(": ") for line in io.read_text().splitlines())
    return int(facts["rchar"]) + int(facts["wchar"])


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the versions that times depend on, of the packages that are installed."""
    own = {"python": platform.python_version(), "fedgroup": __version__}
    return own | {name: metadata.version(name) for name in _PACKAGES if any(metadata.distributions(name=name))}
