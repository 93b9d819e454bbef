"""The live roles: `fedgroup init`, `fedgroup provider`, `fedgroup owner`, `fedgroup up`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fedgroup.cli.extras import require_extras
from fedgroup.cli.options import OPTIONS, argument, flag, hidden_flag, option
from fedgroup.cli.output import notice, print_json, result, several, talk, working
from fedgroup.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedgroup.live.config import OwnerConfig
    from fedgroup.service.provider_process import Serving

ROLES = ("provider", "owner")
LEDGER = "Ledger"
LOG = "Log"
MAP = "Map"
PAGE = "The owner's own page"
OWNERS = 50
"""Of a trial federation, unless somebody says how many."""

_Config = Annotated[
    Path, option(OPTIONS, "--config", "the provider's file, as written by 'fedgroup init provider'", "FILE")
]
_Configs = Annotated[
    list[Path],
    option(OPTIONS, "--config", "an owner's file, as written by 'fedgroup init owner'; several can be named", "FILE"),
]
_Port = Annotated[int | None, option(OPTIONS, "--broker-port", "the broker's port, in place of the file's", "PORT")]
_Log = Annotated[str, option(LOG, "--log", "how events are written to stderr: text or json", "FORM")]
_Level = Annotated[str, option(LOG, "--log-level", "debug, info, warning or error", "LEVEL")]
_Outlines = Annotated[
    Path | None,
    option(MAP, "--outlines", "GeoJSON to draw on the map: districts, or what 'fedgroup basemap' wrote", "FILE"),
]
_Tiles = Annotated[
    str | None,
    option(MAP, "--tiles", "a tile server for the map, as https://host/{z}/{x}/{y}.png; none by default", "URL"),
]
_Open = Annotated[bool, flag(MAP, "--open", "open the map in a browser, signed in")]
_Json = Annotated[bool, flag(OPTIONS, "--json", "print one JSON object")]


def init(
    role: Annotated[str, argument("provider or owner", "ROLE")],
    out: Annotated[Path, option(OPTIONS, "--out", "the file to write", "FILE")],
    federation: Annotated[str, option(OPTIONS, "--federation", "the federation's name", "NAME")] = "federation",
    domain: Annotated[str, option(OPTIONS, "--domain", "the agreed public rectangle", "W,S,E,N")] = "0,0,20000,20000",
    lonlat: Annotated[bool, flag(OPTIONS, "--lonlat", "the domain is in degrees, radii are metres")] = False,
    identity: Annotated[
        str | None,
        option(OPTIONS, "--identity", "the folder of its keys and certificates; default: the role's name", "FOLDER"),
    ] = None,
) -> None:
    """Write a file for a live role, with every setting explained in it."""
    from fedgroup.live.samples import owner_text, provider_text

    if role not in ROLES:
        raise InvalidInput(f"a role is {' or '.join(ROLES)}, got {role!r}")
    if out.exists():
        raise InvalidInput(f"{out} is there already; name another file")
    facts: dict[str, Any] = {
        "file": out.name, "federation": federation, "domain": ", ".join(domain.split(",")), "lonlat": lonlat,
        "host": "127.0.0.1", "port": 8883, "folder": identity or role, "authority": identity or role,
    }  # fmt: skip
    text = provider_text(**facts, http_port=8080) if role == "provider" else owner_text(**facts)
    out.write_text(text, encoding="utf-8")
    first = "" if role == "provider" else " --new-ledger (without --new-ledger ever after)"
    result.print(f"{out} written; edit it, then start: fedgroup {role} --config {out}{first}")


def provider(
    config: _Config,
    outlines: _Outlines = None,
    tiles: _Tiles = None,
    log: _Log = "text",
    log_level: _Level = "info",
) -> None:
    """Run a provider: broker (unless another is named), coordination, HTTP API and map, until Ctrl-C."""
    import asyncio

    require_extras("a provider", "live", "serve")
    from fedgroup.live.config import ProviderConfig, read_config
    from fedgroup.service.pages.mounting import page_settings
    from fedgroup.service.provider_process import serve

    found = read_config(config, ProviderConfig)
    pages = page_settings(found, outlines=outlines, tiles=tiles)
    with _logged("provider", log, log_level) as started:
        asyncio.run(serve(found, pages=pages, ready=lambda up: started(_told(up), url=up.url)))


def owner(
    config: _Configs,
    broker_port: _Port = None,
    new_ledger: Annotated[
        bool, flag(LEDGER, "--new-ledger", "make a ledger that is not there; else a missing one is refused")
    ] = False,
    restored_ledger: Annotated[
        bool,
        flag(
            LEDGER,
            "--restored-ledger",
            "once, after a ledger was restored or lost: count what was left of its epoch as spent, then go on",
        ),
    ] = False,
    new_log: Annotated[
        bool,
        flag(LEDGER, "--new-log", "once, after the provider lost its public log: believe the next one that it shows"),
    ] = False,
    page: Annotated[bool, flag(PAGE, "--page", "serve this owner's own page, to this machine only")] = False,
    open_: Annotated[bool, flag(PAGE, "--open", "open that page in a browser")] = False,
    log: _Log = "text",
    log_level: _Level = "info",
    until_input_ends: Annotated[
        bool, hidden_flag("--until-input-ends", "stop when standard input ends: whoever started this is gone")
    ] = False,
) -> None:
    """Run an owner, or several, until Ctrl-C: their records stay here."""
    import asyncio

    require_extras(*(["an owner with a page", "live", "serve", "page"] if page or open_ else ["an owner", "live"]))
    from fedgroup.live.config import OwnerConfig, read_config

    found = [read_config(path, OwnerConfig) for path in config]
    if restored_ledger:
        _take_restored(found, new_ledger=new_ledger)
    if new_log:
        _take_another_log(found)
    with _logged("owner", log, log_level) as started:
        if page or open_:
            asyncio.run(_run_with_page(config, found, broker_port, started, new_ledger=new_ledger, browse=open_))
            return
        owners = _run_owners(found, broker_port, started, new_ledger=new_ledger, until_input_ends=until_input_ends)
        asyncio.run(owners)


def up(
    owners: Annotated[int | None, option(OPTIONS, "--owners", "how many, if it is made now; default: 50", "N")] = None,
    folder: Annotated[
        Path, option(OPTIONS, "--folder", "where the trial federation is kept; made if it is not there", "FOLDER")
    ] = Path(".fedgroup"),
    port: Annotated[int, option(OPTIONS, "--port", "of the HTTP API; 0 takes any free one", "PORT")] = 0,
    seed: Annotated[int, option(OPTIONS, "--seed", "of the synthetic city, if it is made now", "S")] = 1,
    epsilon: Annotated[
        float, option(OPTIONS, "--epsilon", "what grouping costs every owner, if they are not grouped yet", "E")
    ] = 0.3,
    map_epsilon: Annotated[
        float, option(MAP, "--map-epsilon", "what the map published at the start costs every owner, once", "E")
    ] = 0.3,
    no_map: Annotated[bool, flag(MAP, "--no-map", "publish no map at the start")] = False,
    open_: _Open = False,
    outlines: _Outlines = None,
    json: _Json = False,
) -> None:
    """Run a whole federation on synthetic data here, until Ctrl-C: provider, owners, certificates and all.

    One that is in FOLDER already goes on as it is. An owners' process that ends is started again.
    """
    import asyncio

    require_extras("a federation to try", "live", "serve", *(["page"] if open_ else []))
    from fedgroup.lab.experiments.examples import example_city
    from fedgroup.live.logs import begin_log
    from fedgroup.live.running import allow_open_files
    from fedgroup.live.trial import make_trial
    from fedgroup.service.trial import run_trial

    allow_open_files()
    begin_log("text", "warning")
    with working("making certificates and a city"):
        trial = make_trial(folder, owners=OWNERS if owners is None else owners, seed=seed)
    there = len(trial.owners)
    if owners not in (None, there):
        notice(
            f"{folder} holds a federation of {there} owners, so {there} are started, not {owners}; for {owners} name "
            f"another --folder, or remove this one with its ledgers"
        )
    told = lambda facts: _up(facts, as_json=json)
    browse, examples = _browse if open_ else None, example_city()
    of_map = None if no_map else map_epsilon
    shown: dict[str, Any] = {"told": told, "browse": browse, "examples": examples, "outlines": outlines}
    asyncio.run(run_trial(trial, http_port=port, epsilon=epsilon, map_epsilon=of_map, **shown))
    talk.print("stopped")


@contextmanager
def _logged(role: str, form: str, level: str) -> Iterator[Callable[..., None]]:
    """Write a role's events to stderr; yield what to call, with words for people, once it is up."""
    import logging

    from fedgroup.live.logs import begin_log
    from fedgroup.live.running import allow_open_files

    begin_log(form, level)
    allow_open_files()
    events = logging.getLogger(f"fedgroup.{role}")

    def started(words: str, **facts: str) -> None:
        events.info("started", extra=facts)
        if form == "text" and events.isEnabledFor(logging.INFO):
            talk.print(words)

    yield started
    events.info("stopped")


