"""What windows of time cost so far, as a ledger shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedgroup.cli.output import print_table, result

if TYPE_CHECKING:
    from fedgroup.privacy.budget import Ledger
    from fedgroup.storage.hosted_ledger import HostedLedger

MOST_SHOWN = 50
"""So many stretches of windows are shown to people, the latest; programs get all."""


def shown_windows(ledger: Ledger | HostedLedger) -> dict[str, Any] | None:
    """Return the budget of a ledger's windows and what they cost, None if it has none."""
    from fedgroup.epsilon import NANO
    from fedgroup.privacy.windows import length_in_words
    from fedgroup.rho import PICO

    budget, spent, accounting = ledger.window_budget, ledger.windows_spent(), ledger.accounting
    if budget is None:
        return None
    counted, unit = ("epsilon", NANO) if accounting.delta is None else ("rho", PICO)
    most = accounting.units_within(budget.cap)

    def left(first: int, last: int) -> float:
        """Return what one release that counts in one of these windows may still cost, in the dearest of them."""
        return max(0, most - spent.most_in_a_row(budget.count, first, last)) / unit

    stretches = [
        {
            "since": _instant(budget.begin_of(first)),
            "until": _instant(budget.begin_of(last + 1)),
            "spent": units / unit,
            "left": left(first, last),
        }
        for first, last, units in spent.spread()
    ]
    return {
        "per": length_in_words(budget.length),
        "windows": budget.count,
        "cap": float(budget.cap),
        "counted": counted,
        "may_count": most / unit,
        "every": spent.every / unit,
        "spent": stretches,
    }


def print_windows(shown: dict[str, Any]) -> None:
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


def _instant(microseconds: int) -> str:
    """Return a time as ISO text; beyond the years that can be written, where windows go on for ever."""
    from datetime import UTC, datetime, timedelta

    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()
    except OverflowError:
        return "the beginning" if microseconds < 0 else "for ever"
