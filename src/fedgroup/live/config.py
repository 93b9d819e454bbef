"""The files that live roles start from: TOML, checked to the last key. `fedgroup init` writes them with comments."""

from __future__ import annotations

import re
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote

import msgspec

from fedgroup.epsilon import NOTHING, Epsilon
from fedgroup.errors import InvalidInput
from fedgroup.live.attendance import Quorum
from fedgroup.live.pacing import EVERY_MS
from fedgroup.live.settings import MPC_MOST, LiveSettings, UsualGrouping
from fedgroup.live.standing import Schedule
from fedgroup.live.waves import IN_FLIGHT_BYTES
from fedgroup.maps.tree import MOST_LEVELS, Tree
from fedgroup.messages.limits import MOST_TEXT, MOST_WORDS
from fedgroup.owner.policy import Policy
from fedgroup.privacy.accounting import Accounting
from fedgroup.privacy.sensitivity import Neighbours, Protection, Unit
from fedgroup.privacy.windows import WindowBudget, window_length
from fedgroup.questions.instants import as_instant
from fedgroup.questions.kinds import KINDS
from fedgroup.secure.round import MaskSettings
from fedgroup.space import Box, PublicMap

_FILE_URL = re.compile(r"(?P<kind>sqlite|duckdb)://(/(?P<path>[^?#]*))?")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of a file; unknown keys are mistakes."""


_Named = Annotated[str, msgspec.Meta(min_length=1, max_length=MOST_TEXT)]
_Days = Annotated[int, msgspec.Meta(ge=1, le=36_500)]
_Bins = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORDS)]
_Megabytes = Annotated[int, msgspec.Meta(ge=1, le=1_024)]
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class FederationTable(_Table, frozen=True, kw_only=True):
    """What all parties agreed on; it must be the same in everybody's file.

    `attributes` and `times` are what users are told can be asked about, in the provider's file; nobody has to agree.
    """

    name: str
    domain: tuple[float, float, float, float]
    lonlat: bool = False
    neighbours: Neighbours = "add-remove"
    unit: Unit = "record"
    max_records: int | None = None
    max_bins: int | None = None
    subjects: bool = False
    accounting: str = "pure"
    delta: float | None = None
    attributes: tuple[_Named, ...] | None = None
    times: bool | None = None

    @property
    def public_map(self) -> PublicMap:
        return PublicMap(Box(*self.domain), self.lonlat)

    @property
    def counted(self) -> Accounting:
        """How owners' ledgers count: pure epsilon, or rho with a delta."""
        return Accounting.of(self.accounting, self.delta)

    @property
    def protection(self) -> Protection:
        return Protection(self.neighbours, self.unit, self.max_records, self.max_bins, self.subjects)


class IdentityTable(_Table, frozen=True, kw_only=True):
    """Folders: this party's certificate and keys, and the federation's authority with its revocations."""

    folder: str
    authority: str


class BrokerTable(_Table, frozen=True, kw_only=True):
    """Where messages go; `embedded` lets the provider run the broker itself."""

    host: str = "127.0.0.1"
    port: int = 8883
    embedded: bool = True


class OwnersBrokerTable(_Table, frozen=True, kw_only=True):
    """Where the broker is; who lost it comes back within `spread_seconds`, each at another moment."""

    host: str = "127.0.0.1"
    port: int = 8883
    spread_seconds: Annotated[float, msgspec.Meta(ge=0, le=3_600)] = 0.0


