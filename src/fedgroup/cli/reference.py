"""The command reference in docs/reference/cli.md, written from the commands themselves (`make docs`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from fedgroup.cli.options import OPTIONS

HEAD = """# Command reference

Written from the commands by `make docs`; a test keeps it true. Commands with a result take `--json` (one JSON object on
stdout, talk and progress on stderr). Exit codes: 0 done, 2 misuse, 3 refused by a budget, 75 try later.
"""

ARGUMENTS = "Arguments"


def reference() -> str:
    """Return the reference as Markdown."""
    from fedgroup.cli.main import app

    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    return "\n".join([HEAD, *(line for name in commands for line in _section(name, commands[name]))])


def _section(name: str, command: Any) -> Iterator[str]:
    for inner, each in getattr(command, "commands", {}).items():
        yield from _section(f"{name} {inner}", each)
    if hasattr(command, "commands"):
        return
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    shown = " ".join(_metavar(argument) for argument in arguments)
    yield f"## fedgroup {name}\n"
    yield f"`fedgroup {name} {shown}`".replace(" `", "`") + f": {_sentence(command.help)}\n"
    panels: dict[str, list[str]] = {} if not arguments else {ARGUMENTS: []}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            panels.setdefault(_panel(parameter), []).append(_row(parameter))
    for panel, rows in panels.items():
        if len(panels) > 1:
            yield f"**{panel}**\n"
        yield "\n".join(["| option | meaning | default |", "|---|---|---|", *rows, ""])


def _panel(parameter: Any) -> str:
    """Return under which heading the help shows a parameter."""
    plain = ARGUMENTS if parameter.param_type_name == "argument" else OPTIONS
    return getattr(parameter, "rich_help_panel", None) or plain


def _row(parameter: Any) -> str:
    text = _sentence(getattr(parameter, "help", None)).replace("|", "\\|")
    default = "" if parameter.default in (None, False) or parameter.required else f"`{parameter.default}`"
    if parameter.param_type_name == "argument":
        return f"| `{_metavar(parameter)}` | {text} | required |"
    flag = getattr(parameter, "is_flag", False)
    spelled = parameter.opts[0] if flag else f"{parameter.opts[0]} {_metavar(parameter)}"
    return f"| `{spelled}` | {text} | {'required' if parameter.required else default} |"


def _metavar(parameter: Any) -> str:
    return parameter.metavar or str(parameter.name).upper()


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    sys.stdout.write(reference())
