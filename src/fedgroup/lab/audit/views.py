"""What somebody sees of a federation in one process: the released numbers of one question, asked over and over.

Everything is asked through the same code as answers are: the owners' role charges, counts and releases. Members that
collude know their own shares of noise, so their noise is overheard and taken off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fedgroup.data.plans import Plan
from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.federation.masks import MaskRoom
from fedgroup.federation.methods import ReadyMethods, choose_method
from fedgroup.federation.planning import Planner, settings_said
from fedgroup.federation.price import charges_of
from fedgroup.federation.publishing import Publisher
from fedgroup.federation.questions import Details, range_query
from fedgroup.lab.audit.worlds import CLIP, HOUR, MAP, MEMBERS, RANGE, Setting, table
from fedgroup.messages import Grouping, MaskedAnswers, NoisyAnswers, NoisyVectors, Partition
from fedgroup.owner.records import Records
from fedgroup.owner.role import DataOwners
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.budget import Charge
from fedgroup.privacy.noise import Floats, Ints, NoiseSource
from fedgroup.provider.role import Provider
from fedgroup.questions.query import RangeQuery
from fedgroup.storage.memory import MemoryLedger

Numbers = npt.NDArray[np.float64]

DELTA = 0.05
"""Of rows that are priced by a rho: what costs it holds with every delta, and this one is quick to audit."""
COLLUDERS = 2
_AT_ONCE = 1_000


@dataclass(frozen=True)
class Price:
    """What one question costs: an epsilon, or a rho."""

    epsilon: float | None = 1.0
    rho: float | None = None

    @property
    def delta(self) -> float:
        return 0.0 if self.rho is None else DELTA

    @property
    def said(self) -> dict[str, Any]:
        return {} if self.rho is None else {"rho": self.rho}


class View(Protocol):
    """One world, seen by somebody: `draw` asks so many times; asking once costs `charge`, as the ledger says."""

    @property
    def charge(self) -> float: ...

    def draw(self, times: int) -> Numbers: ...

    def close(self) -> None: ...


class Overheard:
    """Noise of which shares are remembered as they are drawn: who draws one knows it."""

    private = True
    continuous = False

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self.shares: list[Ints] = []

    def taken(self) -> list[Ints]:
        """Return, and forget, the shares that were drawn."""
        taken, self.shares = self.shares, []
        return taken

    def laplace(self, scale: Fraction, count: int) -> Ints | Floats:
        """Return what the noise does."""
        return self._noise.laplace(scale, count)

    def laplace_sums(self, scale: Fraction, each: int, count: int) -> Ints | Floats:
        """Return what the noise does."""
        return self._noise.laplace_sums(scale, each, count)

    def laplace_shares(self, scale: Fraction, parts: int, count: int) -> Ints:
        """Return what the noise does, and remember it."""
        self.shares.append(self._noise.laplace_shares(scale, parts, count))
        return self.shares[-1]

    def sums_of_shares(self, scale: Fraction, parts: int, shares: int, count: int) -> Ints:
        """Return what the noise does."""
        return self._noise.sums_of_shares(scale, parts, shares, count)

    def gaussian_sums(self, variance: Fraction, each: int, count: int) -> Ints:
        """Return what the noise does."""
        return self._noise.gaussian_sums(variance, each, count)

    def skellam(self, variance: Fraction, count: int) -> Ints:
        """Return what the noise does, and remember it."""
        self.shares.append(self._noise.skellam(variance, count))
        return self.shares[-1]


def ledger_for(price: Price) -> MemoryLedger:
    """Return a ledger that counts in the units of a price."""
    ledger = MemoryLedger()
    if price.rho is not None:
        ledger.count_as(Accounting.of("zcdp", DELTA))
    return ledger


def question(setting: Setting, price: Price, records: Records, places: Any = None) -> RangeQuery:
    """Return the question that a setting stands for."""
    said: dict[str, Any] = dict(price.said)
    if setting.kind in ("sum", "avg"):
        said |= {"attribute": "fare", "clip": CLIP, "resolution": 1.0, "signed": setting.signed}
    if setting.shape == "series":
        said |= {"since": 0, "until": 4 * HOUR, "every": "1h"}
    if places is None:
        places = MAP.grid(2, 2) if setting.shape == "map" else RANGE
    return range_query(
        setting.kind, places, epsilon=price.epsilon, details=said, records=records, public_map=MAP  # type: ignore[arg-type]
    )  # fmt: skip


def method_details(method: str, setting: Setting) -> Details:
    """Return how a method is asked for, so that its noise is the least that it promises: nobody drops out."""
    if method == "dp":
        return {"method": "dp"}
    masked: Details = {"colluders": COLLUDERS, "dropouts": 0.0}
    if method in ("cohorts", "mpc"):
        return {"method": method, "cohort_size": MEMBERS, **masked}
    return {"method": "fedgroup", "plan": _one_group(setting), "in_group": method, **masked}


def _one_group(setting: Setting) -> Plan:
    """Return a plan that puts all owners into one group, and cost nothing."""
    told = {
        "domain": list(MAP.domain.sides),
        "lonlat": False,
        "protection": str(setting.protection),
        "graph": "topcell",
    }
    partition = Partition(np.zeros(MEMBERS, dtype=np.int32), np.zeros(1, dtype=np.bool_))
    return Plan(np.arange(MEMBERS), Grouping(partition, told, NOTHING, "none is needed", private=True), "audit")


class Answers:
    """The answers to some questions, each asked once a draw, as the provider sees them, and colluders with it."""

    def __init__(
        self, setting: Setting, records: Records, *, method: str, price: Price, noise: NoiseSource,
        places: tuple[Any, ...] = (None,),
    ) -> None:  # fmt: skip
        self._noise = Overheard(noise)
        self._ledger = ledger_for(price)
        self._protection = setting.protection
        self._owners = DataOwners(records, MAP, protection=setting.protection, ledger=self._ledger, noise=self._noise)
        masks = MaskRoom(len(records.owners), seed=None)
        self._how = choose_method(method_details(method, setting), owners=records.owners, masks=masks)
        self._queries = [question(setting, price, records, each) for each in places]
        self.draw(1)
        self.charge = float(self._ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many outcomes: a row of numbers for each."""
        found = [self._drawn(min(_AT_ONCE, times - first)) for first in range(0, times, _AT_ONCE)]
        return np.concatenate(found)

    def close(self) -> None:
        """Forget the ledger."""
        self._ledger.close()

    def _drawn(self, times: int) -> Numbers:
        columns = []
        for query in self._queries:
            charges = charges_of(query, self._how, times=times, protection=self._protection)
            answers, _ = self._owners.answer(query, self._how.terms, charges=charges, times=times)
            columns.append([self._seen(answer, query) for answer in answers])
        return np.hstack([np.array(each, dtype=np.float64) for each in columns])

    def _seen(self, answer: NoisyAnswers, query: RangeQuery) -> npt.NDArray[Any]:
        if answer.masked is None:
            return np.concatenate([answer.parts[part] for part in query.parts])
        return self._with_colluders(answer.masked, query)

    def _with_colluders(self, answer: MaskedAnswers, query: RangeQuery) -> npt.NDArray[Any]:
        """Return the sum of the honest members, and what the one that holds the unit sent: masked, it tells nothing."""
        self._noise.taken()
        words = np.concatenate(list(answer.chunks), axis=1)
        shares = np.stack([each.reshape(len(words), query.bins) for each in self._noise.taken()], axis=2)
        known = shares.reshape(len(words), -1)[-COLLUDERS:].sum(axis=0)
        total = words.sum(axis=0, dtype=np.uint64).astype(np.int64) - known
        return np.concatenate([total, words[0].astype(np.int64)])


