"""Who got into which group tells no more of an owner's records than the epsilon that the plan cost.

Whoever holds a plan may learn that much. Whoever gets a plan from exact vectors learns everything; that graph is for
evaluation, and says so.
"""

from __future__ import annotations

import numpy as np

import fedgroup as fg
from fedgroup.lab.audit.bounds import least_epsilon
from fedgroup.lab.audit.views import Plans, Price
from fedgroup.lab.audit.worlds import Setting
from fedgroup.privacy.sensitivity import Protection
from fixed_noise import fixed_noise

DRAWS, ALARM = 1_200, 1e-4
HERE = 4
"""So many records that one more or less decides about the group."""


def together(here: int) -> int:
    """How often an owner with so many records in a cell got into the group of another, which has many there."""
    owners = np.array([0] * here + [1] * 40)
    records = fg.Records(owner=owners, x=np.ones(len(owners)), y=np.ones(len(owners)), owners=[0, 1])
    setting = Setting("count", "map", Protection())
    view = Plans(setting, records, graph="topcell", price=Price(1.0), noise=fixed_noise(f"plan {here}"))
    try:
        assert view.charge == 1.0
        return int(view.draw(DRAWS)[:, -1].sum())
    finally:
        view.close()


def test_a_plan_tells_of_one_record_at_most_what_it_cost() -> None:
    likely, unlikely = together(HERE), together(HERE - 1)
    # the attack works, as far as epsilon lets it
    assert 0.2 < least_epsilon(likely, unlikely, DRAWS, alarm=ALARM) <= 1.0
    assert least_epsilon(DRAWS - unlikely, DRAWS - likely, DRAWS, alarm=ALARM) <= 1.0


def test_an_exact_plan_tells_everything_and_says_that_it_is_not_private() -> None:
    groups = []
    for second in (0.5, 3.5):
        records = fg.Records(owner=[0, 1], x=[0.5, second], y=[0.5, 0.5], owners=[0, 1], domain=fg.Box(0, 0, 4, 4))
        plan = fg.Federation(records, evaluation=True).group(graph="exact", threshold=0.5, grid=(2, 2))
        assert not plan.private
        groups.append(plan.groups)
    assert groups == [1, 2]
