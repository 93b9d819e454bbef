"""`fedgroup ask standing`: which windows of standing maps are published, and what comes next."""

from __future__ import annotations

from typing import Annotated

from fedgroup.cli.access import ServiceOptions, find_access
from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, option
from fedgroup.cli.output import print_json, print_table, result


@grouped
def standing(
    service: ServiceOptions,
    output: OutputOptions,
    last: Annotated[int, option(OPTIONS, "--last", "show the latest N windows of each", "N")] = 10,
) -> None:
    """Show the standing maps of a running federation: their windows, the latest first; nothing is charged."""
    from rich.table import Table

    from fedgroup.service.client import connect

    access = find_access(service)
    with connect(access.url, access.token, ca=access.ca) as federation:
        found = federation.standing(limit=last)
    if output.json:
        print_json({"standing": found})
        return
    for each in found:
        table = Table("window", "until", "state", "map", title=f"{each['name']}, every {each['every']}")
        for window in each["windows"]:
            told = window["map"] or window["why"] or ""
            table.add_row(window["since"], window["until"], window["state"], told)
        print_table(table)
        coming = each["next"]
        waits = f"; it waits: {coming['waits_for']}" if coming["waits_for"] else ""
        result.print(f"next: {coming['since']} until {coming['until']}, asked for at {coming['due_at']}{waits}")
    if not found:
        result.print("this federation has no standing maps")
