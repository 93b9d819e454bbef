"""The provider: coordinates, and sees only noisy values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fedgroup.epsilon import NOTHING
from fedgroup.errors import InvalidInput
from fedgroup.messages import Grouping, NoisyAnswers, NoisyTotals, NoisyVectors, Partition
from fedgroup.provider.borderline import Borderline, ask_all, classify
from fedgroup.provider.graph import SimilarityGraph
from fedgroup.provider.grouping import partition_graph
from fedgroup.provider.grouping.topcell import partition_by_cell
from fedgroup.provider.lazy_grouping import Decide, LazyGroups, Report, compare_all, group_lazily
from fedgroup.provider.placing import likely_cells
from fedgroup.provider.settings import GroupingSettings
from fedgroup.provider.similarity import noisy_graph, smallest_kept_cell, top_cells
from fedgroup.secure.masking import sums_of_masked
from fedgroup.secure.sign import Bits
from fedgroup.secure.similarity import opened

Cells = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]
Compare = Callable[[Ints, Ints], tuple[Bits, Bits]]
"""Both sides' shares of the bits of many pairs."""
Join = Callable[[NoisyVectors, GroupingSettings], SimilarityGraph]

CONFIDENTIAL = (
    "inputs stay confidential, but not epsilon-DP: owners in doubt were compared exactly, and the provider learned one "
    "bit per comparison; answers are epsilon-DP given the groups"
)
GUARANTEE = (
    "epsilon-DP: the groups are computed from count vectors that were each released with epsilon-differentially "
    "private noise, and from nothing else"
)


class Provider:
    """Groups owners and combines their groups' answers. Semi-honest: curious, but it follows the protocol."""

    def group(
        self, vectors: NoisyVectors, settings: GroupingSettings, *, private: bool, join: Join | None = None
    ) -> Grouping:
        """Return groups of owners whose noisy vectors are similar; `join` makes the graph, by default here."""
        if not settings.kind.private:
            raise InvalidInput("the exact graph needs exact vectors, which a provider never sees; it is for evaluation")
        if settings.kind.places:
            cells, told = _PLACINGS[settings.graph](vectors, settings)
            partition = partition_by_cell(cells, limits=settings.limits)
            return Grouping(partition, settings.facts() | told, vectors.epsilon, _stated(private), private)
        graph = (join or joined_here)(vectors, settings)
        grouped = partition_graph(graph, algorithm=settings.algorithm or "greedy", limits=settings.limits)
        return Grouping(
            grouped.partition, settings.facts(), vectors.epsilon, _stated(private), private, graph.edges, grouped.notes
        )

    def group_compared(
        self,
        vectors: NoisyVectors | None,
        settings: GroupingSettings,
        *,
        owners: int,
        compare: Compare,
        private: bool,
        report: Report | None = None,
    ) -> Grouping:
        """Return groups of owners of whom those in doubt were compared securely, many pairs at once.

        Owners are placed in order, and pairs compared as that asks for them; other algorithms need every pair in doubt
        compared, which then happens at once.

        Guarantee: inputs stay confidential; the provider learns the bits it asks for, which are not epsilon-DP.
        """
        if vectors is None:
            doubts = ask_all(owners)
        else:
            doubts = classify(vectors, threshold=settings.threshold, lower=settings.lower, upper=settings.upper)
        found = (_by_all_pairs if settings.needs_all_pairs else _in_order)(
            doubts, settings, lambda first, second: opened(*compare(first, second)), report
        )
        revealed = found.revealed_per_owner
        told = {
            "comparisons": found.comparisons,
            "waves": found.waves,
            "pairs": doubts.pairs,
            "lower": settings.lower,
            "upper": settings.upper,
            "comparisons_allowed": settings.comparisons,
            "borderline": doubts.asked,
            "bits_per_owner": 2 * found.comparisons / max(1, owners),
            "most_bits_of_an_owner": int(revealed.max(initial=0)),
        }
        return Grouping(
            Partition(found.labels),
            settings.facts() | told,
            NOTHING if vectors is None else vectors.epsilon,
            CONFIDENTIAL if private else _stated(private),
            private,
            found.edges,
            _compared_notes(settings, found.notes),
        )

    def group_graph(self, graph: SimilarityGraph, settings: GroupingSettings, *, guarantee: str) -> Grouping:
        """Return groups made of cliques of a graph that was made elsewhere, without privacy."""
        grouped = partition_graph(graph, algorithm=settings.algorithm or "greedy", limits=settings.limits)
        return Grouping(grouped.partition, settings.facts(), NOTHING, guarantee, False, graph.edges, grouped.notes)

    def combine(self, answers: NoisyAnswers) -> NoisyTotals:
        """Return the sum of all groups' noisy answers; of masked groups only sums over all members mean anything."""
        totals: dict[str, Any] = dict(answers.parts)
        noises: float = answers.noises
        shared = 0.0
        masked = answers.masked
        if masked is not None:
            # chunk by chunk: owners times bins are never held
            sums = [sums_of_masked(each, masked.labels, masked.groups).sum(axis=0) for each in masked.chunks]
            words = np.concatenate(sums).reshape(-1, len(totals))
            totals = {part: total + words[:, at] for at, (part, total) in enumerate(totals.items())}
            shared = masked.noises
        return NoisyTotals(
            totals, answers.scales, answers.continuous, noises=noises + shared, heard=answers.heard, shared=shared
        )


