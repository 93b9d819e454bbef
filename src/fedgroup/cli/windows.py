"""What windows of time cost so far, as a ledger shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedgroup.cli.output import print_table, result

if TYPE_CHECKING:
    from fedgroup.privacy.windows_left import Windowed

MOST_SHOWN = 50
"""So many stretches of windows are shown to people, the latest; programs get all."""


def shown_windows(ledger: Windowed) -> dict[str, Any] | None:
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
