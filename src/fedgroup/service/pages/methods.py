"""The methods in few words: what each does, whom it trusts, when to take it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MethodTold:
    """A method, told to whoever has to choose one."""

    title: str
    trust: str
    how: str
    take_it: str


TOLD = {
    "fedgroup": MethodTold(
        "fedgroup: groups of similar owners",
        "It depends on the groups in force. Masked ones trust nobody; others trust the leader of each group.",
        "Owners with similar records share one noise per group, so there are fewer noises than owners.",
        "Where such groups exist anyway and many questions share the cost of finding them.",
    ),
    "cohorts": MethodTold(
        "cohorts: random masked groups",
        "Nobody, unless many members of one cohort collude.",
        "Owners hide their answers under masks that cancel out in their cohort's sum, and share one noise.",
        "The first choice for many small owners: a lost owner costs one cohort at most.",
    ),
    "mpc": MethodTold(
        "mpc: everybody in one masked group",
        "Nobody, unless many owners collude.",
        "All owners add up under masks, and the answer holds little more than one noise: the smallest error.",
        "Few and reliable owners: if too many fall silent there is no answer at all.",
    ),
    "dp": MethodTold(
        "dp: every owner by itself",
        "Nobody at all.",
        "Every owner adds its own noise, so errors grow with the number of owners.",
        "A handful of large owners, or owners that cannot work together.",
    ),
}
