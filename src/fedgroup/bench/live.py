"""`fedgroup bench live`: a question to live owners, against bare echoes of as many messages through the same broker.

Owners are files, certificates, ledgers and connections of their own, spread over two processes; the provider is a third
process, and the broker is mosquitto or in it. Every answer is charged on disk before it leaves.

reference_s   an echo by aiomqtt, the usual client, where it is installed; measured after the others
own_echo_s    an echo over our own connections, which are faster
kept_echo_s   that, with one durable row written by every owner first

The latter two and questions take turns, so that whatever else the machine does burdens all.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fedgroup.bench.measuring import Row

if TYPE_CHECKING:
    from fedgroup.bench.live_sides import Timed


def missing() -> str | None:
    """Return what this installation lacks for the bench, or none; mosquitto is used if it is there."""
    lacking = [name for name in ("amqtt", "msgspec") if find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed; install fedgroup with the extra [live]" if lacking else None


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield a row per broker, number of owners and method."""
    from fedgroup.bench.live_sides import measure_federation
    from fedgroup.bench.mosquitto_server import program
    from fedgroup.live.open_files import allow_open_files

    outside = () if program() is None else ("mosquitto",)
    cases = [(6 if quick else 100, broker) for broker in ("embedded", *outside)]
    cases += [] if quick else [(1_000, broker) for broker in ("embedded", *outside)]
    allow_open_files()
    for owners, broker in cases:
        for timed in measure_federation(owners, broker, repeats=3 if quick else 15):
            yield _row(timed, owners, broker)


def _row(timed: Timed, owners: int, broker: str) -> Row:
    usual = timed.aiomqtt_echo_s
    by = "over our own connections" if usual is None else "by aiomqtt"
    echo = f"a bare MQTT echo of as many messages {by}" + (", twice" if timed.trips > 1 else "")
    name = "masked cohorts" if timed.method == "cohorts" else timed.method
    echoes = {"own_echo_s": timed.echo_s, "kept_echo_s": timed.kept_echo_s}
    more = {**echoes, "owners": owners, "messages": 2 * timed.trips * owners}
    return Row(
        f"{name}, {owners:,} owners, {broker} broker",
        timed.ours_s,
        timed.peak_mb,
        echo,
        timed.echo_s if usual is None else usual,
        more,
    )
