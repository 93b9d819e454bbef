"""A PostgreSQL server of one's own, for benches and tests: in a new folder, reached by a socket in it, gone afterwards.

PostgreSQL refuses to run as root, so root starts it as the user postgres.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

_SYSTEM_USER = "postgres"
_PATIENCE_S = 60.0
_SETTINGS = {"listen_addresses": "", "fsync": "off", "synchronous_commit": "off", "max_connections": "20"}


@dataclass
class PostgresServer:
    """A server in a folder; it can be stopped and started again."""

    programs: Path
    folder: Path
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"postgresql://{_SYSTEM_USER}@/postgres?host={quote(str(self.folder), safe='')}"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        places = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603
                [*places, *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **_as_user(),
            )
        self._process = process
        self._wait(process)

    def stop(self) -> None:
        """Stop the server and wait until it is gone; connections are cut."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=_PATIENCE_S)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        ready = [str(self.programs / "pg_isready"), "--quiet", "--host", str(self.folder)]
        while subprocess.run(ready, check=False).returncode != 0:  # noqa: S603
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start; see {self.folder / 'log'}")
            time.sleep(0.02)


def missing() -> str | None:
    """Return what this machine lacks for a server with PostGIS, or none."""
    programs = _programs()
    if programs is None:
        return "PostgreSQL is not installed; see make services"
    told = subprocess.run([programs / "pg_config", "--sharedir"], capture_output=True, text=True, check=False)  # noqa: S603
    if not Path(told.stdout.strip(), "extension", "postgis.control").exists():
        return "PostGIS is not installed; see make services"
    return None


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Yield a running server; it and its folder go away in the end."""
    programs = _programs()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed; see make services")
    folder = Path(tempfile.mkdtemp(prefix="fedgroup-postgres-"))
    server = PostgresServer(programs, folder)
    try:
        if _is_root():
            shutil.chown(folder, _SYSTEM_USER)
        initdb = [str(programs / "initdb"), "-D", str(folder / "data"), "--auth=trust", "--no-sync", "--locale=C"]
        initdb += ["--encoding=UTF8", f"--username={_SYSTEM_USER}"]
        subprocess.run(initdb, stdout=subprocess.DEVNULL, check=True, **_as_user())  # noqa: S603
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """Return the folder of the newest server's programs."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    found = debian[-1] if debian else shutil.which("postgres")
    return None if found is None else Path(found).resolve().parent


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _as_user() -> dict[str, Any]:
    return {"user": _SYSTEM_USER, "group": _SYSTEM_USER, "extra_groups": [], "cwd": "/"} if _is_root() else {}
