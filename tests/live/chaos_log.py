"""Whether the provider's public log is whole after all that was killed, and every owner's ledger agrees with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos_books import PLAN, Asked

from fedgroup.errors import WrongLog
from fedgroup.identity import Trust
from fedgroup.live.agreement import agreement
from fedgroup.live.verifying import LogRead, read_log
from fedgroup.storage.hosted_file import is_hosted

LOG_FILE = "provider.log.jsonl"


@dataclass
class LogLooked:
    """What `fedgroup verify` finds in the log; `faults` is empty if it holds, and so do the ledgers beside it."""

    read: LogRead = field(default_factory=LogRead)
    ledgers: int = 0
    charges: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = f"the public log holds: {len(self.read.heads):,} entries, {self.read.answered:,} answers"
        return f"{told}; {self.ledgers} ledgers with {self.charges:,} charges agree with it"


def look_at_log(folder: Path, ledgers: Mapping[str, Path]) -> LogLooked:
    """Verify a federation's log, and hold the ledger of each owner against it; nobody runs any more."""
    found = LogLooked()
    try:
        with (folder / LOG_FILE).open("rb") as lines:
            found.read = read_log(lines, trust=Trust.load(folder / "authority"))
    except WrongLog as error:
        found.faults.append(f"the public log: {error}")
        return found
    for name, file in ledgers.items():
        try:
            agreed = agreement(found.read, file, of=name if is_hosted(file) else None)
        except WrongLog as error:
            found.faults.append(f"the ledger of {name} beside the public log: {error}")
            continue
        found.ledgers += 1
        found.charges += agreed.charges
        if agreed.before or agreed.forks:
            found.faults.append(f"{name} has {agreed.before} charges of no entry, and saw {agreed.forks} forks")
    return found


def wrong_in_log(looked: LogLooked, all_asked: Sequence[Asked]) -> Iterator[str]:
    """Yield what does not add up between the log and what users were told."""
    yield from looked.faults
    answers = sum(asked.fresh and asked.method != PLAN for asked in all_asked)
    if not looked.faults and looked.read.answered < answers:
        yield f"users got {answers} answers, and the public log tells of {looked.read.answered}"
