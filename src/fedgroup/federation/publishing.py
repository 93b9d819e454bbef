"""Maps that are paid once and read for ever, published by the owners of one federation; and what asking them saves.

Guarantee: the whole epsilon of a map is charged, in one piece, before its first question is counted; where it cannot be
           paid nobody pays anything. What is read from maps afterwards costs nothing.
Proof:     docs/guarantees.md#published-maps
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError, InvalidQuery
from fedgroup.federation.methods import ChosenMethod, ReadyMethods
from fedgroup.federation.price import charges_of, notes_of
from fedgroup.federation.questions import Details, checked, require_uncut
from fedgroup.maps.planning import MapPlan, price_beyond, sharp_enough
from fedgroup.maps.published import PublishedMap, published_facts, published_from, published_map, step_of
from fedgroup.maps.publishing import RECORDS_OF_OWNER, Publication, Released, Subject, guess_note, sized
from fedgroup.maps.sharpening import ALONE, COMBINED, agree
from fedgroup.maps.shelf import Shelf
from fedgroup.maps.sizing import map_price
from fedgroup.owner.records import Records
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.budget import Charge, Ledger
from fedgroup.privacy.sensitivity import Protection
from fedgroup.provider.role import Provider
from fedgroup.questions.answers import Answer
from fedgroup.questions.methods import METHODS
from fedgroup.questions.query import RangeQuery
from fedgroup.questions.said import question_of, require_known
from fedgroup.space import Grid, PublicMap
from fedgroup.user.pricing import error_said


class PublishDetails(Details, total=False):
    """All that can be said about a map to publish besides its kind and its epsilon; see `Details`.

    records     a public guess of how many records there are; never looked up (default: 20 for every owner)
    most_cells  a public cap on the cells of the map
    """

    records: int | None
    most_cells: int | None


@dataclass(frozen=True, eq=False)
class Planned:
    """A map that is decided on: its first question, how it is asked, and what it costs."""

    publication: Publication
    how: ChosenMethod
    charges: Sequence[Charge]
    guessed: bool


class Publisher:
    """Publishes maps for the owners of one federation."""

    def __init__(
        self,
        records: Records,
        public_map: PublicMap,
        protection: Protection,
        *,
        owners: DataOwners,
        provider: Provider,
        methods: ReadyMethods,
        ledger: Ledger,
        private: bool,
        cut: bool,
        name_question: Callable[[RangeQuery, ChosenMethod], str],
    ) -> None:
        self._records = records
        self._map = public_map
        self._protection = protection
        self._owners = owners
        self._provider = provider
        self._methods = methods
        self._ledger = ledger
        self._private = private
        self._cut = cut
        self._name = name_question
        self.shelf = Shelf()

    def planned(self, kind: str, epsilon: float | Epsilon | None, details: Mapping[str, Any]) -> Planned:
        """Return a map as it would be published, or say what is wrong with it; nothing is spent."""
        require_known(details, PublishDetails, what="a published map")
        own = {name: details.get(name) for name in ("records", "most_cells", "rho")}
        said = checked(cast(Details, {name: value for name, value in details.items() if name not in own}))
        if said.get("method") == "exact" or said.get("repeat", 1) != 1 or said.get("evaluate", False):
            raise InvalidQuery("a map is published by private methods, once at a time; true values are had by map()")
        cost = map_price(epsilon, own["rho"], self._ledger.accounting)
        whole = question_of(kind, Grid(self._map.domain, 1, 1), cost, said, self._map)
        require_uncut(whole, cut=self._cut)
        self._require_columns(whole)
        subject = Subject(whole.kind, whole.measure, whole.since, whole.until)
        how = self._quietest(said)
        records = own["records"]
        sizes = sized(
            subject,
            self._map.domain,
            cost,
            noises=how.noises,
            records=len(self._records.owners) * RECORDS_OF_OWNER if records is None else records,
            protection=self._protection,
            most_cells=own["most_cells"],
        )
        publication = Publication(sizes, subject)
        return Planned(publication, how, self._charges(publication, how), records is None)

    def plan(self, planned: Planned) -> MapPlan:
        """Return what a map would be like and would cost."""
        cost = self._ledger.price(planned.charges)
        left = self._ledger.left()
        return MapPlan(
            sizes=planned.publication.sizes,
            kind=planned.publication.subject.kind,
            public_map=self._map,
            charge=float(cost),
            left=None if left is None else float(left),
            method=planned.how.name,
            trust=planned.how.trust,
            moved=self._protection.of(planned.publication.subject.kind, self._one(planned)),
            step=step_of(planned.publication.subject.measure),
            rho=self._counted(planned.publication),
        )

    def publish(self, planned: Planned, *, fresh: bool) -> PublishedMap:
        """Return the map: charged as a whole, then asked for in two rounds."""
        key = self._key(planned)
        stored = None if fresh else self._ledger.stored_answer(key)
        if stored is not None:
            return published_from(stored, self._map, stored=True, charged=0.0)
        going, cost, heard = self.asked(planned)
        how = planned.how
        made = published_map(
            going,
            self._map,
            method=how.facts(),
            charged=float(cost),
            notes=self._notes(planned, going),
            heard=heard,
            missing=how.partition.owners - heard,
            private=self._private and how.private,
            asked_at=self._ledger.now(),
            protection=str(self._protection),
            rho=self._counted(planned.publication),
        )
        self._ledger.store_answers({key: published_facts(made)})
        return made

    def asked(self, planned: Planned) -> tuple[Publication, Epsilon, int]:
        """Return the publication with all its answers, what it cost, and how many owners were heard.

        Guarantee: the whole is charged before the first question is counted, or nothing is.
        """
        going, heard = planned.publication, 0
        cost = self._ledger.charge(planned.charges)
        while (question := going.next_question) is not None:
            (answers,), _ = self._owners.answer(question, planned.how.terms, charges=())
            totals = self._provider.combine(answers)
            heard = answers.heard
            going = going.after(Released(totals.parts[question.parts[0]], totals.noises))
        return going, cost, heard

    def take(self, made: PublishedMap) -> None:
        """Let answers be read from a map that was published before, by these owners."""
        if made.public_map != self._map:
            raise InvalidQuery("this map is of another domain")
        if made.protection not in ("", str(self._protection)):
            raise InvalidQuery(f"this map protects {made.protection}, this federation {self._protection}")
        self.shelf = self.shelf.with_map(made)

    def read(self, kind: str, asked: Any, details: Details, *, ask: Callable[..., Answer]) -> Answer | None:
        """Return an answer from the newest map that fits; with `error`, sharpened by asking where it is not as sharp.

        A question that the map answers well enough is not charged. Else it is asked with so much epsilon as is needed
        beyond what the map knows; where both cannot be of the same records, that answer stands alone. None where an
        error is wanted and there is no such map, or what is asked for is no private answer.
        """
        error = details.get("error")
        details = cast(Details, {name: value for name, value in details.items() if name != "error"})
        whole = question_of(kind, asked, Epsilon(1), details, self._map)
        made = self.shelf.newest(kind, since=whole.since, until=whole.until)
        if made is not None and made.query.measure != whole.measure:
            made = None
        if error is not None and (kind not in COMBINED or not _is_private(details)):
            made = None
        if made is None:
            if error is None:
                raise InvalidQuery(f"no map of {kind} for this window was published; publish one, or say epsilon")
            return None
        free = made.count(asked)
        if error is None or sharp_enough(free, wanted := error_said(error, expected=free.value)):
            return free
        # by the map's own method, unless another is asked for
        by = {} if METHODS[made.method].needs_plan else {"method": made.method}
        said = cast(Details, by | dict(details))
        moved, noises = self._protection.of(kind, whole), self._methods.of(said).noises
        cost = price_beyond(free, wanted, step=step_of(whole.measure), sensitivity=moved, noises=noises)
        paid = ask(kind, asked, epsilon=cost, **said)
        return made.combined(paid, free=free) if agree(paid, free) else replace(paid, notes=(*paid.notes, ALONE))

    def _counted(self, publication: Publication) -> float | None:
        return publication.sizes.counted(self._ledger.accounting)

    def _notes(self, planned: Planned, going: Publication) -> tuple[str, ...]:
        notes = notes_of(going.questions[2], planned.how, records=self._records, protection=self._protection)
        if not planned.guessed:
            return notes
        return (*notes, guess_note(going.sizes.records))

    def _charges(self, publication: Publication, how: ChosenMethod) -> list[Charge]:
        """Return the price of all three questions; the bins of the third are not known yet."""
        first, second = publication.questions
        shares = publication.sizes.shares
        price = [charges_of(each, how, times=1, protection=self._protection) for each in (first, second)]
        cells = replace(price[1][-1], epsilon=shares[2])
        cells = replace(cells, question=f"the cells of a published map, from the two before, {how.told}")
        return [*price[0], price[1][-1], cells]

    def _quietest(self, said: Details) -> ChosenMethod:
        """Return the method that was asked for; else the one with the fewest noises among those that can be used."""
        if said.get("method") is not None:
            return self._methods.of(said)
        found = []
        for name, method in METHODS.items():
            if method.private and method.needs_plan == ("plan" in said):
                try:
                    found.append(self._methods.of({**said, "method": name}))
                except FedgroupError:
                    continue
        return min(found, key=lambda how: how.noises) if found else self._methods.of(said)

    def _require_columns(self, query: RangeQuery) -> None:
        from fedgroup.owner.counting import times_of

        if query.measure is not None:
            self._records.attribute(query.measure.attribute)
        if query.since is not None or query.until is not None:
            times_of(self._records)

    def _one(self, planned: Planned) -> RangeQuery:
        """Return the question about the whole domain as one bin."""
        return planned.publication.subject.question(Grid(self._map.domain, 1, 1), planned.publication.sizes.epsilon)

    def _key(self, planned: Planned) -> str:
        sizes = planned.publication.sizes
        named = self._name(planned.publication.questions[1], planned.how)
        return f"published {named} {sizes.epsilon.nano} {sizes.records} {sizes.most_cells}"


def _is_private(details: Details) -> bool:
    """Tell whether one private answer is asked for, and nothing to compare it with."""
    return details.get("method") != "exact" and not details.get("evaluate", False) and details.get("repeat", 1) == 1


def require_one_price(epsilon: float | Epsilon | None, details: Details, *, from_map: bool) -> None:
    """Refuse a question that says twice what it may cost."""
    said = (epsilon, details.get("rho"), details.get("error"), from_map or None)
    if sum(each is not None for each in said) > 1:
        raise InvalidQuery("say one price: epsilon or rho (they always ask), error, or from_map")
