"""Bugs planted on purpose: each is a small change of the source that some test must notice.

    python tests/mutants/mutants_run.py                    all of them (make mutants)
    python tests/mutants/mutants_run.py --only "round id"  those with these words in their name
    python tests/mutants/mutants_run.py --sample 3 --seed 7

A mutant is planted in a copy of the source, and the tests it names run against that copy. It is dead when one of them
fails. One that survives tells of a test that is missing: write it, do not drop the mutant. Ends with 1 if any survives.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fedgroup"
LONGEST_S = 900
_FAILED = 1
"""pytest's exit status when tests ran and some failed; all others tell of something else."""


@dataclass(frozen=True)
class Mutant:
    """A planted bug: in `file`, every (old, new) of `changes` is exchanged; one of `tests` must fail then."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]

    def planted_in(self, text: str) -> str:
        """Return the source with the bug; refuse to guess where a text is missing or there are several."""
        for old, new in self.changes:
            if text.count(old) != 1:
                raise ValueError(f"{self.name!r}: its text occurs {text.count(old)} times in {self.file}, not once")
            text = text.replace(old, new)
        return text


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: `killed`, `survived`, or `broken` when no test could tell."""

    mutant: Mutant
    end: str
    by: str
    seconds: float


def catalogue(folder: Path = Path(__file__).parent) -> list[Mutant]:
    """Return every mutant, file after file."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            changes = ((each["old"], each["new"]), *((old, new) for old, new in each.get("more", ())))
            found.append(Mutant(each["name"], each["file"], changes, tuple(each["tests"])))
    return found


class Scratch:
    """A copy of the source in which one mutant after the other is planted; compiled kernels of it stay."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        shutil.copytree(SOURCE, self.source / "fedgroup", ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """Hold a mutant in the copy; afterwards its file is what it was, to the second."""
        path = self.source / "fedgroup" / mutant.file
        before, stat = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.planted_in(before), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def verdict(self, mutant: Mutant) -> Verdict:
        """Return what the mutant's tests say."""
        started = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *mutant.tests]
        with self.planted(mutant):
            try:
                ran = subprocess.run(
                    command, cwd=ROOT, env=self._environment(), capture_output=True, text=True, timeout=LONGEST_S,
                    check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return Verdict(mutant, "killed", "hung", time.monotonic() - started)
        end = {0: "survived", _FAILED: "killed"}.get(ran.returncode, "broken")
        return Verdict(mutant, end, _first_failure(ran.stdout), time.monotonic() - started)

    def _environment(self) -> dict[str, str]:
        here = os.environ.get("PYTHONPATH")
        paths = [str(self.source), *([here] if here else [])]
        # -B: bytecode of a planted file may look as new as the file it was made from
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def verdicts(mutants: Sequence[Mutant], *, jobs: int) -> Iterator[Verdict]:
    """Yield what became of each mutant, `jobs` of them side by side, as they end."""
    with tempfile.TemporaryDirectory(prefix="fedgroup-mutants-") as folder:
        free: SimpleQueue[Scratch] = SimpleQueue()
        for job in range(jobs):
            free.put(Scratch(Path(folder, str(job))))

        def judge(mutant: Mutant) -> Verdict:
            scratch = free.get()
            try:
                return scratch.verdict(mutant)
            finally:
                free.put(scratch)

        with ThreadPoolExecutor(jobs) as pool:
            for future in as_completed([pool.submit(judge, mutant) for mutant in mutants]):
                yield future.result()


def require_plantable(mutant: Mutant) -> None:
    """Raise `ValueError` if a mutant cannot be planted, is no change, or is not Python; or names no test."""
    before = (SOURCE / mutant.file).read_text(encoding="utf-8")
    after = mutant.planted_in(before)
    if ast.dump(ast.parse(before)) == ast.dump(ast.parse(after)):
        raise ValueError(f"{mutant.name!r} changes nothing")
    missing = [test for test in mutant.tests if not (ROOT / test).exists()]
    if missing or not mutant.tests:
        raise ValueError(f"{mutant.name!r} names tests that are not there: {missing}")


def _first_failure(output: str) -> str:
    lines = (line for line in output.splitlines() if line.startswith(("FAILED", "ERROR")))
    return next(lines, "").split(" - ")[0].removeprefix("FAILED ")


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    mutants = [each for each in catalogue() if options.only.lower() in each.name.lower()]
    if options.sample is None:
        return mutants
    return random.Random(options.seed).sample(mutants, min(options.sample, len(mutants)))


def main() -> int:
    parser = argparse.ArgumentParser(description="plant bugs; tests must notice each")
    parser.add_argument("--only", default="", help="words in the names of mutants")
    parser.add_argument("--sample", type=int, help="so many of them, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    mutants = _chosen(parser.parse_args())
    jobs = parser.parse_args().jobs
    found = []
    for verdict in verdicts(mutants, jobs=jobs):
        found.append(verdict)
        print(f"{verdict.end:9}{verdict.seconds:6.0f} s  {verdict.mutant.name}  {verdict.by}", flush=True)
    left = [each for each in found if each.end != "killed"]
    print(f"{len(found) - len(left)} of {len(found)} killed")
    for each in left:
        print(f"{each.end}: {each.mutant.name} ({each.mutant.file})")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
