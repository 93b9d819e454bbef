"""Which running federation a command talks to, and with whose token."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fedgroup.cli.options import File, Name, option
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from fedgroup.service.client import Client

SERVICE = "Which federation (default: the one that 'fedgroup up' runs in this folder)"
UP_FILE = Path(".fedgroup") / "up.json"


@dataclass(frozen=True)
class ServiceOptions:
    """A federation's address, and a token for it."""

    url: Annotated[Name, option(SERVICE, "--url", "address of its service; default: FEDGROUP_URL", "URL")] = None
    token_file: Annotated[
        File,
        option(SERVICE, "--token-file", "file with your token, or up.json; default: what FEDGROUP_TOKEN holds", "FILE"),
    ] = None
    ca: Annotated[
        File, option(SERVICE, "--ca", "certificate of the authority behind an https address, if it is private", "FILE")
    ] = None


@dataclass(frozen=True)
class ServiceAccess:
    """Where to ask, as whom; the token does not print."""

    url: str
    token: str
    ca: Path | None = None

    def __repr__(self) -> str:
        return f"Access({self.url!r}, <token>)"


def connected(options: ServiceOptions) -> Client:
    """Return a client of the federation that the options name."""
    from fedgroup.service.client import connect

    access = find_access(options)
    return connect(access.url, access.token, ca=access.ca)


def find_access(options: ServiceOptions) -> ServiceAccess:
    """Return what the options say, else the environment, else the file of `fedgroup up`.

    A token from that file is sent to the address in it, and nowhere else; `--token-file` may name it, too.
    """
    if options.token_file is not None and options.token_file.name == UP_FILE.name:
        named = _running_in(options.token_file)
        if options.url is not None and options.url.rstrip("/") != named.url:
            raise InvalidInput(f"the token in {options.token_file} is for {named.url} only; leave --url out")
        return ServiceAccess(named.url, named.token, options.ca or named.ca)
    given = None if options.token_file is None else _token_in(options.token_file)
    url = options.url or os.environ.get("FEDGROUP_URL")
    if url:
        token = given or os.environ.get("FEDGROUP_TOKEN")
        if not token:
            raise InvalidInput("a token is needed: --token-file FILE, or FEDGROUP_TOKEN")
        return ServiceAccess(url, token, options.ca)
    found = _running_here()
    if found is None:
        raise InvalidInput("which federation? start one here with 'fedgroup up', or give --url URL --token-file FILE")
    return ServiceAccess(found.url, given or found.token, options.ca or found.ca)


def _token_in(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"the token file {path} cannot be read") from None
    if not token:
        raise InvalidInput(f"the token file {path} is empty")
    if not re.fullmatch(r"[\x21-\x7e]+", token) or token.startswith("{"):
        raise InvalidInput(f"the token file {path} holds no token: that is one line without spaces")
    return token


def _running_here() -> ServiceAccess | None:
    """Return the federation that runs in this folder, or in the nearest one above."""
    here = Path.cwd()
    path = next((each for folder in (here, *here.parents) if (each := folder / UP_FILE).is_file()), None)
    return None if path is None else _running_in(path)


def _running_in(path: Path) -> ServiceAccess:
    """Return the federation that the file of `fedgroup up` tells of."""
    _require_own(path)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return ServiceAccess(str(found["url"]), str(found["token"]), Path(found["ca"]) if found.get("ca") else None)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise InvalidInput(f"{path} is not what 'fedgroup up' writes; start it again") from None


def _require_own(path: Path) -> None:
    """Refuse a file that others could have written: they would be told what is asked."""
    try:
        facts = path.stat()
    except OSError:
        raise InvalidInput(f"there is no file {path}; does 'fedgroup up' run there?") from None
    if hasattr(os, "getuid") and (facts.st_uid != os.getuid() or facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO)):
        raise InvalidInput(f"{path} is open to others; it must be yours alone (mode 0600): start 'fedgroup up' again")
