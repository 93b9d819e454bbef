"""`fedgroup ledger`: what was asked, and what it cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OutputOptions
from fedgroup.cli.output import print_json, result
from fedgroup.errors import InvalidInput


@grouped
def ledger(
    file: Annotated[Path, typer.Argument(help="the ledger", show_default=False)],
    output: OutputOptions,
    new_epoch: Annotated[
        bool,
        typer.Option(
            "--new-epoch", help="begin an epoch with fresh balances; a record that lives on is protected at the sum"
        ),
    ] = False,
) -> None:
    """Show every question asked, what it cost, and what is left."""
    from fedgroup.privacy.budget import left_of
    from fedgroup.storage.sqlite import SQLiteLedger

    if not file.exists():
        raise InvalidInput(f"there is no ledger {file}; 'fedgroup count ... --ledger {file}' makes one")
    opened = SQLiteLedger(file)
    if new_epoch:
        opened.begin_epoch()
    spent, cap = opened.spent(), opened.cap
    left = left_of(cap, spent)
    lines = opened.entries()
    if output.json:
        print_json(
            {
                "epoch": opened.epoch,
                "budget": None if cap is None else float(cap),
                "spent": float(spent),
                "left": None if left is None else float(left),
                "entries": [
                    {"at": e.at, "epoch": e.epoch, "purpose": e.purpose, "question": e.question,
                     "epsilon": float(e.epsilon), "owners": "all" if e.owners is None else e.owners}
                    for e in lines
                ],
            }
        )  # fmt: skip
        return
    from rich.table import Table

    table = Table("when", "epoch", "purpose", "question", "epsilon", "owners")
    for e in lines:
        table.add_row(
            e.at, str(e.epoch), e.purpose, e.question, str(e.epsilon), "all" if e.owners is None else f"{e.owners:,}"
        )
    result.print(table)
    result.print(
        f"epoch {opened.epoch}: spent {spent} of {'no budget' if cap is None else cap}"
        + ("" if left is None else f", {left} left")
    )
