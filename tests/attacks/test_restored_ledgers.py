"""Who copies a ledger, asks, puts the copy back and asks again learns little more than the budget, and only unnoticed.

What it may learn is the cap and, each time that its copy goes unnoticed, `mark_every` of the owner's file, here a tenth
of the cap. It writes any file but the marks, ends the owner without a farewell, and asks what it likes. Of the
provider's file it may put back any copy: what users spent is forgotten, and what owners spent is not.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answering import answering
from fedgroup.epsilon import Epsilon
from fedgroup.errors import BudgetExhausted, FedgroupError, InvalidInput
from fedgroup.live.config import OwnerConfig, read_config
from fedgroup.live.desk import Desk
from fedgroup.live.hosting import hosting
from fedgroup.live.ledgers import open_ledger, take_restored
from fedgroup.live.provider import LiveProvider
from fedgroup.live.settings import LiveSettings
from fedgroup.live.trial import make_trial
from fedgroup.messages.asked import Ask
from fedgroup.messages.said import Noisy, Refused
from fedgroup.messages.wire_query import WireQuery
from fedgroup.owner.node import PROVIDER, OwnerNode
from fedgroup.owner.policy import Policy
from fedgroup.owner.records import Records
from fedgroup.owner.table_silo import TableSilo
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.sensitivity import Protection
from fedgroup.questions.query import RangeQuery
from fedgroup.space import Box, Circle, PublicMap
from fedgroup.storage.hosted_file import HostedFile
from fedgroup.storage.owner_ledger import OwnerLedger
from fedgroup.storage.provider_state import ProviderState
from fedgroup.transport.codec import decode, encode
from fedgroup.transport.memory import MemoryHub
from owner_keys import Keys, believed

MAP = PublicMap(Box(0, 0, 10, 10))
CAP, PRICE = 10.0, Epsilon.of(0.1)
AT_MOST = Epsilon.of(CAP / 10)
ROUNDS = itertools.count()


def node_with(ledger: Any, name: str) -> OwnerNode:
    place = np.full(20, 5.0)
    silo = TableSilo(Records(owner=np.zeros(20, dtype=np.int64), x=place, y=place), MAP)
    return OwnerNode(
        Keys(name), silo, public_map=MAP, protection=Protection(), policy=Policy(), ledger=ledger, noise=SecureNoise(),
        verify=believed, encode=encode,
    )  # fmt: skip


def question(round_id: bytes | None = None) -> Ask:
    name = next(ROUNDS).to_bytes(16, "big") if round_id is None else round_id
    return Ask(name, WireQuery.of(RangeQuery("count", MAP.grid(6, 6), PRICE)), None, 60_000)


def said(node: OwnerNode, ask: Ask) -> bytes | str:
    """What an owner says to a question: the bytes of its answer, or the reason of its refusal."""
    ((_, payload),) = node.receive(PROVIDER, ask)
    answer = decode(payload, (Noisy, Refused))
    return answer.reason if isinstance(answer, Refused) else payload


class Attacked:
    """Two owners, whose ledgers the attacker copies and puts back; each has one of its own, or both are in one file."""

    def __init__(self, folder: Path, *, hosted: bool) -> None:
        self._hosted = hosted
        self.files = make_trial(folder, owners=2, seed=1, cap=CAP, hosts=int(hosted)).owners
        self.names = [file.parent.name for file in self.files]
        own = self.files[0].with_name("ledger.db")
        self.ledger = folder / "hosts" / "0" / "ledgers.db" if hosted else own
        self._copy = folder / "copy.db"

    @property
    def configs(self) -> list[OwnerConfig]:
        return [read_config(file, OwnerConfig) for file in self.files]

    @contextmanager
    def living(self, *, new: bool = False) -> Iterator[list[OwnerNode]]:
        """Start the owners; they end without a farewell, as by kill -9: no mark is written then."""
        if self._hosted:
            with asyncio.Runner() as runner:
                opening = hosting(self.configs, self.names, new_ledger=new)
                _, ledgers = runner.run(opening.__aenter__())
                try:
                    yield [node_with(ledgers[name], name) for name in self.names]
                finally:
                    runner.run(opening.__aexit__(None, None, None))
            return
        with ExitStack() as stack:
            nodes = []
            for config, name in zip(self.configs, self.names, strict=True):
                ledger = open_ledger(config, holder=name, new_ledger=new).ledger
                stack.callback(ledger.close)
                nodes.append(node_with(ledger, name))
            yield nodes

    def copy(self) -> None:
        with closing(HostedFile(self.ledger) if self._hosted else OwnerLedger(self.ledger)) as ledger:
            self._copy.unlink(missing_ok=True)
            ledger.backup(self._copy)

    def put_back(self) -> None:
        self.remove()
        shutil.copy(self._copy, self.ledger)

    def remove(self) -> None:
        for file in self.ledger.parent.glob(f"{self.ledger.name}*"):
            file.unlink()

    def notices(self) -> bool:
        """Tell whether the owners refuse to start, even if they may begin new ledgers."""
        noticed = set()
        for new in (False, True):
            try:
                with self.living(new=new):
                    noticed.add(False)
            except InvalidInput as error:
                noticed.add("--restored-ledger" in str(error))
        (answer,) = noticed
        return answer


@pytest.fixture(params=[False, True], ids=["own", "hosted"])
def attacked(tmp_path: Path, request: pytest.FixtureRequest) -> Attacked:
    """Owners that were started once, and asked nothing; the attacker has a copy of that."""
    made = Attacked(tmp_path / "city", hosted=request.param)
    with made.living(new=True):
        pass
    made.copy()
    return made


def learn_and_put_back(attacked: Attacked, answers: int) -> Epsilon:
    """Let the first owner answer so often, and its ledger forget it; return what was learnt."""
    with attacked.living() as (ann, _):
        assert all(isinstance(said(ann, question()), bytes) for _ in range(answers))
    attacked.put_back()
    return Epsilon(answers * PRICE.nano)


def test_of_what_is_learnt_over_and_over_at_most_what_the_owner_allows_goes_unnoticed_each_time(
    attacked: Attacked,
) -> None:
    for _ in range(3):
        assert learn_and_put_back(attacked, 10) == AT_MOST
        assert not attacked.notices()
    assert learn_and_put_back(attacked, 11) > AT_MOST
    assert attacked.notices()


def test_once_a_copy_is_noticed_nothing_more_is_learnt_in_its_epoch(attacked: Attacked) -> None:
    learn_and_put_back(attacked, 11)
    take_restored(attacked.configs[0], new_ledger=False)
    with attacked.living() as (ann, bob):
        assert said(ann, question()) == "budget"
        assert (said(bob, question()) == "budget") == attacked._hosted  # of a file, nobody's charges are known


def test_a_round_that_was_forgotten_is_answered_once_more_for_its_price_and_one_that_was_kept_by_the_same_bytes(
    attacked: Attacked,
) -> None:
    ask = question()
    with attacked.living() as (ann, _):
        first = said(ann, ask)
        assert said(ann, ask) == first
    attacked.put_back()
    with attacked.living() as (ann, _):
        second = said(ann, ask)
        assert isinstance(second, bytes)
        assert second != first  # new noise, and what the copy lacked is at most what may be lost
        assert ann.ledger.spent() == PRICE <= AT_MOST  # type: ignore[attr-defined]
    attacked.copy()
    attacked.put_back()
    with attacked.living() as (ann, _):
        assert said(ann, ask) == second
        assert ann.ledger.spent() == PRICE  # type: ignore[attr-defined]


def test_a_ledger_that_is_gone_or_that_of_somebody_else_is_no_fresh_start(attacked: Attacked, tmp_path: Path) -> None:
    attacked.remove()
    assert attacked.notices()
    other = Attacked(tmp_path / "other", hosted=attacked._hosted)
    with other.living(new=True):
        pass
    other.copy()
    shutil.copy(other._copy, attacked.ledger)
    with pytest.raises(InvalidInput), attacked.living():
        pass


def test_a_provider_that_forgets_what_users_spent_gets_no_more_of_an_owner_than_its_cap(tmp_path: Path) -> None:
    file, copy = tmp_path / "provider.db", tmp_path / "copy.db"
    with closing(ProviderState(file)) as state:
        state.add_user("eve", allowance=Epsilon.of(0.3))
        state.backup(copy)
    ledger = OwnerLedger(tmp_path / "ann.db")
    ledger.set_cap(Epsilon.of(1))
    answers, lives = asyncio.run(_provider_forgets(node_with(ledger, "ann"), file, copy))
    assert ledger.spent() == Epsilon.of(1) == Epsilon(answers * PRICE.nano)
    assert lives == 4  # three times eve's allowance of 0.3, and the last 0.1
    ledger.close()


async def _provider_forgets(ann: OwnerNode, file: Path, copy: Path) -> tuple[int, int]:
    """Ask the same question, as eve, as often as anybody lets her; return how many answers, from how many copies."""
    hub, answers, lives = MemoryHub(), 0, 0
    link = hub.owner("ann", ann._identity.der)  # type: ignore[attr-defined]
    owner = answering(ann, link)
    query = RangeQuery("count", Circle(5, 5, 3), PRICE)
    refused = False
    while not refused:
        lives += 1
        shutil.copy(copy, file)
        desk = Desk(hub.provider(), encode=encode, decode=decode, verify=believed)
        listening = asyncio.create_task(desk.listen())
        assert await desk.until_present(1, 60.0)
        with closing(ProviderState(file)) as state:
            provider = LiveProvider(desk, LiveSettings("city", MAP, Protection()), store=state)
            try:
                while True:
                    state.begin("eve", {}, PRICE)
                    await provider.ask(query, method="dp", fresh=True)
                    answers += 1
            except BudgetExhausted:
                pass
            except FedgroupError:  # nobody answers any more
                refused = True
            finally:
                listening.cancel()
    owner.close()
    return answers, lives
