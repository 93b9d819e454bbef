"""`fedgroup bench live`: a question to live owners, against bare echoes of as many messages through the same broker.

Owners are files, certificates, ledgers and connections of their own, spread over two processes; the provider is a third
process, and the broker is mosquitto or in it. Every answer is charged on disk before it leaves.

reference_s   an echo by aiomqtt, the usual client, where it is installed; measured after the others
own_echo_s    an echo over our own connections, which are faster
kept_echo_s   that, with one durable row written by every owner first

The latter two and questions take turns, so that whatever else the machine does burdens all. Questions and our own
echoes are sealed from end to end; the first row tells what that alone costs.

A row tells what a grouping of live owners by the hybrid graph takes (`live_grouping.py`), with every comparison run.

The last rows are of many users who ask over HTTP at once, beside as many echoes at once (`live_load.py`): the median
time of a question and of an echo, and how many of each there were in a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb

if TYPE_CHECKING:
    from fedgroup.lab.bench.live_load import Loaded
    from fedgroup.lab.bench.live_sides import Timed


_ANSWERS = 1_000
_SERVICE = ("fastapi", "httpx", "uvicorn")
"""What users ask over HTTP with; without it there is no row of them."""


def missing() -> str | None:
    """Return what this installation lacks for the bench, or none; mosquitto is used if it is there."""
    return None if find_spec("msgspec") else "msgspec not installed; install fedgroup with the extra [live]"


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row per broker, number of owners and method."""
    from fedgroup.lab.bench.live_sides import measure_federation
    from fedgroup.lab.bench.mosquitto_server import program
    from fedgroup.live.running import allow_open_files

    outside = () if program() is None else ("mosquitto",)
    brokers = ("embedded", *outside)[-1 if quick else 0 :]
    cases = [(owners, broker) for owners in ((6,) if quick else (100, 1_000)) for broker in brokers]
    allow_open_files()
    yield _sealing(repeats=3 if quick else 31)
    for owners, broker in cases:
        for timed in measure_federation(owners, broker, repeats=3 if quick else 15):
            yield _row(timed, owners, broker)
    if outside:
        yield from _maps(quick=quick)
        yield _grouping(owners=8 if quick else 200)
    if all(find_spec(name) for name in _SERVICE):
        for broker in brokers:
            yield _load(broker, quick=quick)
        if not quick:
            yield _load(brokers[-1], quick=quick, hosted=True)


def _maps(*, quick: bool) -> Iterator[BenchRow]:
    from fedgroup.lab.bench.live_sides import measure_maps

    for owners, side in [(6, 8)] if quick else [(200, 64), (1_000, 64)]:
        for timed in measure_maps(owners, side=side, repeats=1 if quick or owners > 200 else 5):
            yield BenchRow(
                f"map of {timed.cells:,} cells by {timed.method}, {owners:,} owners, mosquitto broker",
                timed.ours_s,
                timed.peak_mb,
                "a bare MQTT echo of messages as long, over our own connections",
                timed.echo_s,
                {"owners": owners, "cells": timed.cells},
            )


def _grouping(*, owners: int) -> BenchRow:
    from fedgroup.lab.bench.live_grouping import measure_grouping

    timed = measure_grouping(owners)
    return BenchRow(
        f"hybrid grouping, {owners:,} owners, mosquitto broker",
        timed.ours_s,
        timed.peak_mb,
        "as many bare MQTT echoes as it takes rounds, over our own connections",
        timed.rounds * timed.echo_s,
        {"owners": owners, "rounds": timed.rounds, "comparisons": timed.comparisons, "groups": timed.groups},
    )


def _load(broker: str, *, quick: bool, hosted: bool = False) -> BenchRow:
    from fedgroup.lab.bench.live_load import measure_load

    owners, users, seconds = (6, 3, 1) if quick else (200, 20, 60)
    loaded = measure_load(broker, owners=owners, users=users, seconds=seconds, hosted=hosted)
    how = f"{broker} broker" + (", ledgers of a process in one file" if hosted else "")
    return _load_row(loaded, owners, users, seconds, how)


def _load_row(loaded: Loaded, owners: int, users: int, seconds: int, how: str) -> BenchRow:
    questions, echoes = loaded.questions, loaded.echoes
    more = {
        "questions_a_second": questions.a_second,
        "p50_s": questions.quantile_s(0.5),
        "p99_s": questions.quantile_s(0.99),
        "failed": questions.failed,
        "charged_but_unanswered": questions.charged_but_unanswered,
        "echoes_a_second": echoes.a_second,
        "echo_p99_s": echoes.quantile_s(0.99),
        "owners": owners,
    }
    return BenchRow(
        f"{users} users x {owners:,} owners, {seconds} s, {how}",
        questions.quantile_s(0.5),
        loaded.peak_mb,
        f"bare echoes, {users} at once, over our own connections",
        echoes.quantile_s(0.5),
        more,
    )


def _sealing(*, repeats: int) -> BenchRow:
    """Time 1,000 answers sealed by their owners and opened by the provider, against the least that proves a sender."""
    import hmac

    from fedgroup.secure.channel import binding, owners_side, providers_side
    from fedgroup.secure.pair_keys import OwnerKey

    own, theirs, fresh, their_fresh = (OwnerKey.fresh() for _ in range(4))
    bound = binding(b"bench")
    provider = providers_side(own, fresh, owner=theirs.public, owners_fresh=their_fresh.public, bound=bound)
    owner = owners_side(theirs, their_fresh, provider=own.public, providers_fresh=fresh.public, bound=bound)
    said, key = bytes(150), bytes(32)

    def sealed() -> None:
        for _ in range(_ANSWERS):
            provider.open(owner.seal(said))

    def tagged() -> None:
        for _ in range(_ANSWERS):
            hmac.compare_digest(hmac.digest(key, said, "sha256"), hmac.digest(key, said, "sha256"))

    ours_s, reference_s = median_seconds(sealed, repeats=repeats), median_seconds(tagged, repeats=repeats)
    more = {"microseconds_each": ours_s / _ANSWERS * 1e6}
    return BenchRow(
        f"{_ANSWERS:,} answers sealed and opened", ours_s, peak_mb(), "HMAC-SHA256 at both ends", reference_s, more
    )


def _row(timed: Timed, owners: int, broker: str) -> BenchRow:
    usual = timed.aiomqtt_echo_s
    by = "over our own connections" if usual is None else "by aiomqtt"
    echo = f"a bare MQTT echo of as many messages {by}" + (f", {timed.trips} times" if timed.trips > 1 else "")
    name = "masked cohorts" if timed.method == "cohorts" else timed.method
    echoes = {"own_echo_s": timed.echo_s, "kept_echo_s": timed.kept_echo_s}
    more = {**echoes, "owners": owners, "messages": 2 * timed.trips * owners}
    return BenchRow(
        f"{name}, {owners:,} owners, {broker} broker",
        timed.ours_s,
        timed.peak_mb,
        echo,
        timed.echo_s if usual is None else usual,
        more,
    )