class HttpTable(_Table, frozen=True, kw_only=True):
    """Where users ask; `tls` serves it with the provider's certificate.

    A request's head and a pause between two may take so many seconds. There may be so many connections in all, of one
    address (`proxies` and this machine have no such limit), and without a token.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    tls: bool = False
    head_seconds: float = 10.0
    idle_seconds: float = 5.0
    connections: int = 1_000
    connections_per_address: int = 100
    connections_without_token: int = 500
    proxies: tuple[str, ...] = ()


class AnswersTable(_Table, frozen=True, kw_only=True):
    """How long an answer may take, how many owners must be here, how large groups are, what masked ones withstand.

    `vectors_mb` is how much owners may be sending at once in answer to questions with many bins. `most_records` is how
    many records of one owner are believed in one bin; None: as many as it says. With `recovery` a masked group gives
    its sum without members that fall silent in the middle.
    """

    seconds: float = 10.0
    least_owners: _AtLeastOne = 1
    least_share: _Share = 0.0
    messages_at_once: _AtLeastOne = 4_000
    vectors_mb: _Megabytes = IN_FLIGHT_BYTES >> 20
    cohort_size: int = 50
    mpc_most: int = MPC_MOST
    colluders: int = 1
    dropouts: float = 0.1
    recovery: bool = True
    most_records: _AtLeastOne | None = None


class PageTable(_Table, frozen=True, kw_only=True):
    """What the map shows below areas: outlines (a GeoJSON file), and a server of tiles if it is in degrees.

    `credit` is the line that many servers of tiles ask for; `maps` are files of private maps that are published on it;
    `districts` is a GeoJSON file of named polygons to choose areas from.
    """

    outlines: str | None = None
    districts: str | None = None
    maps: list[str] = []
    tiles: str | None = None
    credit: str = ""


class StateTable(_Table, frozen=True, kw_only=True):
    """Where the provider keeps users, questions and plans, and how long it keeps what nobody asks for any more."""

    file: str = "provider.db"
    keep_days: _Days = 90


class StandingTable(_Table, frozen=True, kw_only=True):
    """A map that is asked for anew for every window of the records' time, as soon as that is over.

    map       the question, as it is sent to POST /v1/maps, without since, until and every
    user      whose allowance pays, and by whom owners are told that it is asked
    every     how long a window is: hour, day, week, or a length such as 15min
    grace     how long after its end a window is asked for; records that come later are in no map
    since     the first window; None: the one that begins next when the provider first runs with this table
    catch_up  how many windows that were missed are asked for later, the oldest first; older ones are left out
    levels    with 2, also a map of every 16 windows, with 3 of every 256: long times are read from few of them. Each
              level costs the price of the map
    """

    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    user: _Named
    map: dict[str, Any]
    every: str
    grace: float | str = "10m"
    since: str | float | None = None
    catch_up: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 168
    levels: Annotated[int, msgspec.Meta(ge=1, le=MOST_LEVELS)] = 1

    @property
    def tree(self) -> tuple[Schedule, ...]:
        """When which window of each level is asked for, the shortest first."""
        shortest = self.windows
        return shortest, *(
            replace(shortest, name=f"{self.name}-{length}", every=shortest.every * length)
            for length in Tree(self.levels).lengths[1:]
        )

    @property
    def windows(self) -> Schedule:
        """When which window is asked for."""
        since = None if self.since is None else as_instant(self.since, name="since")
        grace = _seconds(self.grace, name="grace")
        return Schedule(self.name, window_length(self.every), round(grace * 1e6), since, self.catch_up)


class ProviderConfig(_Table, frozen=True, kw_only=True):
    """A provider's file."""

    federation: FederationTable
    identity: IdentityTable
    broker: BrokerTable = BrokerTable()
    http: HttpTable = HttpTable()
    page: PageTable = PageTable()
    answers: AnswersTable = AnswersTable()
    grouping: UsualGrouping = UsualGrouping()
    state: StateTable = StateTable()
    standing: tuple[StandingTable, ...] = ()

    @property
    def settings(self) -> LiveSettings:
        answers = self.answers
        return LiveSettings(
            self.federation.name,
            self.federation.public_map,
            self.federation.protection,
            MaskSettings(answers.colluders, answers.dropouts),
            cohort_size=answers.cohort_size,
            mpc_most=answers.mpc_most,
            seconds=answers.seconds,
            attributes=self.federation.attributes,
            times=self.federation.times,
            grouping=self.grouping,
            quorum=Quorum(answers.least_owners, answers.least_share),
            messages_at_once=answers.messages_at_once,
            recovery=answers.recovery,
            in_flight_bytes=answers.vectors_mb << 20,
            most_records=answers.most_records,
            accounting=self.federation.counted,
        )


class LedgerTable(_Table, frozen=True, kw_only=True):
    """The owner's own ledger, what it may spend per epoch, and how long it can repeat what it said, byte by byte.

    `mark_every` is the epsilon that can be missing unnoticed in a restored ledger; None: a tenth of the cap.
    `window_cap` is the most that any `windows` consecutive windows of the records' time may cost together, each as long
    as `per` says. With `shared`, the file holds the ledgers of all owners that name it, hosted by one process; `mark`
    is then the file, in another folder, that tells how far they came.
    """

    file: str
    cap: float
    shared: bool = False
    mark: str | None = None
    per: str | None = None
    window_cap: float | None = None
    windows: int | None = None
    mark_every: float | None = None
    keep_days: _Days = 90

    @property
    def at_most(self) -> Epsilon | None:
        return None if self.mark_every is None else Epsilon.of(self.mark_every, name="mark_every")

    @property
    def in_windows(self) -> WindowBudget | None:
        """What windows of the records' time may cost."""
        return WindowBudget.said(self.per, self.window_cap, self.windows)

    def require_sensible(self) -> None:
        """Refuse what only a shared file, or only an own one, can have."""
        if self.shared != (self.mark is not None):
            raise InvalidInput("a shared file of ledgers needs a mark in another folder: shared and mark go together")
        if self.shared and self.in_windows is not None:
            raise InvalidInput("a shared file keeps no budget per window; give this owner a ledger of its own")


