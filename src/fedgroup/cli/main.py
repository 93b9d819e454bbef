"""The `fedgroup` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fedgroup.cli import demo, experiment, group, ledger, query, synthesize
from fedgroup.errors import FedgroupError

app = typer.Typer(
    name="fedgroup",
    help="Differentially private counts over many owners' location records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("synthesize")(synthesize.synthesize)
app.command("group")(group.group)
app.command("count")(query.count)
app.command("sum")(query.sum_)
app.command("avg")(query.avg)
app.command("ledger")(ledger.ledger)
app.command("experiment")(experiment.experiment)


@app.callback()
def version(show: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False) -> None:
    """Differentially private counts over many owners' location records."""
    if show:
        from fedgroup import __version__

        typer.echo(f"fedgroup {__version__}")
        raise typer.Exit


def main() -> None:
    """Run a command; an error becomes one sentence on stderr and an exit code."""
    try:
        app()
    except FedgroupError as error:
        typer.echo(f"fedgroup: {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
