"""Help can be looked through: commands and options stand in panels, and no panel is long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from fedgroup.cli.main import app

MOST = 8


def commands(name: str, found: Any) -> Iterator[Any]:
    inner = getattr(found, "commands", {})
    for each, command in inner.items():
        yield from commands(f"{name} {each}", command)
    if not inner:
        yield pytest.param(found, id=name)


@pytest.mark.parametrize("command", [*commands("fedgroup", typer.main.get_command(app))])
def test_no_panel_of_a_commands_help_is_long(command: Any) -> None:
    shown = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    panels = Counter(each.rich_help_panel or "Options" for each in shown)
    assert {panel: options for panel, options in panels.items() if options > MOST} == {}


def test_commands_stand_in_panels() -> None:
    whole: Any = typer.main.get_command(app)
    panels = Counter(each.rich_help_panel for each in whole.commands.values())
    assert None not in panels
    assert max(panels.values()) <= MOST
