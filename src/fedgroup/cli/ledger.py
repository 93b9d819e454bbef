"""`fedgroup ledger`: what was asked, what it cost, and what windows of time cost so far."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, flag, option
from fedgroup.cli.output import print_json, print_table, result
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.epsilon import Epsilon
    from fedgroup.privacy.budget import Entry
    from fedgroup.privacy.windows_left import Windowed
    from fedgroup.rho import Delta, Rho
    from fedgroup.storage.hosted_ledger import HostedLedger
    from fedgroup.storage.sqlite import SQLiteLedger

PATIENCE_S = 1.0
"""How long to wait for a ledger that somebody locked, before saying so."""
MOST_SHOWN = 50
"""So many stretches of windows are shown to people, the latest; programs get all."""

_EFFECTIVE = os.access in os.supports_effective_ids


@grouped
def ledger(
    file: Annotated[Path, argument("the ledger", "FILE")],
    output: OutputOptions,
    new_epoch: Annotated[
        bool,
        flag(
            OPTIONS, "--new-epoch", "begin an epoch with fresh balances; a record that lives on is protected at the sum"
        ),
    ] = False,
    backup: Annotated[
        Path | None, option(OPTIONS, "--backup", "write a consistent copy to a new file, while owners go on", "OUT")
    ] = None,
    of: Annotated[
        str | None, option(OPTIONS, "--of", "whose ledger is shown, of a file that many owners share", "OWNER")
    ] = None,
) -> None:
    """Show every question asked, what it cost, and what is left."""
    if backup is not None and new_epoch:
        raise InvalidInput("--backup copies a ledger as it is; begin an epoch in a command of its own")
    with closing(_opened(file, of, to_change=new_epoch)) as opened:
        if backup is not None:
            opened.backup(backup)
            _print_copied(file, backup, as_json=output.json)
            return
        if new_epoch:
            opened.begin_epoch()
        epoch, cap, spent, entries = opened.epoch, opened.cap, opened.spent(), opened.entries()
        left, left_rho, accounting = opened.left(), opened.left_rho(), opened.accounting
        windows = _windows_of(opened)
    if output.json:
        totals = {"epoch": epoch, "budget": _amount(cap), "spent": float(spent), "left": _amount(left)}
        counted = {"accounting": accounting.kind, "delta": _amount(accounting.delta), "left_rho": _amount(left_rho)}
        print_json(totals | counted | {"windows": windows, "entries": [_facts(entry) for entry in entries]})
        return
    _print_entries(entries, counts_rho=accounting.delta is not None)
    rest = f"{left} left" if left_rho is None else f"rho {left_rho} left, or one question of epsilon {left}"
    balance = f"spent {spent}, nothing is capped" if cap is None else f"spent {spent} of {cap}, {rest}"
    told = "" if accounting.delta is None else f" (accounting {accounting})"
    result.print(f"epoch {epoch}: {balance}{told}")
    if windows is not None:
        _print_windows(windows)


def _opened(file: Path, of: str | None, *, to_change: bool) -> SQLiteLedger | HostedLedger:
    """Return the ledger; one that may not be written can be looked at all the same."""
    from fedgroup.storage.hosted_file import is_hosted
    from fedgroup.storage.sqlite import SQLiteLedger

    if not file.exists():
        raise InvalidInput(f"there is no ledger {file}; 'fedgroup count ... --ledger {file}' makes one")
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder; give the ledger's file")
    writable = all(os.access(place, os.W_OK, effective_ids=_EFFECTIVE) for place in (file, file.absolute().parent))
    read_only = not (writable or to_change)
    if is_hosted(file):
        return _shared(file, of, read_only=read_only)
    if of is not None:
        raise InvalidInput(f"{file} is the ledger of one owner; --of is for a file that many share")
    return SQLiteLedger(file, busy_seconds=PATIENCE_S, read_only=read_only)


def _shared(file: Path, of: str | None, *, read_only: bool) -> HostedLedger:
    from fedgroup.storage.hosted_file import HostedFile
    from fedgroup.storage.hosted_ledger import HostedLedger

    opened = HostedFile(file, busy_seconds=PATIENCE_S, flushed_later=False, read_only=read_only)
    holders = opened.holders()
    if of not in holders:
        some = ", ".join(holders[:3]) + (", ..." if len(holders) > 3 else "")
        opened.close()
        raise InvalidInput(f"{file} holds the ledgers of {len(holders):,} owners: {some}; say whose with --of OWNER")
    return HostedLedger(opened, of)


def _print_copied(file: Path, copy: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"ledger": str(file), "backup": str(copy)})
    else:
        result.print(f"{copy} is a copy of {file} as it was now; what is charged later is not in it")


def _facts(entry: Entry) -> dict[str, Any]:
    return {
        "at": entry.at,
        "epoch": entry.epoch,
        "purpose": entry.purpose,
        "question": entry.question,
        "epsilon": float(entry.epsilon),
        "rho": _amount(entry.rho),
        "owners": "all" if entry.owners is None else entry.owners,
    }


def _print_entries(entries: list[Entry], *, counts_rho: bool) -> None:
    from rich.table import Table

    table = Table("when", "epoch", "purpose", "question", "epsilon", *(["rho"] if counts_rho else []), "owners")
    for entry in entries:
        owners = "all" if entry.owners is None else f"{entry.owners:,}"
        price = [str(entry.epsilon), *(["" if entry.rho is None else str(entry.rho)] if counts_rho else [])]
        table.add_row(entry.at, str(entry.epoch), entry.purpose, entry.question, *price, owners)
    print_table(table)


def _windows_of(ledger: Windowed) -> dict[str, Any] | None:
    """Return the budget of a ledger's windows and what they cost, None if it has none."""
    from fedgroup.epsilon import NANO
    from fedgroup.privacy.windows import length_in_words
    from fedgroup.privacy.windows_left import instant_in_words, windows_left
    from fedgroup.rho import PICO

    known = windows_left(ledger)
    if known is None:
        return None
    budget, accounting = known.budget, known.accounting
    counted, unit = ("epsilon", NANO) if accounting.delta is None else ("rho", PICO)
    stretches = [
        {
            "since": instant_in_words(each.since),
            "until": instant_in_words(each.until),
            "spent": each.spent,
            "left": each.left,
        }
        for each in known.stretches
    ]
    return {
        "per": length_in_words(budget.length),
        "windows": budget.count,
        "cap": float(budget.cap),
        "counted": counted,
        "may_count": accounting.units_within(budget.cap) / unit,
        "every": known.spent.every / unit,
        "spent": stretches,
    }


def _print_windows(shown: dict[str, Any]) -> None:
    """Print what windows cost, the latest at the end."""
    from rich.table import Table

    table = Table("window", "until", f"{shown['counted']} in each", "left")
    for stretch in shown["spent"][-MOST_SHOWN:]:
        table.add_row(stretch["since"], stretch["until"], f"{stretch['spent']:.12g}", f"{stretch['left']:.12g}")
    if shown["spent"]:
        print_table(table)
    many = "any window" if shown["windows"] == 1 else f"any {shown['windows']} consecutive windows"
    may = "" if shown["counted"] == "epsilon" else f", which is rho {shown['may_count']:.12g}"
    told = f"{many} of {shown['per']} may cost {shown['cap']:g} together{may}"
    result.print(f"{told}; every window was charged {shown['every']:.12g}, those above the sum that they show")


def _amount(amount: Epsilon | Rho | Delta | None) -> float | None:
    return None if amount is None else float(amount)
