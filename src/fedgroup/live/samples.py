"""The files that `fedgroup init` writes: every setting with what it means, ready to be changed."""

from __future__ import annotations

from collections.abc import Iterable

from fedgroup.live.pacing import EVERY_MS
from fedgroup.live.settings import UsualGrouping
from fedgroup.messages.limits import MOST_WORDS
from fedgroup.questions.graphs import PRIVATE
from fedgroup.questions.kinds import KINDS

_FEDERATION = """\
[federation]                          # agreed by all; the same in everybody's file
name = "{federation}"
domain = [{domain}]      # west, south, east, north: public, never taken from records
lonlat = {lonlat}                        # true: degrees, and radii in metres
neighbours = "add-remove"             # what epsilon protects: one record added or removed; or "replace"
unit = "record"                       # or "owner", with max_records = K: all records of an owner, cut to K
                                      # or "subject", such as a car: K records, and max_bins = M bins of a map
subjects = false                      # true: owners' tables say which records are of one subject
# accounting = "zcdp"                 # count rho instead of epsilon: many answers are sharper; caps then hold with
# delta = 1e-6                        # this delta. A ledger of pure epsilon moves over, and there is no way back
{offered}
[identity]                            # see: fedgroup certificates --help
folder = "{folder}"                   # this party's certificate and keys
authority = "{authority}"             # where ca.pem and revoked.pem are: they come with the certificate
"""

_UNKNOWN = """\
# attributes = ["fare"]               # for users, here only: what can be summed; all else is refused uncharged
# times = true                        # likewise: whether records have times; false: time windows are refused
"""

_PROVIDER = """\
# A provider of a fedgroup federation: it coordinates, and sees noisy, masked or sealed values only.
# Start it with: fedgroup provider --config {file}

{common}
[broker]
embedded = true                       # false: use the MQTT broker at this address (mosquitto, NATS)
host = "{host}"
port = {port}

[http]                                # where users ask, with tokens made by: fedgroup users add
host = "{host}"
port = {http_port}
tls = false                           # true: serve with the provider's certificate
# head_seconds = 10                   # the head of a request that takes longer ends its connection
# connections = 1000                  # the most in all; also connections_per_address, connections_without_token
# proxies = ["192.0.2.7"]             # addresses of proxies: no limit for each; this machine has none anyway

[page]                                # the map for browsers, with the extra [page]
# outlines = "districts.geojson"      # GeoJSON to draw below areas: 'fedgroup basemap' makes coast and names
# maps = ["map.parquet"]              # private maps that are published on it, as 'fedgroup ask map --out' writes them
# tiles = "https://host/{{z}}/{{x}}/{{y}}.png"    # if lonlat; browsers then ask this server, too
# credit = "Tiles by ..."             # the line that it asks for

[answers]
seconds = 10.0                        # how long a round of a question may take; a spoilt one is run once more
least_owners = 1                      # a question is refused, and costs nothing, if fewer owners are here
least_share = 0.0                     # likewise for this share of all known owners
messages_at_once = 4000               # questions under way times owners; more questions wait, and then are refused
vectors_mb = 32                       # what owners may be sending at once: maps are asked for in waves
cohort_size = 50                      # masked cohorts have about this many members
# most_records = 10000                # of one owner in one bin: sums beyond what members can give are refused
mpc_most = 500                        # the most members of any group; mpc, all owners in one, is refused beyond
colluders = 1                         # how many members of a masked group may pool what they know
dropouts = 0.1                        # which share of them may be silent
recovery = true                       # who falls silent in the middle is left out, and nobody is asked, or pays, again

[grouping]                            # how owners are grouped, unless a request for a plan says it
columns = 5                           # cells of the grid that owners are compared on; few owners need a coarse one
rows = 5
graph = "likely"                      # or {graphs}
leftovers = "cohort"                  # owners that could not be placed form masked cohorts; or stay "alone"

[state]
file = "provider.db"                  # users, questions, plans: nothing private, but keep it
keep_days = 90                        # questions, their keys and answers are forgotten then; what users spent never is

# [[standing]]                        # a map that is asked for anew for every window of time, once that is over
# name = "hourly"
# user = "standing"                   # whose allowance pays: fedgroup users add standing --allowance 100
# every = "hour"                      # or day, week, "15min"
# grace = "10m"                       # it is asked for so long after a window's end; later records are in no map
# catch_up = 168                      # so many windows that were missed are asked for later, the oldest first
# levels = 1                          # 2: a map of every 16 windows too, 3: of every 256; each costs as much again
# map = {{ grid = [10, 10], epsilon = 0.1 }}      # the question, as POST /v1/maps takes it
"""

