"""Half an hour of 20 users and 200 live owners, ten to a process, while processes die: budgets must be exact.

    python tests/live/soak_run.py --seconds 1800 --seed 1 --owners 200 --users 20 --broker mosquitto

It is chaos (`chaos_run.py`) with owners as operators host them: one process, one file of ledgers for ten. Which owners
are in an answer is told by what they hold and who was charged (`OneMoreEach` in `chaos_holdings.py`). Prints the same
table, and ends with 1 if anything does not add up to the last nano-epsilon.
"""

from __future__ import annotations

import sys

from chaos_run import Settings, command

OWNERS_IN_A_PROCESS = 10
HOMES = [(x, y) for x in (2_500.0, 7_500.0, 12_500.0, 17_500.0) for y in (2_500.0, 17_500.0)]
"""Owners with the same are grouped together: eight groups of 25."""
METHODS = (*("dp", "cohorts", "fedgroup") * 4, "mpc")
"""All owners in one masked group, mpc, is asked for now and then: it is formed anew after each death."""
SOAK = Settings(
    seconds=1800.0,
    owners=200,
    users=20,
    owners_in_a_process=OWNERS_IN_A_PROCESS,
    cohort_size=20,
    methods=METHODS,
    homes=HOMES,
    round_s=10.0,
    pause_s=10.0,
    down_s=6.0,
    think_s=20.0,
    patience_s=600.0,
)

if __name__ == "__main__":
    sys.exit(command(str(__doc__), SOAK))