def _take_restored(configs: Sequence[OwnerConfig], *, new_ledger: bool) -> None:
    from fedgroup.live.ledgers import take_restored

    if len(configs) != 1:
        raise InvalidInput("--restored-ledger is for the one owner whose ledger was restored; start it by itself")
    take_restored(configs[0], new_ledger=new_ledger)
    talk.print("nothing is left of this epoch: the owner answers again in its next one, or under a higher cap")


def _take_another_log(configs: Sequence[OwnerConfig]) -> None:
    from fedgroup.live.ledgers import take_another_log

    for config in configs:
        take_another_log(config)
    talk.print("the next log that the provider shows is believed; those seen before stay in the ledger")


async def _run_owners(
    configs: Sequence[OwnerConfig],
    port: int | None,
    started: Callable[..., None],
    *,
    new_ledger: bool,
    until_input_ends: bool,
) -> None:
    from fedgroup.live.running import running_owners
    from fedgroup.live.stopping import stop_on_signals, stop_when_input_ends

    with stop_on_signals() as stop:
        if until_input_ends:
            stop_when_input_ends(stop)
        async with running_owners(configs, port=port, new_ledger=new_ledger) as nodes:
            names = ", ".join(node.name for node in nodes[:5]) + (", ..." if len(nodes) > 5 else "")
            started(f"{len(nodes)} owners running: {names}; Ctrl-C stops" if len(nodes) > 1 else f"{names} is running")
            await stop.wait()


