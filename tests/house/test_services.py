"""`make services` says nothing where nothing is missing, and without root lists what is and stops."""

from __future__ import annotations

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/services.sh"


def on_a_machine_with(folder: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """Run the script where these programs are all that is found by name."""
    for name, body in programs.items():
        program = folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    surroundings = {"PATH": str(folder)}
    return subprocess.run(["/bin/sh", SCRIPT], env=surroundings, capture_output=True, text=True, check=False)


def test_nothing_is_done_where_nothing_is_missing(tmp_path: Path) -> None:
    share = tmp_path / "extension"
    share.mkdir()
    (share / "postgis.control").touch()
    there = dict.fromkeys(["postgres", "mosquitto", "nats_server", "chromium", "systemd_analyze", "ogrinfo"], "exit 1")
    ran = on_a_machine_with(tmp_path, id="echo 1000", pg_config=f"echo {tmp_path}", **there)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_without_root_what_is_missing_is_listed(tmp_path: Path) -> None:
    ran = on_a_machine_with(tmp_path, id="echo 1000", apt_get="echo should not run", nats_server="exit 1")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines()[0].endswith(" chromium-headless-shell systemd gdal-bin")
    assert "nats-server" not in ran.stderr
    assert "run 'make services' as root on Debian" in ran.stderr
