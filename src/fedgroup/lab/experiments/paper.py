"""What the paper prints, with where it stands, and the settings it leaves open."""

from __future__ import annotations

from dataclasses import dataclass

HOURS = 3600.0


@dataclass(frozen=True)
class Printed:
    """A number of the paper: for which method, owners and epsilon, and the measure of ours it belongs to.

    A relative error is compared with ours for one fixed question, which is what the paper's numbers fit.
    """

    experiment: str
    source: str
    method: str
    measure: str
    owners: int
    epsilon: float
    value: float
    why: str

    @property
    def told(self) -> str:
        """The number in words."""
        kind = "MRE" if self.measure == "fixed_mre" else "MAE"
        return f"{self.method}, {kind}, {self.owners:,} owners, epsilon {self.epsilon:g}"


_EPSILON, _OWNERS = "accuracy-epsilon", "accuracy-owners"
_BY_EPSILON = "section 4, varying epsilon, figure 3"
_BY_OWNERS = "section 4, varying m, figure 4"
_NOISE = "noise alone decides it, and does not depend on the data; the paper's few answers scatter"
_PLACE = "noise alone decides the error; its ratio to the count depends on the place and the selection"
_GROUPS = "its grid, threshold, r_l, r_u and place are not printed; ours follow from the groups found"

PRINTED = (
    Printed(_EPSILON, _BY_EPSILON, "DP", "fixed_mre", 500, 0.3, 0.801, _PLACE),
    Printed(_EPSILON, _BY_EPSILON, "FG", "fixed_mre", 500, 0.3, 0.551, _GROUPS),
    Printed(_EPSILON, _BY_EPSILON, "DP", "fixed_mre", 500, 0.5, 0.618, _PLACE),
    Printed(_EPSILON, _BY_EPSILON, "FG", "fixed_mre", 500, 0.5, 0.271, _GROUPS),
    Printed(_EPSILON, _BY_EPSILON, "DP", "mae", 500, 0.5, 58.069, _NOISE),
    Printed(_EPSILON, _BY_EPSILON, "FG", "mae", 500, 0.5, 25.448, _GROUPS),
    Printed(_OWNERS, _BY_OWNERS, "DP", "mae", 500, 0.3, 75.3, _NOISE),
    Printed(_OWNERS, _BY_OWNERS, "DP", "mae", 3_000, 0.3, 246.5, _NOISE),
    Printed(_OWNERS, _BY_OWNERS, "FG", "mae", 500, 0.3, 51.8, _GROUPS),
    Printed(_OWNERS, _BY_OWNERS, "FG", "mae", 3_000, 0.3, 117.4, _GROUPS),
    Printed(_OWNERS, _BY_OWNERS, "DP", "fixed_mre", 2_000, 0.3, 0.517, _PLACE),
    Printed(_OWNERS, _BY_OWNERS, "FG", "fixed_mre", 2_000, 0.3, 0.238, _GROUPS),
)

FG_SECONDS_AT_1K = 4.0
SECONDS_AT_1M = 20.0
MPC_HOURS_AT_1M = 13.0


def printed(experiment: str, method: str, measure: str, *, along: str) -> list[tuple[float, float]]:
    """Return the paper's points for a figure."""
    return [
        (float(getattr(one, along)), one.value)
        for one in PRINTED
        if (one.experiment, one.method, one.measure) == (experiment, method, measure)
    ]
