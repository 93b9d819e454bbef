"""`fedgroup certificates`: the federation's own authority, and everybody's keys."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, File, Name, OutputOptions, argument, flag, option
from fedgroup.cli.output import notice, print_json, print_table, result
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.identity.authority import Authority
    from fedgroup.identity.certificate import Certificate
    from fedgroup.identity.register import Registered
    from fedgroup.identity.requests import Request

_PASSPHRASE = "FEDGROUP_CA_PASSPHRASE"  # noqa: S105 - a variable's name

_Folder = Annotated[Path, argument("the authority's folder", "FOLDER")]
_Hosts = Annotated[
    list[str] | None,
    option(OPTIONS, "--host", "where a provider serves, once for each; default: localhost, 127.0.0.1, ::1", "HOST"),
]


@grouped
def init(
    folder: Annotated[Path, argument("the folder to make; whoever has it can make owners up", "FOLDER")],
    federation: Annotated[str, option(OPTIONS, "--federation", "the federation's name", "NAME")],
    output: OutputOptions,
    days: Annotated[int, option(OPTIONS, "--days", "how long the authority is valid", "N")] = 3_650,
    passphrase: Annotated[
        bool, flag(OPTIONS, "--passphrase", f"lock the key with a passphrase, asked for or from {_PASSPHRASE}")
    ] = False,
) -> None:
    """Make the federation's authority; the provider must not hold it."""
    from fedgroup.identity import Authority, Trust

    words = _new_passphrase() if passphrase or _PASSPHRASE in os.environ else None
    made = Authority.create(folder, federation, passphrase=words, days=days)
    known = Trust.load(folder)
    if output.json:
        facts = {"folder": str(folder), "federation": federation, "fingerprint": known.fingerprint}
        print_json(facts | {"until": _day(made.certificate.not_valid_after_utc), "locked": words is not None})
        return
    result.print(f"{folder}: the authority of {federation}, fingerprint {known.fingerprint}")
    notice(f"keep {folder} from the provider; tell everybody the fingerprint, and give out ca.pem and revoked.pem")


@grouped
def request(
    name: Annotated[str, argument("your name: lower-case letters, digits, - and _", "NAME")],
    role: Annotated[str, option(OPTIONS, "--role", "owner, provider or broker", "ROLE")],
    out: Annotated[Path, option(OPTIONS, "--out", "the folder for your keys, which stay there", "FOLDER")],
    output: OutputOptions,
    host: _Hosts = None,
) -> None:
    """Make your own keys, and a request for the authority to sign."""
    asked = _asked(out, name, role, host)
    if output.json:
        print_json(_requested(asked) | {"request": str(out / "request.csr")})
        return
    result.print(f"{out / 'request.csr'}: {asked.role} {asked.name}, fingerprint {asked.fingerprint}")
    notice("send it to who holds the authority, and compare the fingerprint with them, by telephone for example")


@grouped
def issue(
    folder: _Folder,
    output: OutputOptions,
    asked: Annotated[File, argument("the request to sign; none: make keys too (for trying)", "REQUEST")] = None,
    name: Annotated[
        Name, option(OPTIONS, "--name", "the name that the request must have; without a request, the name", "NAME")
    ] = None,
    role: Annotated[str, option(OPTIONS, "--role", "the role that the request must have", "ROLE")] = "owner",
    host: _Hosts = None,
    out: Annotated[
        File, option(OPTIONS, "--out", "where to put the certificate; default: FOLDER/issued/NAME", "FOLDER")
    ] = None,
    days: Annotated[int, option(OPTIONS, "--days", "how long the certificate is valid", "N")] = 365,
) -> None:
    """Sign a request whose fingerprint you compared with its sender."""
    from fedgroup.identity import Trust
    from fedgroup.identity.own import write_answer

    authority = _opened(folder)
    wanted = _made(name, role, host, out) if asked is None else _read(asked, name, role, host)
    issued = authority.issue(wanted, days=days)
    place = out or folder / "issued" / issued.name
    write_answer(place, issued, Trust.load(folder))
    if output.json:
        print_json(_requested(wanted) | {"until": _day(issued.not_after), "folder": str(place)})
        return
    _tell_issued(issued, wanted, place)


@grouped
def revoke(
    folder: _Folder,
    output: OutputOptions,
    names: Annotated[list[str] | None, argument("whose certificates; none: only date the list anew", "NAME...")] = None,
    days: Annotated[int, option(OPTIONS, "--days", "how long the new list is valid", "N")] = 365,
) -> None:
    """Revoke certificates for ever, and sign a new list of revocations to give to everybody."""
    authority = _opened(folder)
    revoked = [entry for name in names or () for entry in authority.revoke(name, days=days)]
    if not names:
        authority.renew_list(days=days)
    if output.json:
        serials = [f"{entry.serial:x}" for entry in revoked]
        print_json({"revoked": sorted(set(names or ())), "serials": serials, "list": str(folder / "revoked.pem")})
        return
    done = ", ".join(names or ()) or "nobody"
    result.print(f"{folder / 'revoked.pem'}: a new list; revoked now: {done}. Give it to everybody")


