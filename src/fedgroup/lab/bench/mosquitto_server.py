"""A mosquitto of one's own, for benches: with the federation's configuration, in a folder, gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedgroup.transport.acl import mosquitto, mosquitto_acl
from fedgroup.transport.listening import Listening
from fedgroup.transport.topics import Topics

_PATIENCE_S = 20.0


def program() -> str | None:
    """Return where mosquitto is, or none."""
    return shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextmanager
def mosquitto_server(listening: Listening, topics: Topics, *, folder: Path) -> Iterator[int]:
    """Run mosquitto while the context lasts; yield the id of its process."""
    found = program()
    if found is None:
        raise RuntimeError("mosquitto is not installed; see make services")
    rules, settings = folder / "mosquitto.acl", folder / "mosquitto.conf"
    rules.write_text(mosquitto_acl(topics), encoding="utf-8")
    as_root = "user root\n" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    settings.write_text(mosquitto(listening, acl_file=rules) + as_root, encoding="utf-8")
    with (folder / "mosquitto.log").open("wb") as log:
        process = subprocess.Popen([found, "-c", settings], stdout=log, stderr=log, stdin=subprocess.DEVNULL)  # noqa: S603
    try:
        _wait(process, listening, folder / "mosquitto.log")
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE_S)


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], listening: Listening, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((listening.bind, listening.port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"mosquitto did not start: {log.read_text(encoding='utf-8')}")
