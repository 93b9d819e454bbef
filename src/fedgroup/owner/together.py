"""Answers that share transactions: each is a generator that says what it needs of its owner's ledger next.

It asks what was said earlier in a round, to be charged, and to have its reply kept; it counts between the last two.
What several answers need at the same time is done in one transaction of the file that their ledgers are in: answers of
one owner, or of all owners whose ledgers share a file.

Guarantee: an answer goes on only after what it asked for was done, and is in the file. So none counts before it is
           charged, and one that the budget does not cover, or that fails, holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fedgroup.owner.node_parts import RoundLedger
from fedgroup.privacy.budget import Charge


@dataclass(frozen=True)
class Earlier:
    """What was said earlier in a round? The reply, empty if it was charged and has none; None for a new one."""

    round: bytes


@dataclass(frozen=True)
class Begin:
    """Charge a round; tell whether it is new. One that the budget does not cover gets `BudgetExhausted`."""

    round: bytes
    charge: Charge
    snapshot: str


@dataclass(frozen=True)
class Keep:
    """Keep the reply of a round that was charged; return the one that stays."""

    round: bytes
    reply: bytes


Need = Earlier | Begin | Keep
Result = TypeVar("Result")
Answering = Generator[Need, Any, Result]


@dataclass(frozen=True)
class Answers(Generic[Result]):
    """What leads to the replies to some messages; of questions to an owner `alone`, one each, with their rounds."""

    several: list[Answering[Result]]
    rounds: frozenset[bytes] = frozenset()

    @property
    def alone(self) -> bool:
        return bool(self.rounds)


def answered(one: Answering[Result], ledger: RoundLedger) -> Result:
    """Return what an answer comes to, or raise what it raises."""
    return all_answered([one], ledger)[0]


def all_answered(several: Iterable[Answering[Result]], ledger: RoundLedger) -> list[Result]:
    """Return what answers of one owner come to, or raise what one of them raises."""
    return require_answers(answered_together([(one, ledger) for one in several]))


def require_answers(found: Iterable[Result | Exception]) -> list[Result]:
    """Return what answers came to, or raise what the first that failed raised."""
    came: list[Result] = []
    for each in found:
        if isinstance(each, Exception):
            raise each
        came.append(each)
    return came


def answered_together(several: Sequence[tuple[Answering[Result], RoundLedger]]) -> list[Result | Exception]:
    """Return what answers come to, each with its own ledger; who waits for a charge is charged before any counts.

    Of an answer that raises something that is returned: it holds up no other.
    """
    found: dict[int, Result | Exception] = {}
    needs: dict[int, Need] = {}

    def go_on(at: int, resume: Callable[..., Need], *given: Any) -> None:
        try:
            needs[at] = resume(*given)
        except StopIteration as end:
            found[at] = end.value
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            found[at] = error
        except BaseException as error:  # a compiled module that panics
            found[at] = RuntimeError(type(error).__name__)

    for at, (one, _) in enumerate(several):
        go_on(at, one.__next__)
    while needs:
        for kind in (Begin, Earlier, Keep):
            alike = {at: needs.pop(at) for at, need in list(needs.items()) if isinstance(need, kind)}
            for at, given in _done(alike, several).items():
                one = several[at][0]
                go_on(at, one.throw if isinstance(given, Exception) else one.send, given)
    return [found[at] for at in range(len(several))]


def in_turn(several: Iterable[Answering[Result]]) -> Answering[list[Result]]:
    """Return what answers come to, each begun when the one before it has ended."""
    found: list[Result] = []
    for one in several:
        found.append((yield from one))
    return found


def _done(needs: Mapping[int, Need], several: Sequence[tuple[Any, RoundLedger]]) -> dict[int, Any]:
    """Return what is given for each of these needs, which are of one kind; an error of a file is for all in it."""
    files: dict[int, dict[int, list[int]]] = {}
    for at in needs:
        ledger = several[at][1]
        files.setdefault(id(_file_of(ledger)), {}).setdefault(id(ledger), []).append(at)
    done: dict[int, Any] = {}
    for ledgers in files.values():
        all_of_file = [at for same in ledgers.values() for at in same]
        try:
            found = _looked_up([several[at][1] for at in all_of_file], [needs[at] for at in all_of_file])
            if found is not None:
                done |= zip(all_of_file, found, strict=True)
                continue
            with _transaction(several[all_of_file[0]][1], needs[all_of_file[0]]):
                for same in ledgers.values():
                    done |= zip(same, _given([needs[at] for at in same], several[same[0]][1]), strict=True)
        except Exception as error:
            done |= dict.fromkeys(all_of_file, error)
    return done


def _looked_up(ledgers: Sequence[Any], needs: Sequence[Need]) -> Sequence[bytes | None] | None:
    """Return what was said earlier, by one look for all ledgers of a file; None where that is not what they need."""
    together = getattr(ledgers[0], "kept_by_several", None)
    rounds = [need.round for need in needs if isinstance(need, Earlier)]
    return together(list(zip(ledgers, rounds, strict=True))) if together is not None and rounds else None


def _file_of(ledger: RoundLedger) -> object:
    return getattr(ledger, "disk", ledger)


def _transaction(ledger: RoundLedger, need: Need) -> AbstractContextManager[Any]:
    """Return one transaction for all ledgers of a file, where it has many; to look something up takes none."""
    together = getattr(ledger, "together", None)
    return nullcontext() if together is None or isinstance(need, Earlier) else together()


def _given(needs: Sequence[Any], ledger: RoundLedger) -> Sequence[Any]:
    """Return what one owner's ledger gives; an error of the ledger is for all that the owner needs."""
    try:
        match needs[0]:
            case Earlier():
                return ledger.kept_replies([each.round for each in needs])
            case Begin():
                begun = ledger.begin_rounds([(each.round, each.charge, each.snapshot) for each in needs])
                return [new if error is None else error for new, error in begun]
        return ledger.keep_replies([(each.round, each.reply) for each in needs])
    except Exception as error:
        return [error] * len(needs)