@grouped
def list_(
    folder: Annotated[Path, argument("an authority's folder, or your own", "FOLDER")],
    output: OutputOptions,
) -> None:
    """Show who has certificates: all that an authority issued, or the one in your folder."""
    from fedgroup.identity import Trust
    from fedgroup.identity.issuing import now

    known, at = Trust.load(folder, stale=True), now()
    rows = [_row(entry, entry.state(at)) for entry in _entries(folder)] or _own_row(folder, known)
    if output.json:
        print_json({"federation": known.federation, "fingerprint": known.fingerprint, "certificates": rows})
        return
    from rich.table import Table

    table = Table("name", "role", "until", "state", "fingerprint")
    for row in rows:
        table.add_row(row["name"], row["role"], row["until"], row["state"], row["fingerprint"])
    print_table(table)
    result.print(f"the authority of {known.federation}, fingerprint {known.fingerprint}")


# --- requests -----------------------------------------------------------------------------------------------------


def _asked(out: Path, name: str, role: str, hosts: list[str] | None) -> Request:
    from fedgroup.identity.naming import SERVING, role_called
    from fedgroup.identity.own import write_request
    from fedgroup.identity.requests import LOCAL_HOSTS

    meant = role_called(role)
    default = LOCAL_HOSTS if meant in SERVING else ()
    return write_request(out, name, meant, hosts=hosts or default)


def _made(name: str | None, role: str, hosts: list[str] | None, out: Path | None) -> Request:
    if name is None or out is None:
        raise InvalidInput("give a request to sign, or --name and --out to make keys too")
    return _asked(out, name, role, hosts)


def _read(file: Path, name: str | None, role: str, hosts: list[str] | None) -> Request:
    """Return a request that asks for what whoever signs it expects."""
    from fedgroup.identity.files import read_public
    from fedgroup.identity.requests import read_request

    found = read_request(read_public(file, what="a request made by 'fedgroup certificates request'"))
    if found.role != role:
        raise InvalidInput(f"{found.name!r} asks to be {found.role}; if that is right, say --role {found.role}")
    if name is not None and found.name != name:
        raise InvalidInput(f"the request is of {found.name!r}, not of {name!r}")
    if hosts is not None and set(hosts) != set(found.hosts):
        raise InvalidInput(f"the request names other hosts: {', '.join(found.hosts) or 'none'}")
    return found


# --- the authority ------------------------------------------------------------------------------------------------


def _opened(folder: Path) -> Authority:
    from fedgroup.identity.authority import Authority, is_locked_folder

    return Authority.open(folder, passphrase=_passphrase() if is_locked_folder(folder) else None)


def _passphrase() -> str:
    return _given() or str(typer.prompt("passphrase of the authority", hide_input=True, err=True))


def _new_passphrase() -> str:
    question = "new passphrase of the authority"
    return _given() or str(typer.prompt(question, hide_input=True, confirmation_prompt=True, err=True))


def _given() -> str | None:
    """Return the passphrase in the environment; without one there must be somebody to ask."""
    given = os.environ.get(_PASSPHRASE)
    if given is None and not sys.stdin.isatty():
        raise InvalidInput(f"the authority's key needs a passphrase; set {_PASSPHRASE}, or use a terminal")
    return given


# --- what is told -------------------------------------------------------------------------------------------------


def _entries(folder: Path) -> list[Registered]:
    from fedgroup.identity.register import REGISTER_FILE, Register

    return Register(folder / REGISTER_FILE).entries()


def _own_row(folder: Path, known: Any) -> list[dict[str, str]]:
    """Return the certificate in a party's own folder, and whether the authority beside it vouches for it."""
    from fedgroup.errors import ProtocolViolation
    from fedgroup.identity.own import CERTIFICATE_FILE, certificate_in

    if not (folder / CERTIFICATE_FILE).exists():
        return []
    found = certificate_in(folder / CERTIFICATE_FILE)
    try:
        known.verify(found.der, role=found.role)
    except ProtocolViolation as fault:
        return [_row(found, str(fault))]
    return [_row(found, "valid")]


def _row(entry: Registered | Certificate, state: str) -> dict[str, str]:
    return {
        "name": entry.name,
        "role": entry.role,
        "until": _day(entry.not_after),
        "state": state,
        "serial": f"{entry.serial:x}",
        "fingerprint": entry.fingerprint,
    }


def _requested(asked: Request) -> dict[str, Any]:
    facts = {"name": asked.name, "role": asked.role, "fingerprint": asked.fingerprint}
    return facts | ({"hosts": list(asked.hosts)} if asked.hosts else {})


def _tell_issued(issued: Certificate, wanted: Request, place: Path) -> None:
    result.print(f"{place}: {issued.role} {issued.name} until {_day(issued.not_after)}, keys {wanted.fingerprint}")
    if wanted.hosts:
        result.print(f"serves at {', '.join(wanted.hosts)}")
    notice(f"send certificate.pem, ca.pem and revoked.pem back, to lie beside the keys of {issued.name}")


def _day(at: Any) -> str:
    return f"{at:%Y-%m-%d}"
