"""Builds what deploy/Containerfile describes without a container engine, and runs it: `make container`.

The base image is Debian by debootstrap, with Debian's Python, instead of python:3.x-slim; every other line of the file
is carried out as written, in a folder that is the root of its own (chroot). Packages are fetched beforehand by the pip
of this machine, so that the build itself reaches nobody. Then the image's own command runs as the image's own user.
Needs root and debootstrap.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "deploy/Containerfile"
RELEASE = "bookworm"
BASE_PACKAGES = "python3,python3-venv,ca-certificates"
WHEELS = "wheels"
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
BUILD_NEEDS = ("hatchling>=1.27", "pip")


@dataclass
class Stage:
    """A root folder, and what the lines so far say of how commands run in it."""

    root: Path
    name: str
    workdir: str = "/"
    user: str = "root"
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    command: dict[str, list[str]] = field(default_factory=dict)

    def run(self, words: Sequence[str], **more: str) -> None:
        """Run a command in this root, as its user, with what it says of its surroundings."""
        ids = [] if self.user == "root" else [f"--userspec={self.user}"]
        inside = ["env", "-C", self.workdir, *words]
        subprocess.run(["chroot", *ids, str(self.root), *inside], check=True, env=self.environment | more)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a recipe: what to do, and with what."""
    bare = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    for line in filter(str.strip, bare.splitlines()):
        name, rest = line.split(maxsplit=1)
        yield name, rest


def base(folder: Path) -> Path:
    """Return a Debian with a Python that is called python, made once."""
    found = folder / "base"
    if not (found / "made").exists():
        shutil.rmtree(found, ignore_errors=True)
        words = ["debootstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", RELEASE, str(found)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        (found / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        (found / "made").touch()
    return found


def fetch(folder: Path) -> None:
    """Fetch every package that the recipe's installation takes, for the Python of the base image."""
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([*words, "--constraint", str(ROOT / "constraints.txt"), f"{ROOT}[live,serve,silos]"], check=True)
    subprocess.run([*words, *BUILD_NEEDS], check=True)
    for own in folder.glob("fedgroup-*"):
        own.unlink()  # the image is built of its own sources


def build(folder: Path) -> Stage:
    """Carry the recipe out, line by line, and return its last stage."""
    stages: list[Stage] = []
    for name, rest in instructions(RECIPE.read_text(encoding="utf-8")):
        print(f"{name} {rest}"[:120], flush=True)
        if name == "FROM":
            stages.append(_begun(folder, rest.partition(" AS ")[2] or "last"))
        else:
            _do(stages[-1], name, rest, {each.name: each for each in stages}, folder / WHEELS)
    return stages[-1]


def _begun(folder: Path, name: str) -> Stage:
    stage = Stage(folder / name, name)
    shutil.rmtree(stage.root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(base(folder)), str(stage.root)], check=True)
    return stage


def _do(stage: Stage, name: str, rest: str, stages: dict[str, Stage], wheels: Path) -> None:
    if name == "WORKDIR":
        stage.workdir = rest
        (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif name == "COPY":
        _copy(stage, rest.split(), stages)
    elif name == "RUN":
        shutil.copytree(wheels, stage.root / WHEELS, dirs_exist_ok=True)
        stage.run(["sh", "-ec", rest], PIP_NO_INDEX="1", PIP_FIND_LINKS=f"/{WHEELS}")
        shutil.rmtree(stage.root / WHEELS)
    elif name == "ENV":
        for word in shlex.split(rest):
            key, _, value = word.partition("=")
            stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
    elif name == "USER":
        stage.user = rest
    elif name in ("ENTRYPOINT", "CMD"):
        stage.command[name] = json.loads(rest)
    elif name not in ("VOLUME", "EXPOSE", "STOPSIGNAL"):
        raise SystemExit(f"the recipe says {name}, which is not known here")


def _copy(stage: Stage, words: list[str], stages: dict[str, Stage]) -> None:
    *found, to = words
    here = ROOT
    if found[0].startswith("--from="):
        here = stages[found.pop(0).removeprefix("--from=")].root
    target = stage.root / to.lstrip("/") if to.startswith("/") else stage.root / stage.workdir.lstrip("/") / to
    for each in found:
        source = here / each.lstrip("/")
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        else:
            into = target / source.name if to.endswith("/") else target
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, into)


def main() -> None:
    """Build, and show that the image's command runs as its user, writes its own folder and nothing else."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SystemExit("this needs root and debootstrap")
    folder = ROOT / "build/container"
    folder.mkdir(parents=True, exist_ok=True)
    fetch(folder / WHEELS)
    image = build(folder)
    program = image.command["ENTRYPOINT"]
    image.run([*program, *image.command["CMD"]])
    image.run([*program, "init", "provider", "--out", "provider.toml"])
    image.run(["sh", "-ec", "test -s provider.toml; ! touch /opt/fedgroup/written 2> /dev/null"])
    print(f"built in {folder / image.name}; its command ran as {image.user}")


if __name__ == "__main__":
    main()