class Vectors:
    """Owners' noisy vectors over a grid, as the provider gets them."""

    def __init__(self, setting: Setting, records: Records, *, price: Price, noise: NoiseSource) -> None:
        self._ledger = ledger_for(price)
        self._owners = DataOwners(records, MAP, protection=setting.protection, ledger=self._ledger, noise=noise)
        self._epsilon = Epsilon.of(price.epsilon or 0)
        self.draw(1)
        self.charge = float(self._ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many vectors of the first owner."""
        charge = Charge(self._epsilon, "setup", "noisy vectors")
        grid = MAP.grid(2, 2)
        found = [self._owners.describe(grid, epsilon=self._epsilon, charge=charge).values[0] for _ in range(times)]
        return np.array(found, dtype=np.float64)

    def close(self) -> None:
        """Forget the ledger."""
        self._ledger.close()


class _Listening(Provider):
    """A provider that remembers the noisy vectors of the first owner."""

    heard: npt.NDArray[Any]

    def group(self, vectors: NoisyVectors, *args: Any, **more: Any) -> Grouping:
        """Group as ever."""
        self.heard = vectors.values[0]
        return super().group(vectors, *args, **more)

    def group_compared(self, vectors: NoisyVectors | None, *args: Any, **more: Any) -> Grouping:
        """Group as ever."""
        self.heard = np.zeros(0) if vectors is None else vectors.values[0]
        return super().group_compared(vectors, *args, **more)


class Plans:
    """Plans by one graph: the noisy vectors that they are made of, and who got into the group of the first owner.

    Where owners are compared, who is with whom is exact and no epsilon is promised for it: vectors are seen only.
    """

    def __init__(self, setting: Setting, records: Records, *, graph: str, price: Price, noise: NoiseSource) -> None:
        self._ledger = ledger_for(price)
        self._provider = _Listening()
        parts: dict[str, Any] = {"protection": setting.protection, "ledger": self._ledger}
        owners = DataOwners(records, MAP, noise=noise, **parts)
        masks = MaskRoom(len(records.owners), seed=None)
        self._planner = Planner(
            records, MAP, owners=owners, provider=self._provider, masks=masks, private=True, raising=False, **parts
        )
        self._settings = settings_said({"graph": graph, "threshold": 0.5}, records.owners)
        self._epsilon = price.epsilon
        self.draw(1)
        self.charge = float(self._ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many plans."""
        return np.array([self._drawn() for _ in range(times)], dtype=np.float64)

    def close(self) -> None:
        """Forget the ledger."""
        self._ledger.close()

    def _drawn(self) -> npt.NDArray[Any]:
        made = self._planner.plan(self._settings, (2, 2), self._epsilon)
        if self._settings.kind.compares:
            return self._provider.heard
        labels = made.partition.labels
        return np.concatenate([self._provider.heard, labels[1:] == labels[0]])


class PublishedMaps:
    """Whole publications: their coarse grid and blocks, and the cells in which the unit may lie."""

    def __init__(self, setting: Setting, records: Records, *, price: Price, noise: NoiseSource) -> None:
        self._ledger = ledger_for(price)
        parts: dict[str, Any] = {"protection": setting.protection, "ledger": self._ledger}
        masks = MaskRoom(len(records.owners), seed=None)
        self._publisher = Publisher(
            records, MAP,
            owners=DataOwners(records, MAP, noise=noise, **parts), provider=Provider(), private=True,
            methods=ReadyMethods(records, MAP, protection=setting.protection, masks=masks),
            name_question=lambda *_: "", **parts,
        )  # fmt: skip
        said: dict[str, Any] = {"method": "dp", "records": 20}
        if setting.kind == "sum":
            said |= {"attribute": "fare", "clip": CLIP, "resolution": 1.0}
        self._planned = self._publisher.planned(setting.kind, price.epsilon, said)
        self.draw(1)
        self.charge = float(self._ledger.spent())

    def draw(self, times: int) -> Numbers:
        """Return so many publications."""
        return np.array([self._drawn() for _ in range(times)], dtype=np.float64)

    def close(self) -> None:
        """Forget the ledger."""
        self._ledger.close()

    def _drawn(self) -> npt.NDArray[Any]:
        going, _, _ = self._publisher.asked(self._planned)
        coarse, blocks, cells = (each.counts for each in going.released)
        places = np.array([1.0, 1.0]), np.array([1.0, 3.0])
        return np.concatenate([coarse, blocks, cells[going.cut.cell_of(*places)]])


Opened = Callable[[Records, NoiseSource], View]


def opened_with(kind: Any, setting: Setting, *, owners: int, **how: Any) -> Callable[[Any, NoiseSource], View]:
    """Return what opens a view of a world that somebody's records make."""

    def view(seen: Any, noise: NoiseSource) -> View:
        records = table(seen, setting.shape, owners=owners, subjects=setting.protection.subjects)
        made: View = kind(setting, records, noise=noise, **how)
        return made

    return view
