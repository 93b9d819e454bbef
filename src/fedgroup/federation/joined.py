"""A federation in one process: owners, provider and user, with their walls, over the same messages as live ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any, Self, Unpack

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput, InvalidQuery
from fedgroup.federation.evaluating import Evaluator
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.methods import ChosenMethod, ReadyMethods
from fedgroup.federation.opening import (
    SomeLedger,
    Terms,
    agreed_domain,
    agreed_map,
    noise_name,
    opened_ledger,
    require_index,
    require_noise,
    set_terms,
    unpacked,
)
from fedgroup.federation.planning import Folder, GroupingSaid, Planner, settings_said
from fedgroup.federation.price import charges_of, charges_of_batch, expectation_of, left_about, notes_of, priced
from fedgroup.federation.publishing import PublishDetails, Publisher, require_one_price
from fedgroup.federation.questions import Details, MapDetails, checked, range_query, require_evaluation, require_ranges
from fedgroup.maps.planning import MapPlan
from fedgroup.maps.private_map import MOST_STORED, PrivateMap, map_facts, map_from
from fedgroup.maps.published import PublishedMap
from fedgroup.maps.shelf import Shelf
from fedgroup.messages import NoisyAnswers, NoisyTotals
from fedgroup.owner.index import RecordIndex
from fedgroup.owner.records import Records
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from fedgroup.privacy.sensitivity import Neighbours, Protection, Unit
from fedgroup.privacy.windows import WindowBudget
from fedgroup.privacy.windows_left import WindowsLeft, windows_left
from fedgroup.provider.lazy_grouping import Report
from fedgroup.provider.role import Provider
from fedgroup.questions.answers import Answer, Expectation, again, answer_facts
from fedgroup.questions.instants import When
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import naming_notes, places_said
from fedgroup.questions.sameness import same_question
from fedgroup.rho import Rho
from fedgroup.space import Box, Grid
from fedgroup.space.shapes import as_range, as_ranges
from fedgroup.user import role as user
from fedgroup.user.pricing import price_facts


class Federation:
    """Owners' records, the public map they agreed on, and the budget that protects them.

    The protected `unit` is a record, a subject (a car, a person: the column `subject`) or a whole owner; of a subject
    or an owner at most `max_records` count, and a subject is one of the people in at most `max_bins` bins of a map.

    `budget` caps what every owner may spend in all; without it nothing is capped. With `accounting="zcdp"` and a
    `delta` it caps the epsilon that holds with that delta, of all answers together, which then may have a rho for a
    price: many answers are sharper so. A ledger counts one way for its life. `window_budget` caps what any `windows`
    consecutive windows of the records' time may cost, each as long as `per` says: hour, day, week, or such as 15min.
    `ledger` is a file to keep the spending in, or a ledger; what it allows is raised only with `raise_budget`. `seed`,
    `evaluation` and noise that is not private are for evaluation only: every answer then says that it is not private,
    and exact answers, true values and exact graphs can be had; each of them leaves a line in the ledger.
    """

    def __init__(
        self,
        records: Records | RecordIndex,
        domain: Box | None = None,
        *,
        budget: float | None = None,
        raise_budget: bool = False,
        ledger: SomeLedger | None = None,
        accounting: str | None = None,
        delta: float | None = None,
        per: str | None = None,
        window_budget: float | None = None,
        windows: int | None = None,
        lonlat: bool | None = None,
        neighbours: Neighbours = "add-remove",
        unit: Unit = "record",
        max_records: int | None = None,
        max_bins: int | None = None,
        seed: int | None = None,
        noise: NoiseSource | None = None,
        evaluation: bool = False,
    ) -> None:
        records, index = unpacked(records)
        agreed = agreed_domain(records, domain)
        require_noise(seed, noise, evaluation=evaluation)
        terms = Terms.said(budget, accounting, delta, WindowBudget.said(per, window_budget, windows))
        self.public_map = agreed_map(records, agreed, lonlat)
        self.protection = Protection(neighbours, unit, max_records, max_bins, subjects=records.subject is not None)
        self.private = not evaluation and seed is None and (noise is None or noise.private)
        self._cut_index = require_index(index, self.public_map, self.protection)
        self._records = records
        self._noise: NoiseSource = noise or (SecureNoise() if seed is None else SeededNoise(seed))
        self._noise_name = noise_name(noise, seed)
        opened = opened_ledger(ledger)
        self.ledger: Ledger = opened
        self._owners = DataOwners(
            records, self.public_map, protection=self.protection, ledger=self.ledger, noise=self._noise, index=index
        )
        self._provider = Provider()
        self._masks = MaskRoom(len(records.owners), seed=seed)
        self._methods = ReadyMethods(records, self.public_map, protection=self.protection, masks=self._masks)
        self._planner = Planner(
            records,
            self.public_map,
            self.protection,
            owners=self._owners,
            provider=self._provider,
            masks=self._masks,
            ledger=self.ledger,
            private=self.private,
            raising=raise_budget,
        )
        self._closed = False
        set_terms(opened, terms, agreed=raise_budget)

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Evaluator(self._records, self.public_map, self.protection, ledger=self.ledger)

    @cached_property
    def _publisher(self) -> Publisher:
        return Publisher(
            self._records,
            self.public_map,
            self.protection,
            owners=self._owners,
            provider=self._provider,
            methods=self._methods,
            ledger=self.ledger,
            private=self.private,
            cut=self._cut_index,
            name_question=self._key,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the ledger's file; nothing can be asked any more."""
        self._closed = True
        self.ledger.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidInput("this federation is closed and answers no more; open another one")

    @property
    def spent(self) -> float:
        """What the owner that spent most has spent: with concentrated accounting, the epsilon that holds with delta."""
        self._require_open()
        return float(self.ledger.spent())

    @property
    def left(self) -> float | None:
        """What every owner can still spend in this epoch on one answer for an epsilon; None when nothing is capped."""
        self._require_open()
        left = self.ledger.left()
        return None if left is None else float(left)

    @property
    def left_rho(self) -> float | None:
        """What every owner can still spend in rho; None when nothing is capped, or epsilon is counted."""
        self._require_open()
        left = self.ledger.left_rho()
        return None if left is None else float(left)

    def left_in(self, since: When | None = None, until: When | None = None) -> float | None:
        """Return what every owner can still spend on one count about a time: of the epoch, and of its windows."""
        self._require_open()
        return left_about(self.ledger, self.protection, self.public_map, since=since, until=until)

    @property
    def windows_left(self) -> WindowsLeft | None:
        """What was charged to windows of time and what they have left; None where they have no budget of their own."""
        self._require_open()
        return windows_left(self.ledger)

    def __repr__(self) -> str:
        return f"Federation({self.public_map.domain}, <private records>)"

    @property
    def owners(self) -> Any:
        """The public list of owners, ascending."""
        return self._records.owners

    # --- grouping -------------------------------------------------------------------------------------------------

    def group(
        self,
        *,
        epsilon: float | Epsilon | None = None,
        rho: float | Rho | None = None,
        grid: tuple[int, int] | Grid = (10, 10),
        executor: Executor | None = None,
        shared: Folder | None = None,
        progress: Report | None = None,
        **said: Unpack[GroupingSaid],
    ) -> Plan:
        """Return a plan that puts similar owners into groups; an executor's workers find who is similar, in `shared`.

        It costs `epsilon`, or of a `rho` the largest epsilon that costs no more; the graph `exact` costs nothing and is
        not private, the graph `secure` costs nothing and reveals one bit per pair that is compared, `hybrid` does both:
        a plan's guarantee says what it is worth. While owners are compared, `progress` is called with how far that is.
        """
        self._require_open()
        settings = settings_said(said, self._records.owners)
        return self._planner.plan(settings, grid, epsilon, rho=rho, executor=executor, shared=shared, progress=progress)

    def judge(self, plan: Plan, *, threshold: float) -> dict[str, float]:
        """Return the shares of falsely joined pairs and misplaced owners, judged by exact records: not private."""
        self._require_open()
        return self._planner.judge(plan, threshold=threshold)

    # --- questions ------------------------------------------------------------------------------------------------

    def count(
        self,
        asked: Any,
        *,
        epsilon: float | Epsilon | None = None,
        from_map: bool = False,
        **details: Unpack[Details],
    ) -> Answer:
        """Return how many records lie in a range: one of ours, or a polygon of shapely, GeoJSON or GeoPandas.

        `epsilon` always asks, `from_map` reads the published map, `error` asks what the map does not know so well.
        """
        return self.ask("count", asked, epsilon=epsilon, from_map=from_map, **details)

    def people(self, asked: Any, *, epsilon: float | Epsilon | None = None, **details: Unpack[Details]) -> Answer:
        """Return how many subjects have records in a range, each counted once."""
        return self.ask("people", asked, epsilon=epsilon, **details)

    def map(
        self, *, kind: str = "count", epsilon: float | Epsilon | None = None, **details: Unpack[MapDetails]
    ) -> PrivateMap:
        """Return counts, people, sums or means of many bins at once, for one epsilon: see `MapDetails`."""
        started = time.perf_counter()
        query, how, said = self._map_understood(kind, epsilon, details)
        exact, evaluate = how.name == "exact", said.get("evaluate", False)
        if exact or evaluate:
            require_evaluation(private=self.private)
        made = self._exact_map(query, how) if exact else self._stored_or_new_map(query, how, said)
        if evaluate and not exact:
            exactly = self._exact_map(query, how)
            true, cut = exactly.true_values, exactly.true_values_clipped
            made = replace(made, true_values=true, true_values_clipped=cut, private=False)
        notes = (*made.notes, *naming_notes(details))
        return replace(made, notes=notes, seconds=time.perf_counter() - started)

    def publish(
        self, *, kind: str = "count", epsilon: float | Epsilon | None = None, **details: Unpack[PublishDetails]
    ) -> PublishedMap:
        """Return a map that answers any range for nothing; it costs `epsilon`, or `rho`, once: see `PublishDetails`."""
        started = time.perf_counter()
        self._require_open()
        planned = self._publisher.planned(kind, epsilon, details)
        made = self._publisher.publish(planned, fresh=bool(details.get("fresh")))
        made = replace(made, seconds=time.perf_counter() - started)
        self._publisher.take(made)
        return made

    def plan_map(
        self, *, kind: str = "count", epsilon: float | Epsilon | None = None, **details: Unpack[PublishDetails]
    ) -> MapPlan:
        """Return what a published map would be like and would cost, beside asking; nothing is spent."""
        self._require_open()
        return self._publisher.plan(self._publisher.planned(kind, epsilon, details))

    @property
    def maps(self) -> Shelf:
        """The maps that were published, or taken up, here."""
        return self._publisher.shelf

    def take_map(self, made: PublishedMap) -> None:
        """Let `from_map` and `error` read a map that was published before, by these owners, and saved."""
        self._publisher.take(made)

    def expect_map(
        self, *, kind: str = "count", epsilon: float | Epsilon | None = None, **details: Unpack[MapDetails]
    ) -> Expectation:
        """Return how far off every bin of a map is to be expected, and what it would cost; nothing is spent."""
        expected = self._expectation(*self._map_understood(kind, epsilon, details))
        return replace(expected, notes=(*expected.notes, *naming_notes(details)))

    def sum(self, asked: Any, *, epsilon: float | Epsilon | None = None, **details: Unpack[Details]) -> Answer:
        """Return the sum of `attribute` over a range, each value cut to the `clip` range."""
        return self.ask("sum", asked, epsilon=epsilon, **details)

    def avg(self, asked: Any, *, epsilon: float | Epsilon | None = None, **details: Unpack[Details]) -> Answer:
        """Return the mean of `attribute` over a range: SUM / COUNT, with half of the epsilon each."""
        return self.ask("avg", asked, epsilon=epsilon, **details)

    def ask(
        self,
        kind: str,
        asked: Any,
        *,
        epsilon: float | Epsilon | None = None,
        from_map: bool = False,
        **details: Unpack[Details],
    ) -> Answer:
        """Return the answer to a question; `Details` lists all that can be said, `count` what a map saves.

        The same question asked again gets its stored answer for nothing, unless `fresh`.
        """
        started = time.perf_counter()
        if from_map or details.get("error") is not None:
            self._require_open()
            require_one_price(epsilon, details, from_map=from_map)
            asked = as_range(asked, self.public_map)
            found = self._publisher.read(kind, asked, checked(details), ask=self.ask)
            if found is not None:
                return found
        query, how, details = self._understood(kind, asked, epsilon, details)
        exact, evaluate = how.name == "exact", details.get("evaluate", False)
        if exact or evaluate:
            require_evaluation(private=self.private)
        answer = self._evaluator.answer(query, how, self._notes) if exact else self._stored_or_new(query, how, details)
        if evaluate and not exact:
            answer = replace(answer, **self._evaluator.truths(query), private=False)
        return replace(answer, seconds=time.perf_counter() - started)

    def count_many(
        self, ranges: Sequence[Any], *, epsilon: float | Epsilon | None = None, **details: Unpack[Details]
    ) -> list[Answer]:
        """Return the counts of many ranges, charged together; each costs `epsilon`, none is looked up in the store."""
        ranges = as_ranges(ranges, self.public_map)
        require_ranges(ranges, checked(details))
        ranges = list(ranges)
        if not ranges:
            return []
        # the ledger is looked into once for all of them: a look takes longer than reading an answer
        how, said = self._chosen(details)
        accounting = self.ledger.accounting
        queries = [
            self._query("count", as_range(each, self.public_map), epsilon, how, said, accounting) for each in ranges
        ]
        charges = charges_of_batch(queries, how, protection=self.protection)
        started = time.perf_counter()
        noisy, _ = self._owners.answer_many(queries, how.terms, charges=charges)
        accounting, each_noisy = self.ledger.accounting, zip(queries, noisy, strict=True)
        answers = [self._answer(query, how, [one], query.epsilon, accounting) for query, one in each_noisy]
        self.ledger.store_answers(dict(zip(self._keys(queries, how), map(answer_facts, answers), strict=True)))
        each = (time.perf_counter() - started) / len(answers)
        return [replace(answer, seconds=each) for answer in answers]

    def expect(
        self, kind: str, asked: Any, *, epsilon: float | Epsilon | None = None, **details: Unpack[Details]
    ) -> Expectation:
        """Return how far off the answer is to be expected, and what it would cost; nothing is spent."""
        # it does not look for a stored answer: whether there is one tells whether the data changed since
        return self._expectation(*self._understood(kind, asked, epsilon, details))

    def _expectation(self, query: RangeQuery, how: ChosenMethod, details: Details) -> Expectation:
        repeat = details.get("repeat", 1)
        return expectation_of(
            query,
            how,
            repeat=repeat,
            charges=self._charges(query, how, repeat),
            price=price_facts(query, self.ledger.accounting, times=repeat, delta=how.delta),
            ledger=self.ledger,
            protection=self.protection,
            continuous=self._noise.continuous,
            private=self.private,
            notes=self._notes(query, how),
        )

    def _understood(
        self, kind: str, asked: Any, epsilon: float | Epsilon | None, details: Details
    ) -> tuple[RangeQuery, ChosenMethod, Details]:
        how, said = self._chosen(details)
        asked = as_range(asked, self.public_map)
        return self._query(kind, asked, epsilon, how, said, self.ledger.accounting), how, said

    def _chosen(self, details: Details) -> tuple[ChosenMethod, Details]:
        self._require_open()
        said = checked(details)
        return self._methods.of(said), said

    def _query(
        self, kind: str, places: Any, epsilon: Any, how: ChosenMethod, said: Details, accounting: Accounting
    ) -> RangeQuery:
        agreed: dict[str, Any] = {"records": self._records, "public_map": self.public_map}
        query = range_query(kind, places, epsilon=epsilon, details=said, **agreed)
        limits: dict[str, Any] = {"accounting": accounting, "protection": self.protection, "cut": self._cut_index}
        return priced(query, how, said.get("error"), ledger=self.ledger, **limits)

    def _map_understood(
        self, kind: str, epsilon: float | Epsilon | None, details: MapDetails
    ) -> tuple[RangeQuery, ChosenMethod, Details]:
        self._require_open()
        said = checked(details, MapDetails)
        if said.get("repeat", 1) != 1:
            raise InvalidQuery("a map is asked once at a time; leave repeat out")
        how = self._methods.of(said)
        places = places_said(said, self.public_map)
        return self._query(kind, places, epsilon, how, said, self.ledger.accounting), how, said

    def _stored_or_new_map(self, query: RangeQuery, how: ChosenMethod, details: Details) -> PrivateMap:
        key = f"map {self._key(query, how)}"
        stored = self._stored(key, details)
        if stored is not None:
            again = {"stored": True, "charged": 0.0, "notes": self._notes(query, how)}
            return map_from(stored, query, self.public_map, **again)
        (answers,), cost = self._owners.answer(query, how.terms, charges=self._charges(query, how, 1))
        told = self._told(query, how, cost, self.ledger.accounting, heard=answers.heard)
        made = self._map_answer(query, self._provider.combine(answers), told)
        if query.bins <= MOST_STORED:
            self.ledger.store_answers({key: map_facts(made)})
        return made

    def _exact_map(self, query: RangeQuery, how: ChosenMethod) -> PrivateMap:
        """Return the exact values after clipping, which are not private; that is in the ledger first."""
        from fedgroup.evaluation.truth import true_values

        totals = self._evaluator.totals(query)
        told = self._told(query, how, NOTHING, self.ledger.accounting, heard=how.partition.owners)
        made = self._map_answer(query, totals, told | {"private": False})
        truths = true_values(self._records, query, self.public_map)
        return replace(made, true_values=truths, true_values_clipped=made.values)

    def _map_answer(self, query: RangeQuery, totals: NoisyTotals, told: dict[str, Any]) -> PrivateMap:
        return user.map_answer(query, totals, public_map=self.public_map, protection=str(self.protection), **told)

    def _told(
        self, query: RangeQuery, how: ChosenMethod, cost: Epsilon, accounting: Accounting, *, heard: int, times: int = 1
    ) -> dict[str, Any]:
        """Return what is told with the answer to a question, which was asked so many times."""
        return {
            "method": how.facts() | price_facts(query, accounting, times=times, delta=how.delta),
            "charged": float(cost),
            "notes": self._notes(query, how),
            "heard": heard,
            "missing": how.partition.owners - heard,
            "private": self.private and how.private and times == 1,
            "asked_at": self.ledger.now(),
        }

    def _stored_or_new(self, query: RangeQuery, how: ChosenMethod, details: Details) -> Answer:
        key = self._key(query, how)
        stored = self._stored(key, details)
        if stored is not None:
            # what must be known is told of this federation, not of the one that paid
            about = {"range": query.one_range, "lonlat": self.public_map.lonlat}
            return again(stored, notes=self._notes(query, how), **about)
        repeat = details.get("repeat", 1)
        answers, cost = self._owners.answer(query, how.terms, charges=self._charges(query, how, repeat), times=repeat)
        answer = self._answer(query, how, answers, cost, self.ledger.accounting)
        if repeat == 1:
            self.ledger.store_answers({key: answer_facts(answer)})
        return answer

    def _stored(self, key: str, details: Details) -> Mapping[str, Any] | None:
        if details.get("fresh", False) or details.get("repeat", 1) > 1:
            return None
        return self.ledger.stored_answer(key)

    def _answer(
        self, query: RangeQuery, how: ChosenMethod, noisy: Sequence[NoisyAnswers], cost: Epsilon, accounting: Accounting
    ) -> Answer:
        told = self._told(query, how, cost, accounting, heard=noisy[0].heard, times=len(noisy))
        totals = [self._provider.combine(each) for each in noisy]
        return user.answer(query, totals, lonlat=self.public_map.lonlat, **told)

    def _charges(self, query: RangeQuery, how: ChosenMethod, times: int) -> Sequence[Charge]:
        return charges_of(query, how, times=times, protection=self.protection)

    def _notes(self, query: RangeQuery, how: ChosenMethod) -> tuple[str, ...]:
        return notes_of(query, how, records=self._records, protection=self.protection)

    def _key(self, query: RangeQuery, how: ChosenMethod) -> str:
        return self._keys([query], how)[0]

    def _keys(self, queries: Sequence[RangeQuery], how: ChosenMethod) -> list[str]:
        """Name questions; the roster is the plan's owners, for whom its id stands, and the data's, in the snapshot."""
        mine = asdict(self.protection), self._records.snapshot, self.ledger.epoch, self.private, self._noise_name
        carried = *how.said, *mine
        return [same_question(query, how.name, self.public_map, *carried) for query in queries]
