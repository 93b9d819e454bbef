"""`fedgroup users add`, `list`, `remove` and `backup`: who may ask a provider, and how much."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, flag, option
from fedgroup.cli.output import notice, print_json, print_table, result
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.storage.provider_state import ProviderState, User

LONGEST_NAME = 64

_Name = Annotated[str, argument("the user's name, as owners' ledgers show it", "NAME")]
_State = Annotated[Path, option(OPTIONS, "--state", "the provider's state file, as its configuration names it", "FILE")]


@grouped
def add(
    name: _Name,
    state: _State,
    allowance: Annotated[float, option(OPTIONS, "--allowance", "epsilon that all questions may cost in all", "E")],
    output: OutputOptions,
    per_minute: Annotated[int, option(OPTIONS, "--per-minute", "how many questions a minute", "N")] = 60,
    operator: Annotated[
        bool, flag(OPTIONS, "--operator", "may also regroup, and see owners' names and groups")
    ] = False,
) -> None:
    """Add a user, or give one a new token and allowance; the token is shown once and kept as a hash."""
    from fedgroup.epsilon import Epsilon

    if not name.isprintable() or len(name) > LONGEST_NAME:
        raise InvalidInput(f"a user's name is printable and has at most {LONGEST_NAME} characters")
    role = "operator" if operator else "user"
    with closing(_opened(state, create=True)) as opened:
        given = Epsilon.of(allowance, name="--allowance")
        token = opened.add_user(name, allowance=given, per_minute=per_minute, role=role)
        user = opened.user(name)
    if output.json:
        print_json(({} if user is None else _facts(user)) | {"token": token})
        return
    notice(f"this is the token of {name}; it is not shown again")
    result.print(token)


@grouped
def list_(state: _State, output: OutputOptions) -> None:
    """Show all users: their roles, rates and allowances, and what is left of them."""
    with closing(_opened(state)) as opened:
        users = opened.users()
    if output.json:
        print_json({"users": [_facts(user) for user in users]})
        return
    from rich.table import Table

    table = Table("user", "role", "a minute", "allowance", "spent", "left")
    for user in users:
        role = "removed" if user.removed else user.role
        table.add_row(user.name, role, str(user.per_minute), str(user.allowance), str(user.spent), str(user.left))
    print_table(table)


@grouped
def remove(name: _Name, state: _State, output: OutputOptions) -> None:
    """Make a user's token worthless; what it spent stays on record."""
    with closing(_opened(state)) as opened:
        if opened.user(name) is None:
            raise InvalidInput(f"there is no user {name!r}; 'fedgroup users list' shows all")
        opened.remove_user(name)
    if output.json:
        print_json({"name": name, "removed": True})
        return
    result.print(f"the token of {name} is worthless now")


@grouped
def backup(
    out: Annotated[Path, argument("the copy, a new file", "OUT")],
    state: _State,
    output: OutputOptions,
) -> None:
    """Write a consistent copy of the provider's state file, also while the provider runs."""
    with closing(_opened(state)) as opened:
        opened.backup(out)
    if output.json:
        print_json({"state": str(state), "backup": str(out)})
        return
    result.print(f"{out} is a copy of {state} as it was now; what users spend later is not in it")


def _opened(state: Path, *, create: bool = False) -> ProviderState:
    from fedgroup.storage.provider_state import ProviderState

    if not create and not state.is_file():
        raise InvalidInput(f"there is no provider's state file {state}; 'fedgroup users add' makes one")
    return ProviderState(state)


def _facts(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "role": user.role,
        "removed": user.removed,
        "per_minute": user.per_minute,
        "allowance": float(user.allowance),
        "spent": float(user.spent),
        "left": float(user.left),
    }
