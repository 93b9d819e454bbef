"""Every method: a partition of the owners, a sum per group, one noise per group, masked or not; and whom it trusts.

A method says here what it is called, what it needs and when to take it. How its groups are made in one process is in
`fedgroup.federation.methods`, on a wire in `fedgroup.live.provider`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from fedgroup.errors import InvalidQuery
from fedgroup.given import one_of

COHORT_SIZE = 50
MODES = ("trusted", "masked")
"""What happens within a group: its leader sees its members' exact partial answers, or nobody does."""


@dataclass(frozen=True)
class Method:
    """A method, as whoever has to choose one is told of it.

    needs_plan  its groups are those of a plan that was made before
    together    how many of so many owners are in one of its masked groups at most, given the size of cohorts; None
                where it has no such groups
    private     whether it may be used outside evaluation
    """

    name: str
    title: str
    trust: str
    how: str
    take_it: str
    needs_plan: bool = False
    together: Callable[[int, int], int] | None = None
    private: bool = True

    @property
    def alone(self) -> bool:
        """Whether every owner answers by itself."""
        return not self.needs_plan and self.together is None


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "dp",
            "dp: every owner by itself",
            "Nobody at all.",
            "Every owner adds its own noise, so errors grow with the number of owners.",
            "A handful of large owners, or owners that cannot work together.",
        ),
        Method(
            "fedgroup",
            "fedgroup: groups of similar owners",
            "It depends on the groups in force. Masked ones trust nobody; others trust the leader of each group.",
            "Owners with similar records form groups, and each group adds noise only once.",
            "Where such groups exist anyway and many questions share the cost of finding them.",
            needs_plan=True,
        ),
        Method(
            "cohorts",
            "cohorts: random masked groups",
            "Nobody, unless many members of one cohort collude.",
            "Owners hide their answers under masks that cancel out in their cohort's sum, and add noise once.",
            "Many small owners, some of whom fall silent: a lost owner costs one cohort at most.",
            together=lambda _owners, cohort: cohort,
        ),
        Method(
            "mpc",
            "mpc: everybody in one masked group",
            "Nobody, unless many owners collude.",
            "All owners add up under masks, so the answer holds little more noise than one owner's: the least error.",
            "Few and reliable owners: if too many fall silent there is no answer at all.",
            together=lambda owners, _cohort: max(1, owners),
        ),
        Method(
            "exact",
            "exact: no noise at all",
            "Everybody, with the exact answer.",
            "Exact answers are added up as they are.",
            "For evaluation only.",
            private=False,
        ),
    )
}
PRIVATE = tuple(name for name, method in METHODS.items() if method.private)
"""What live federations offer."""


def chosen(name: str | None, *, planned: bool, among: Collection[str] = tuple(METHODS)) -> Method:
    """Return the method of this name; without one, that of the plan if there is one, else every owner by itself."""
    name = name or next(m.name for m in METHODS.values() if (m.needs_plan if planned else m.alone))
    one_of(name, tuple(among), name="method", refusal=InvalidQuery)
    return METHODS[name]


# --- trust ------------------------------------------------------------------------------------------------------------

ALONE = "nobody is trusted: every owner adds its own noise"
TRUSTED = "each group's leader is trusted by its members: it sees their exact partial answers"
MASKED = (
    "no party is trusted with an owner's answer: members hide theirs under masks and share the noise; it takes more "
    "than {} of a group's members, together with the provider, to learn more, and enough honest ones must be heard"
)
"""Of groups that withstand so many colluders."""

BOTH = f"leaders of groups of similar owners are trusted by their members; all others: {MASKED}"
EXACT = "everybody is trusted with the exact answer: for evaluation only"
BY_CHANCE = "; in groups too large to mask all pairs this fails with a chance of {:.1g} in all, the answer's delta"


def trust_in(modes: Collection[str], *, colluders: int, delta: float, alone: bool = False) -> str:
    """Return who is trusted with what, where groups of these modes answer and maybe owners `alone`."""
    if not modes:
        return ALONE
    text = TRUSTED if "masked" not in modes else (BOTH if "trusted" in modes else MASKED).format(colluders)
    text += BY_CHANCE.format(delta) if delta else ""
    return f"{text}; owners in no group add their own noise" if alone else text