async def _run_with_page(
    files: Sequence[Path],
    configs: Sequence[OwnerConfig],
    port: int | None,
    started: Callable[..., None],
    *,
    new_ledger: bool,
    browse: bool,
) -> None:
    """Run one owner with its page until Ctrl-C, or until it leaves."""
    import asyncio

    from fedgroup.live.stopping import stop_on_signals
    from fedgroup.service.pages.mounting import require_pages
    from fedgroup.service.pages.owner import OwnerControl

    if len(configs) != 1:
        raise InvalidInput("an owner's page is that of one owner; run each in a process of its own")
    if configs[0].ledger.shared:
        raise InvalidInput("an owner whose ledger is in a shared file has no page; see it with: fedgroup ledger --of")
    require_pages()
    from fedgroup.service.pages.owner_page import owner_pages

    control = OwnerControl(files[0], configs[0], broker_port=port, new_ledger=new_ledger)
    with stop_on_signals() as stop:
        await control.resume()
        try:
            async with owner_pages(control) as (address, token):
                started(f"{control.name} is running")
                result.print(f"its page, for two minutes: {address}\nlater, sign in there with the token {token}")
                result.file.flush()
                if browse:
                    await asyncio.to_thread(_browse, address)
                ends = [asyncio.ensure_future(event.wait()) for event in (stop, control.left)]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ends:
                    end.cancel()
        finally:
            await control.pause()


def _browse(address: str) -> None:
    """Open an address in this computer's browser, or say it where there is none."""
    import webbrowser

    if not webbrowser.open(address):
        talk.print(f"there is no browser here; within two minutes, open {address}")


def _told(up: Serving) -> str:
    page = "" if up.page is None else f"the map at {up.page}, "
    api = f"HTTP API at {up.url} ({up.url}/openapi.json describes it)"
    return f"{page}{api}, broker at port {up.broker_port}; Ctrl-C stops"


def _up(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(facts)
        result.file.flush()
        return
    alone = f", {facts['alone']} of them an owner alone" if facts["alone"] else ""
    groups = several(facts["groups"], "group") + alone
    result.print(f"{facts['owners']} owners are here, in {groups}; the provider listens at {facts['url']}")
    if "page" in facts:
        result.print(f"the map is at {facts['page']} (--open opens it); sign in with the token in {facts['access']}")
    result.print("ask it from this folder, in another terminal:")
    for words in _EXAMPLES:
        result.print(f"  fedgroup ask {words}{_token_words(facts['access'])}")
    if facts.get("map") is not None:
        cost = f"a map was published for epsilon {facts['map']:g}, once; everybody reads it for nothing:"
        result.print(f"{cost}\n  fedgroup ask {_FREE}{_token_words(facts['access'])}")
    result.print(
        f"over HTTP, {facts['url']}/openapi.json tells how; the token is in {facts['access']}; Ctrl-C stops everything"
    )
    result.file.flush()


_FREE = "read --near 10000,10000 --within 3000"
_EXAMPLES = (
    "count --near 10000,10000 --within 3000 --epsilon 0.3",
    "avg --rectangle 4000,4000,16000,16000 --attribute fare --clip 50 --epsilon 0.5",
    "count --near 10000,10000 --within 3000 --since 2026-01-05 --until 2026-01-10 --epsilon 0.3",
    "map --grid 16x16 --epsilon 0.5",
)


def _token_words(access: str) -> str:
    """Return how a command finds the federation: by itself in the usual folder, else it is told."""
    from shlex import quote

    from fedgroup.cli.access import UP_FILE

    return "" if Path(access) == UP_FILE else f" --token-file {quote(access)}"
