"""Tests kill those whom they started, and nobody else."""

from __future__ import annotations

import os

from live_nursery import _status
from live_world import eventually


def test_a_process_that_ended_is_forgotten_for_its_number_may_become_somebody_elses() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    children = {pid}
    assert eventually(lambda: (_status(pid, children),), lambda found: found[0] is not None) == (7,)
    assert children == set()