_OWNER = """\
# An owner in a fedgroup federation: its records stay here, and so does the last word.
# Start it with: fedgroup owner --config {file} (the first time with --new-ledger)

{common}
[broker]
host = "{host}"
port = {port}
# spread_seconds = 30                 # who lost the broker comes back within so long; for federations of many thousands

[silo]                                # where the records are; see docs/how-to/silos.md
{silo}
{more_silo}
[ledger]                              # this owner's own account of what it has spent; as private as the records
{ledger}
cap = {cap}                            # the most epsilon per epoch, vectors and answers together
# per = "day"                         # windows of the records' time, in UTC: hour, day, week (from Monday), or "15min"
# window_cap = 1.0                    # the most epsilon that one such window may cost, besides the cap of all
# windows = 7                         # any so many consecutive windows share window_cap; else each has its own
# mark_every = 1.0                    # the most epsilon that a restored backup can lack unnoticed; else a tenth of cap
keep_days = 90                        # how long it can repeat what it said; what it was charged it keeps for ever

[pace]
every_ms = {every_ms:<26g} # replies leave at public moments so far apart, more than counting takes,
                                      # so that their times tell nothing of the records; 0: at once

[policy]                              # what this owner refuses, whoever asks
highest_epsilon = 1.0                 # the most one answer may cost
# highest_setup = 0.5                 # the most one noisy vector, for grouping, may cost; else as an answer
kinds = [{kinds}]
# attributes = ["fare"]               # the columns that may be summed; else all that the silo names
modes = ["masked"]                    # "trusted" too, if leaders of its groups may see its exact answers
trusted_with = []                     # the owners it may be in trusted groups with, by name; ["*"]: all
fewest_members = 3                    # of a masked group that answer together, itself included
fewest_colluders = 1                  # how many of them may pool what they know without harm, at least
smallest_radius = 0.0                 # every part of a range has room for such a circle (metres if lonlat)
smallest_cell = 0.0                   # every place of a map has room for such a square
most_bins = {most_bins}                     # of one map: places times steps of time times categories
# most_records = 10000                # in one bin at most, told to all; more count as so many
shortest_window = 0                   # the least length of a time window: seconds, or "15m", "1h", "7d"
# complete_after = "10m"              # a question's time must be over for so long, by this machine's clock
tell_left = false                     # true: the provider, and so its users, may know what is left of the cap
comparisons = 0                       # secure comparisons per epoch; each shows one exact bit about two owners
"""

OWN_LEDGER = """\
file = "ledger.db"
# shared = true                       # the file holds the ledgers of all owners of one process: docs/how-to/operate.md
# mark = "../marks/0.mark"            # and this one, in another folder, tells how far they came\
"""

PARQUET_SILO = """\
kind = "parquet"
path = "records.parquet"
x = "x"
y = "y"\
"""

_MORE_SILO = """\
# time = "time"                       # the column of times; without it time windows are refused
# attributes = ["fare"]               # the columns of numbers that may be summed
# subject = "car"                     # whose a record is inside this owner; without it the owner is its only subject
# texts = ["category"]                # the columns of words by which a map may tell records apart
# order = "time"                      # which records are first, needed with max_records
"""


def provider_text(
    *,
    file: str,
    federation: str,
    domain: str,
    lonlat: bool,
    host: str,
    port: int,
    http_port: int,
    offered: str = _UNKNOWN,
    **places: str,
) -> str:
    """Return a provider's file; `offered` are the lines about attributes and times."""
    common = _common(federation, domain, lonlat, places, offered)
    graphs = _quoted(name for name in PRIVATE if name != UsualGrouping().graph)
    return _PROVIDER.format(file=file, common=common, host=host, port=port, http_port=http_port, graphs=graphs)


def owner_text(
    *,
    file: str,
    federation: str,
    domain: str,
    lonlat: bool,
    host: str,
    port: int,
    cap: float = 10.0,
    silo: str | None = None,
    ledger: str = OWN_LEDGER,
    **places: str,
) -> str:
    """Return an owner's file; `ledger` are the lines that say where its ledger is."""
    common = _common(federation, domain, lonlat, places, "")
    silos = {"silo": PARQUET_SILO, "more_silo": _MORE_SILO} if silo is None else {"silo": silo, "more_silo": ""}
    return _OWNER.format(
        file=file,
        common=common,
        host=host,
        port=port,
        cap=cap,
        kinds=_quoted(KINDS),
        most_bins=MOST_WORDS,
        every_ms=EVERY_MS,
        ledger=ledger,
        **silos,
    )


def _common(federation: str, domain: str, lonlat: bool, places: dict[str, str], offered: str) -> str:
    facts = {"federation": federation, "domain": domain, "lonlat": str(lonlat).lower(), "offered": offered}
    return _FEDERATION.format(**facts, **places)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
