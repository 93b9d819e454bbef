"""Exact results in one process: not private, for evaluation only, and each of them is a line in the ledger first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedgroup.federation.methods import ChosenMethod
from fedgroup.messages import NoisyTotals
from fedgroup.owner.records import Records
from fedgroup.privacy.budget import Ledger, evaluation_of
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.answers import Answer
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.words import question
from fedgroup.space import PublicMap


class Evaluator:
    """Tells what is true of the records of one federation."""

    def __init__(self, records: Records, public_map: PublicMap, protection: Protection, *, ledger: Ledger) -> None:
        self._records = records
        self._map = public_map
        self._protection = protection
        self._ledger = ledger

    def totals(self, query: RangeQuery) -> NoisyTotals:
        """Return the exact values of every bin after clipping."""
        from fedgroup.evaluation.truth import exact_totals

        self._ledger.charge([evaluation_of(f"{question(query)}, the true values")])
        return exact_totals(self._records, query, self._map, self._protection)

    def truths(self, query: RangeQuery) -> dict[str, Any]:
        """Return the true values of one range, as the data are and after clipping."""
        from fedgroup.evaluation.truth import truths

        self._ledger.charge([evaluation_of(f"{question(query)}, the true value")])
        return truths(self._records, query, self._map, self._protection)

    def answer(
        self, query: RangeQuery, how: ChosenMethod, notes: Callable[[RangeQuery, ChosenMethod], tuple[str, ...]]
    ) -> Answer:
        """Return what is true after clipping as an answer."""
        now, told = self._ledger.now(), notes(query, how)
        return _exact_answer(query, how, self.truths(query), asked_at=now, notes=told, lonlat=self._map.lonlat)


def _exact_answer(
    query: RangeQuery,
    how: ChosenMethod,
    truths: dict[str, Any],
    *,
    asked_at: str,
    notes: tuple[str, ...],
    lonlat: bool,
) -> Answer:
    """Return what is true after clipping as an answer: without noise, without an epsilon, and not private."""
    value = truths["true_value_clipped"]
    interval = (value, value) if value is not None else (query.measure.bounds if query.measure else (0.0, 0.0))
    return Answer(
        kind=query.kind,
        value=value,
        interval=interval,
        confidence=1.0,
        epsilon=0.0,
        **how.facts(),
        heard=how.partition.owners,
        missing=0,
        private=False,
        asked_at=asked_at,
        notes=notes,
        range=query.one_range,
        lonlat=lonlat,
        **truths,
    )
