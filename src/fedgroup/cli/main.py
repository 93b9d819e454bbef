"""The `fedgroup` command."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from fedgroup.cli import (
    ask,
    ask_publish,
    audit,
    basemap,
    bench,
    between,
    brokers,
    certificates,
    check,
    demo,
    experiment,
    group,
    index,
    ledger,
    live,
    maps,
    publish,
    query,
    regroup,
    synthesize,
    users,
    verify,
    work,
)
from fedgroup.errors import FedgroupError
from fedgroup.questions.kinds import KINDS

INTERRUPTED = 130
TEXT = "fedgroup: interrupted"

_COMPILER = ("llvmlite", "numba")


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C end the process even while kernels are compiled.

    The compiler calls back from C: an exception raised there is lost, or tears down what C still uses. Nothing of ours
    is half done at that moment, so the process may end at once. Everywhere else Ctrl-C is a KeyboardInterrupt.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(_signal: int, frame: FrameType | None) -> NoReturn:
    if not _compiling(frame):
        raise KeyboardInterrupt
    from fedgroup.cli.output import talk

    talk.show_cursor()
    print(TEXT, file=sys.stderr, flush=True)  # noqa: T201
    os._exit(INTERRUPTED)


def _compiling(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).split(".")[0] in _COMPILER:
            return True
        frame = frame.f_back
    return False


_TRY_LATER = 75

# a recent typer carries its own copy of click and names only this descendant of the class
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class _Command(TyperCommand):
    """A command whose help shows `--help` without a type."""

    def get_help_option(self, ctx: Any) -> Any:
        return _untyped(super().get_help_option(ctx))


class _Group(TyperGroup):
    """A group of commands whose help shows `--help` without a type."""

    def get_help_option(self, ctx: Any) -> Any:
        return _untyped(super().get_help_option(ctx))


app = typer.Typer(
    name="fedgroup",
    cls=_Group,
    help="Differentially private counts over many owners' location records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_LIVE, _PARTY = "A live federation", "Run a party of a live federation"
_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "First steps": {
        "demo": demo.demo,
        "synthesize": synthesize.synthesize,
        "check": check.check,
        "expect": work.expect,
    },
    "Ask about a file": {
        "index": index.index,
        "group": group.group,
        **{name: query.command(kind) for name, kind in KINDS.items()},
        "ledger": ledger.ledger,
    },
    "Maps": {"map": maps.map_, "publish": publish.publish, "read": publish.read, "between": between.between},
    _LIVE: {"up": live.up, "regroup": regroup.regroup, "verify": verify.verify},
    _PARTY: {
        "init": live.init,
        "provider": live.provider,
        "owner": live.owner,
        "broker": brokers.broker,
        "basemap": basemap.basemap,
    },
    "Measure": {"experiment": experiment.experiment, "bench": bench.bench, "audit": audit.audit},
}
_GROUPS: dict[str, tuple[str, str, dict[str, Callable[..., None]]]] = {
    "ask": (
        _LIVE,
        "Ask a running federation.",
        {name: ask.command(kind) for name, kind in KINDS.items()}
        | {
            "map": ask.map_,
            "publish": ask_publish.publish,
            "read": ask_publish.read,
            "standing": ask_publish.standing,
            "between": between.ask_between,
        },
    ),
    "certificates": (
        _PARTY,
        "The federation's own authority, and everybody's keys.",
        {
            "init": certificates.init,
            "request": certificates.request,
            "issue": certificates.issue,
            "revoke": certificates.revoke,
            "list": certificates.list_,
        },
    ),
    "users": (
        _PARTY,
        "The users who may ask a provider.",
        {"add": users.add, "list": users.list_, "remove": users.remove, "backup": users.backup},
    ),
}
for panel, of_panel in _COMMANDS.items():
    for name, command in of_panel.items():
        app.command(name, cls=_Command, rich_help_panel=panel)(command)
for name, (panel, text, commands) in _GROUPS.items():
    group_of_commands = typer.Typer(cls=_Group, help=text, no_args_is_help=True)
    for inner, command in commands.items():
        group_of_commands.command(inner, cls=_Command)(command)
    app.add_typer(group_of_commands, name=name, rich_help_panel=panel)


def _print_version(asked: bool) -> None:
    if asked:
        from fedgroup import __version__

        typer.echo(f"fedgroup {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool, typer.Option("--version", help="print the version", metavar="", is_eager=True, callback=_print_version)
]


@app.callback()
def whole(version: _Version = False) -> None:
    """Differentially private counts over many owners' location records."""


def main() -> None:
    """Run a command and exit; an error becomes one sentence on stderr and an exit code."""
    try:
        with interruptible():
            code = app(prog_name="fedgroup", standalone_mode=False)
            sys.stdout.flush()
    except FedgroupError as error:
        _fail(str(error), error.exit_code)
    except _UsageError as error:
        _fail_usage(error)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # nobody reads on: leave without the complaint that the last flush would make
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("this needs more memory than there is; take a coarser grid or fewer owners", 2)
    except OSError as error:
        _fail(f"{error.strerror or error}; try later", _TRY_LATER)
    if code == INTERRUPTED:
        _fail("interrupted", INTERRUPTED)
    sys.exit(code or 0)


def _fail(text: str, code: int) -> NoReturn:
    typer.echo(f"fedgroup: {text}", err=True)
    sys.exit(code)


def _fail_usage(error: Any) -> NoReturn:
    """Say in one line what was wrong with the words of the command."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message())
        sys.exit(error.exit_code)
    asked = "fedgroup" if error.ctx is None else error.ctx.command_path
    _fail(f"{' '.join(error.format_message().split()).rstrip('.')}; see '{asked} --help'", 2)


def _untyped(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option
