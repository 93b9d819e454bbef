"""Every way to find out which owners are similar. Whoever offers a choice of graphs or explains one takes it from here.

How a graph is made of noisy vectors is in `fedgroup.provider.role`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ESTIMATES = ("thresholded", "debiased", "raw")
ALGORITHMS = ("greedy", "dsatur", "cliques")
LEFTOVERS = ("alone", "cohort")
"""What becomes of owners that could not be placed."""


@dataclass(frozen=True)
class Graph:
    """A similarity graph, or a placing of owners that needs none.

    uses      the settings that have a meaning for it, besides those of all
    vectors   whether it is made of noisy vectors, which cost an epsilon
    compares  whether two owners decide pairs by secure comparison, which shows one exact bit
    private   whether it may be used outside evaluation
    """

    name: str
    how: str
    uses: frozenset[str]
    vectors: bool = True
    compares: bool = False
    private: bool = True

    @property
    def places(self) -> bool:
        """Whether it places owners by cell, without pairs and without an algorithm."""
        return "algorithm" not in self.uses


GRAPHS: Mapping[str, Graph] = {
    graph.name: graph
    for graph in (
        Graph("topcell", "owners whose largest noisy cell is the same", frozenset({"false_cells"})),
        Graph(
            "likely",
            "owners most likely to be similar, a stated share of them misplaced",
            frozenset({"false_cells", "misplaced", "threshold"}),
        ),
        Graph(
            "noisy",
            "cosine similarity of noisy vectors",
            frozenset({"algorithm", "estimate", "false_cells", "threshold"}),
        ),
        Graph(
            "hybrid",
            "noisy vectors, and secure comparison of owners in doubt",
            frozenset({"algorithm", "threshold"}),
            compares=True,
        ),
        Graph(
            "secure",
            "secure comparison of all owners",
            frozenset({"algorithm", "threshold"}),
            vectors=False,
            compares=True,
        ),
        Graph(
            "exact",
            "exact vectors, for evaluation only",
            frozenset({"algorithm", "threshold"}),
            vectors=False,
            private=False,
        ),
    )
}
PRIVATE = tuple(name for name, graph in GRAPHS.items() if graph.private)
"""What live federations offer."""


def using(setting: str) -> str:
    """Return the graphs for which a setting has a meaning, in words."""
    *first, last = (name for name, graph in GRAPHS.items() if setting in graph.uses)
    return f"{', '.join(first)} and {last}" if first else last
