"""`fedgroup verify`: whether a provider's public log is whole, signed, and adds up."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.grouped import grouped
from fedgroup.cli.options import OPTIONS, OutputOptions, argument, option
from fedgroup.cli.output import print_json, result, several
from fedgroup.errors import InvalidInput, WrongLog

if TYPE_CHECKING:
    from fedgroup.live.verifying import LogRead


@grouped
def verify(
    log: Annotated[Path, argument("the log, as GET /v1/log shows it", "LOG")],
    output: OutputOptions,
    authority: Annotated[
        Path | None,
        option(OPTIONS, "--authority", "whose certificates are believed: a folder with ca.pem, revoked.pem", "FOLDER"),
    ] = None,
    ledger: Annotated[
        list[Path] | None,
        option(OPTIONS, "--ledger", "an owner's ledger that must agree with the log; may be given again", "FILE"),
    ] = None,
    of: Annotated[
        str | None,
        option(OPTIONS, "--of", "whose, in a file that many owners share; without it all are checked", "OWNER"),
    ] = None,
) -> None:
    """Check a provider's public log: its chain, its signatures, its sums and answers; name the first wrong entry."""
    from fedgroup.identity import Trust

    read = _read(log, None if authority is None else Trust.load(authority, stale=True))
    agreed = {label: _agreed(read, file, name, label) for label, file, name in _books(ledger or [], of)}
    if output.json:
        print_json(_facts(read) | {"authority": None if authority is None else str(authority), "ledgers": agreed})
        return
    facts = _facts(read)
    result.print(
        f"{log} is whole: {facts['entries']:,} entries of {read.federation}, each signed and on the one before"
    )
    told = (
        f"{several(read.answered, 'answer')}, {read.failed:,} without one, {read.unended:,} rounds under way or cut off"
    )
    result.print(f"{told}; the groups' sums of {read.listed:,} answers are listed, and add up to them")
    for file, found in agreed.items():
        kept = f"{found['heads']:,} heads it saw and {found['charges']:,} charges agree"
        result.print(f"{file}: {kept}; {found['counted']:,} of these are in the sums", highlight=False)
        if found["before"] or found["forks"]:
            result.print(f"  {found['before']:,} charges name no entry of this log", highlight=False)
            result.print(f"  {several(found['forks'], 'proof')} of another log", highlight=False)
    if authority is None:
        result.print("the provider's certificate is the log's own: compare it with the authority's (--authority)")
        if facts["renewed"]:
            entries = ", ".join(map(str, facts["renewed"]))
            result.print(f"  another certificate counts from entry {entries} on; who forged it could sign all after it")
    result.print(f"head {facts['entries'] - 1}: {facts['head']}", highlight=False)


def _read(log: Path, trust: Any) -> LogRead:
    from fedgroup.live.verifying import read_log

    with _there(log).open("rb") as lines:
        return read_log(lines, trust=trust)


def _agreed(read: LogRead, file: Path, of: str | None, label: str) -> dict[str, Any]:
    from fedgroup.live.agreement import agreement

    try:
        return asdict(agreement(read, file, of=of))
    except WrongLog as error:
        raise WrongLog(error.line, f"{error.why} ({label})") from None


def _books(files: Sequence[Path], of: str | None) -> list[tuple[str, Path, str | None]]:
    """Return what to call each owner's books, and where they are; of a file that many share, all of its owners'."""
    from fedgroup.storage.hosted_file import HostedFile, is_hosted

    found: list[tuple[str, Path, str | None]] = []
    shared = [file for file in files if is_hosted(_there(file))]
    if of is not None and not shared:
        raise InvalidInput("--of says whose ledger it is in a file that many owners share; none of these is one")
    for file in files:
        if file not in shared:
            found.append((str(file), file, None))
            continue
        with closing(HostedFile(file, flushed_later=False, read_only=True)) as opened:
            holders = opened.holders()
        if of is None:
            found += [(f"{file} of {name}", file, name) for name in holders]
        elif of in holders:
            found.append((str(file), file, of))
        else:
            raise InvalidInput(f"{file} holds no ledger of {of!r}, but those of {len(holders):,} other owners")
    return found


def _there(file: Path) -> Path:
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}")
    return file


def _facts(read: LogRead) -> dict[str, Any]:
    counted = {name: getattr(read, name) for name in ("answered", "listed", "failed", "unended")}
    log = {"federation": read.federation, "entries": len(read.heads), "head": read.heads[-1].hex()}
    return log | counted | {"renewed": read.renewed}