class PolicyTable(_Table, frozen=True, kw_only=True):
    """The owner's veto."""

    highest_epsilon: float = 1.0
    highest_setup: float | None = None
    kinds: tuple[str, ...] = tuple(KINDS)
    modes: tuple[str, ...] = ("masked",)
    trusted_with: tuple[str, ...] = ()
    fewest_members: int = 3
    fewest_colluders: int = 1
    smallest_radius: float = 0.0
    smallest_cell: float = 0.0
    most_bins: _Bins = MOST_WORDS
    most_records: int | None = None
    shortest_window: float | str = 0.0
    complete_after: float | str | None = None
    attributes: tuple[str, ...] | None = None
    tell_left: bool = False
    comparisons: int = 0

    @property
    def policy(self) -> Policy:
        checked = {
            "highest_epsilon": Epsilon.of(self.highest_epsilon, name="highest_epsilon"),
            "highest_setup": _some(self.highest_setup),
            "shortest_window": _seconds(self.shortest_window, name="shortest_window"),
            "complete_after": None
            if self.complete_after is None
            else _seconds(self.complete_after, name="complete_after"),
        }
        return Policy(**msgspec.structs.asdict(self) | checked, now=time.time)


class PaceTable(_Table, frozen=True, kw_only=True):
    """When an owner's replies leave: at public moments so many milliseconds apart; 0: as soon as they are ready."""

    every_ms: Annotated[float, msgspec.Meta(ge=0, le=500)] = EVERY_MS


class OwnerConfig(_Table, frozen=True, kw_only=True):
    """An owner's file; its name is the one in its certificate."""

    federation: FederationTable
    identity: IdentityTable
    ledger: LedgerTable
    silo: dict[str, Any]
    broker: OwnersBrokerTable = OwnersBrokerTable()
    pace: PaceTable = PaceTable()
    policy: PolicyTable = PolicyTable()


Config = TypeVar("Config", ProviderConfig, OwnerConfig)


def read_config(path: Path, kind: type[Config]) -> Config:
    """Return what a file says, with every path made absolute from where the file is."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        found = msgspec.convert(_placed(table, path.absolute().parent), kind)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{path}: {_in_words(str(error))}") from None
    _require_sensible(found)
    return found


def _placed(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the same tables with their files and folders found from the file's own folder."""
    places = {
        "identity": ("folder", "authority"), "ledger": ("file", "mark"), "page": ("outlines", "districts"),
        "state": ("file",), "silo": ("path", "folder"),
    }  # fmt: skip
    result = dict(table)
    for name, keys in places.items():
        inner = table.get(name)
        if isinstance(inner, dict):
            result[name] = inner | {k: str(folder / inner[k]) for k in keys if isinstance(inner.get(k), str)}
            if name == "page" and isinstance(inner.get("maps"), list):
                result[name] |= {
                    "maps": [str(folder / each) if isinstance(each, str) else each for each in inner["maps"]]
                }
    if isinstance(table.get("silo"), dict):
        result["silo"] |= _placed_url(result["silo"], folder)
    return result


def _placed_url(silo: dict[str, Any], folder: Path) -> dict[str, str]:
    """Return the url of a database in a file, found from this folder; a SELECT of DuckDB finds its files from there."""
    url = silo.get("url")
    found = _FILE_URL.fullmatch(url) if isinstance(url, str) else None
    if found is None:
        return {}
    kind, path = found["kind"], found["path"]
    placed = {"url": f"{kind}:///{quote(str(folder / unquote(path)))}"} if path else {}
    files_too = kind == "duckdb" and silo.get("kind") == "sql" and "folder" not in silo
    return placed | ({"folder": str(folder)} if files_too else {})


def _require_sensible(found: ProviderConfig | OwnerConfig) -> None:
    """Build what the file describes once, so that mistakes show before anything starts."""
    _ = found.federation.public_map, found.federation.protection, found.federation.counted
    if isinstance(found, OwnerConfig):
        _ = found.policy.policy, Epsilon.of(found.ledger.cap, name="cap"), found.ledger.at_most
        found.ledger.require_sensible()
        _ = found.ledger.in_windows
    else:
        names = [level.name for each in found.standing for level in each.tree]
        _ = found.settings
        if len(set(names)) < len(names):
            raise InvalidInput("every standing map has a name of its own")


def _some(epsilon: float | None) -> Epsilon | None:
    """Return a limit; 0 refuses everything."""
    return NOTHING if epsilon == 0 else None if epsilon is None else Epsilon.of(epsilon, name="highest_setup")


def _seconds(length: float | str, *, name: str) -> float:
    """Return a length of time in seconds: a number of them, or a text such as "90s", "15m", "1h" or "7d"."""
    if not isinstance(length, str):
        return length
    found = _LENGTH.fullmatch(length)
    if found is None:
        raise InvalidInput(f'{name} is a number of seconds, or a text such as "90s", "15m", "1h" or "7d"')
    return float(found[1]) * _SECONDS[found[2]]


def _in_words(text: str) -> str:
    return text.replace("Object contains unknown field", "unknown key").replace("$.", "")
