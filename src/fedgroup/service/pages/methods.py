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
        "Owners with similar records form groups, and each group adds noise only once.",
        "Where such groups exist anyway and many questions share the cost of finding them.",
    ),
    "cohorts": MethodTold(
        "cohorts: random masked groups",
        "Nobody, unless many members of one cohort collude.",
        "Owners hide their answers under masks that cancel out in their cohort's sum, and add noise together, once.",
        "The first choice for many small owners: a lost owner costs one cohort at most.",
    ),
    "mpc": MethodTold(
        "mpc: everybody in one masked group",
        "Nobody, unless many owners collude.",
        "All owners add up under masks, so the answer holds little more noise than one owner adds: the least error.",
        "Few and reliable owners: if too many fall silent there is no answer at all.",
    ),
    "dp": MethodTold(
        "dp: every owner by itself",
        "Nobody at all.",
        "Every owner adds its own noise, so errors grow with the number of owners.",
        "A handful of large owners, or owners that cannot work together.",
    ),
}
