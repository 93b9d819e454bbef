"""No question corrupts an owner's process: a range that many threads look at is nobody's memory fault."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HAMMERED = Path(__file__).with_name("hammered_silos.py")


def test_silos_in_threads_survive_polygons_that_they_share() -> None:
    # freed memory is overwritten, so that whoever goes on using it fails at once instead of some questions later
    environment = os.environ | {"MALLOC_PERTURB_": "165"}
    ran = subprocess.run(
        [sys.executable, HAMMERED, "8", "50000"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, "")
