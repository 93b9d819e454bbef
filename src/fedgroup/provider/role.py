"""The provider: coordinates, and sees only noisy values."""

from __future__ import annotations

from fedgroup.errors import InvalidInput
from fedgroup.messages import Grouping, NoisyAnswers, NoisyTotals, NoisyVectors
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import partition_graph
from fedgroup.provider.grouping.topcell import partition_by_cell
from fedgroup.provider.settings import GroupingSettings
from fedgroup.provider.similarity import noisy_graph, top_cells

GUARANTEE = (
    "epsilon-DP: the groups are computed from count vectors that were each released with epsilon-differentially "
    "private noise, and from nothing else"
)


class Provider:
    """Groups owners and combines their groups' answers. Semi-honest: curious, but it follows the protocol."""

    def group(self, vectors: NoisyVectors, settings: GroupingSettings, *, private: bool) -> Grouping:
        """Return groups of owners whose noisy vectors are similar."""
        if settings.graph == "exact":
            raise InvalidInput("the exact graph needs exact vectors, which a provider never sees; it is for evaluation")
        if settings.graph == "topcell":
            partition = partition_by_cell(top_cells(vectors, settings.false_cells), limits=settings.limits)
            return Grouping(partition, settings.facts(), vectors.epsilon, _stated(private), private)
        graph = noisy_graph(
            vectors, threshold=settings.threshold, estimate=settings.estimate, false_cells=settings.false_cells
        )
        grouped = partition_graph(graph, algorithm=settings.algorithm or "greedy", limits=settings.limits)
        return Grouping(
            grouped.partition, settings.facts(), vectors.epsilon, _stated(private), private, graph.edges, grouped.notes
        )

    def group_graph(self, graph: SimilarityGraph, settings: GroupingSettings, *, guarantee: str) -> Grouping:
        """Return groups made of cliques of a graph that was made elsewhere, without privacy."""
        from fedgroup.epsilon import NOTHING

        grouped = partition_graph(graph, algorithm=settings.algorithm or "greedy", limits=settings.limits)
        return Grouping(grouped.partition, settings.facts(), NOTHING, guarantee, False, graph.edges, grouped.notes)

    def combine(self, answers: NoisyAnswers) -> NoisyTotals:
        """Return the sum of all groups' noisy answers."""
        totals = {part: values.sum().item() for part, values in answers.parts.items()}
        groups = len(next(iter(answers.parts.values())))
        return NoisyTotals(totals, answers.scales, answers.continuous, groups=groups, heard=answers.heard)


def _stated(private: bool) -> str:
    return GUARANTEE if private else "none: made with noise that is not private, for evaluation only"