def _in_order(doubts: Borderline, settings: GroupingSettings, decide: Decide, report: Report | None) -> LazyGroups:
    return group_lazily(
        doubts,
        decide,
        limits=settings.limits,
        comparisons=settings.comparisons,
        extra=settings.extra_comparisons,
        report=report,
    )


def _by_all_pairs(doubts: Borderline, settings: GroupingSettings, decide: Decide, report: Report | None) -> LazyGroups:
    """Return the groups that an algorithm makes of the whole graph, all pairs in doubt compared (FG-Ex: cliques)."""
    compared = compare_all(doubts, decide, report=report)
    graph = SimilarityGraph.from_edges(doubts.owners, *np.nonzero(np.triu(compared.similar, k=1)))
    grouped = partition_graph(graph, algorithm=settings.algorithm or "greedy", limits=settings.limits)
    return replace(compared.groups, labels=grouped.partition.labels, notes=(*compared.groups.notes, *grouped.notes))


def joined_here(vectors: NoisyVectors, settings: GroupingSettings) -> SimilarityGraph:
    """Return the graph of similar owners, computed by this process on the device that the settings name."""
    if settings.device == "cuda":
        return _graph_on_gpu(vectors, settings)
    return noisy_graph(
        vectors, threshold=settings.threshold, estimate=settings.estimate, false_cells=settings.false_cells
    )


def _by_top_cell(vectors: NoisyVectors, settings: GroupingSettings) -> tuple[Cells, dict[str, float]]:
    return top_cells(vectors, settings.false_cells), {}


def _by_likely_cell(vectors: NoisyVectors, settings: GroupingSettings) -> tuple[Cells, dict[str, float]]:
    placed = likely_cells(
        vectors,
        false_cells=settings.false_cells,
        threshold=settings.threshold,
        misplaced=settings.misplaced,
        device=settings.device,
    )
    return placed.cell, {"misplaced_expected": placed.expected}


_PLACINGS = {"topcell": _by_top_cell, "likely": _by_likely_cell}
"""For each graph that places owners: the cell that each is placed by, -1: alone; and what is to be told of it."""


def _graph_on_gpu(vectors: NoisyVectors, settings: GroupingSettings) -> SimilarityGraph:
    """Return the same graph as `noisy_graph`, computed on a GPU."""
    from fedgroup.provider.gpu import all_pairs_graph

    values = vectors.values
    if settings.estimate == "thresholded":
        tau = smallest_kept_cell(vectors.scale, vectors.grid.cells, settings.false_cells)
        values = np.where(values >= tau, values, 0)
    return all_pairs_graph(values, threshold=settings.threshold)


def _compared_notes(settings: GroupingSettings, notes: tuple[str, ...]) -> tuple[str, ...]:
    if settings.lower is None and settings.upper is None:
        return notes
    return (*notes, "explicit limits decide pairs without regard to how much noise is in them")


def _stated(private: bool) -> str:
    return GUARANTEE if private else "none: made with noise that is not private, for evaluation only"
