"""One paragraph of advice for each way to trust, as the report and the documents give it."""

from __future__ import annotations

ADVICE = {
    "dp": (
        "Every owner adds its own noise: nobody is trusted, nobody waits for anybody, and one message is all. The "
        "error grows with the square root of the owners. Take it for a handful of large owners, or when a question is "
        "asked once and owners cannot work together."
    ),
    "fedgroup, trusted": (
        "Similar owners share one noise, which their leader adds after it saw their exact answers. Take it where such "
        "groups exist anyway, such as branches of one company or members of one club, and where many questions share "
        "the set-up; where many owners are alike, groups add less noise than cohorts do. `likely` finds the groups "
        "under epsilon-DP and says how many owners it may misplace; `hybrid` misplaces none and costs an exact bit per "
        "comparison; a mixed plan puts owners that cannot be placed honestly into masked cohorts."
    ),
    "fedgroup, masked": (
        "The same groups with nobody trusted. It buys nothing over cohorts of as many groups, and costs a set-up and "
        "the knowledge of who is similar to whom: take it only if a plan of similar owners is there already."
    ),
    "cohorts": (
        "Random masked groups of 50: nobody is trusted, no set-up epsilon, nothing about similarity is revealed. The "
        "first choice for many small owners such as phones: a dropout costs one cohort, not the answer."
    ),
    "mpc": (
        "All owners in one masked group: the smallest error there is, one noise. Too many owners missing, and the "
        "whole round gives no answer: take it where owners are reliable, such as companies with servers."
    ),
}


def paragraphs() -> str:
    """Return the advice as Markdown."""
    return "\n\n".join(f"**{name}**. {text}" for name, text in ADVICE.items())
