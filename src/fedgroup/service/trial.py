"""`fedgroup up`: a trial federation with its provider here and its owners in processes of their own."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedgroup.epsilon import Epsilon
from fedgroup.errors import FedgroupError, InvalidInput
from fedgroup.live.config import ProviderConfig, read_config
from fedgroup.live.plans import LivePlan
from fedgroup.live.stopping import stop_on_signals
from fedgroup.live.trial import TrialCity, owner_processes
from fedgroup.service.client import aconnect
from fedgroup.service.pages.examples import ExampleCity
from fedgroup.service.pages.mounting import page_settings
from fedgroup.service.provider_process import Serving, serving
from fedgroup.service.requests import PlanAsked, grid_of, grouping_settings

log = logging.getLogger("fedgroup.service")

ACCESS_FILE = "up.json"
ALLOWANCE = Epsilon.of(1000)
_PROCESSES = 2
_PATIENCE_S = 60.0


async def run_trial(
    trial: TrialCity,
    *,
    http_port: int,
    epsilon: float,
    map_epsilon: float | None = None,
    told: Callable[[dict[str, Any]], None],
    browse: Callable[[str], Any] | None = None,
    examples: ExampleCity | None = None,
    outlines: Path | None = None,
) -> None:
    """Run a trial federation until Ctrl-C or SIGTERM; tell where it is once all owners are here.

    With `map_epsilon` it publishes a map for that at its start, unless there is one already.
    `browse` is given an address that signs in on the map, once and soon; `examples` are for the page to learn on,
    `outlines` GeoJSON for the map, in the city's coordinates.
    """
    config = read_config(trial.provider, ProviderConfig)
    pages = page_settings(config, outlines=outlines, examples=examples)
    access = trial.folder / ACCESS_FILE
    with stop_on_signals() as stop:
        async with (
            serving(_with_port(config, http_port), pages=pages) as up,
            owner_processes(trial.owners, port=up.broker_port, processes=_PROCESSES),
        ):
            if not await up.provider.desk.until_present(len(trial.owners), _PATIENCE_S):
                raise InvalidInput(f"only {len(up.provider.desk.present)} of {len(trial.owners)} owners came up")
            plan = up.provider.plan or await _grouped(up, epsilon)
            try:
                token = _write_access(access, up)
                facts = _facts(up, plan, owners=len(trial.owners)) | {"access": str(access)}
                told(facts | {"map": await _mapped(up, token, map_epsilon)})
                if browse is not None and (address := up.page_for(token)) is not None:
                    await asyncio.to_thread(browse, address)
                await stop.wait()
            finally:
                access.unlink(missing_ok=True)


def _facts(up: Serving, plan: LivePlan, *, owners: int) -> dict[str, Any]:
    """Return where a federation is and how many groups it is in, counted as answers count them."""
    groups, _ = up.provider.partition(plan)
    facts = {"url": up.url, "owners": owners, "groups": groups, "alone": up.provider.alone(plan)}
    return facts | ({} if up.page is None else {"page": up.page})


async def _grouped(up: Serving, epsilon: float) -> LivePlan:
    """Group as a request for a plan that says nothing but its price would."""
    price, settings = Epsilon.of(epsilon), up.provider.settings
    asked, usual = PlanAsked.model_construct(epsilon=float(price)), settings.grouping
    chosen = grouping_settings(asked, usual, settings.protection)
    return await up.provider.regroup(chosen, epsilon=price, grid=grid_of(asked, usual))


async def _mapped(up: Serving, token: str, epsilon: float | None) -> float | None:
    """Publish the map that the first page shows, and return what it cost; None: there is none.

    One that was published before stays as it is, and costs nothing again.
    """
    async with aconnect(up.url, token) as federation:
        try:
            return (await federation.published()).epsilon
        except InvalidInput:
            if epsilon is None:
                return None
        try:
            return (await federation.publish(epsilon=epsilon)).epsilon
        except FedgroupError as error:  # owners' budgets may be spent: the rest goes on
            log.warning("no map was published: %s", error)
            return None


def _write_access(path: Path, up: Serving) -> str:
    """Write where the federation is and a token for it, for this user's eyes only, and return the token."""
    token = up.state.add_user("you", allowance=ALLOWANCE, role="operator")
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"url": up.url, "token": token, "ca": None}, file)
    return token


def _with_port(config: ProviderConfig, port: int) -> ProviderConfig:
    from msgspec.structs import replace

    return replace(config, http=replace(config.http, port=port))
