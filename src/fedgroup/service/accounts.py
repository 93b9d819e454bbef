"""Who asks: the user of a bearer token, and what only operators may do; who only reads may send it as a password."""

from __future__ import annotations

import asyncio
import base64
import binascii
import ipaddress
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from fastapi.security.http import HTTPBase

from fedgroup.live.expiry import Expiries
from fedgroup.live.provider import LiveProvider
from fedgroup.service.callers import vouch
from fedgroup.service.kept_maps import KeptMaps
from fedgroup.service.metrics import Metrics
from fedgroup.service.problems import Problem
from fedgroup.service.publications import Publications
from fedgroup.service.questions import Questions
from fedgroup.service.rates import Rates
from fedgroup.service.standing import StandingMaps
from fedgroup.storage.provider_state import ProviderState, User


@dataclass(frozen=True)
class Service:
    """What the paths of one application share."""

    provider: LiveProvider
    state: ProviderState
    questions: Questions
    rates: Rates
    metrics: Metrics
    expiries: Expiries
    maps: KeptMaps
    publications: Publications
    standing: StandingMaps


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service


_bearer = HTTPBearer(auto_error=False, description="the token that 'fedgroup users add' showed")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def current_user(request: Request, bearer: Bearer) -> User:
    """Return whose token this is; a missing one and an unknown one are replied to alike."""
    user = None
    if bearer is not None:
        user = await asyncio.to_thread(service_of(request).state.user_of, bearer.credentials)
    if user is None:
        raise Problem("unknown-token", "send the header 'Authorization: Bearer TOKEN' with the token of a user")
    vouch(request.scope)
    return user


_basic = HTTPBase(
    scheme="basic", scheme_name="HTTPBasic", auto_error=False, description="any name, and the token as its password"
)
Basic = Annotated[HTTPAuthorizationCredentials | None, Depends(_basic)]


async def reader(request: Request, bearer: Bearer, basic: Basic) -> User:
    """Return whose token this is, sent as a bearer's or as a password: programs that draw maps know the latter."""
    token = bearer.credentials if bearer is not None else _password(basic)
    user = None
    if token is not None:
        user = await asyncio.to_thread(service_of(request).state.user_of, token)
    if user is None:
        text = "send the header 'Authorization: Bearer TOKEN', or basic authentication with the token as the password"
        raise Problem("unknown-token", text, accepts=["Bearer", 'Basic realm="fedgroup"'])
    vouch(request.scope)
    return user


async def asking_user(request: Request, user: Annotated[User, Depends(current_user)]) -> User:
    """Return the user, whose question is counted; one too many is refused."""
    service_of(request).rates.take(user)
    return user


def _password(sent: HTTPAuthorizationCredentials | None) -> str | None:
    """Return the password of basic authentication; names are not looked at, for a token has one."""
    if sent is None or sent.scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(sent.credentials, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return decoded.partition(":")[2]


def is_operator(user: User) -> bool:
    return user.role == "operator"


async def operator(user: Annotated[User, Depends(asking_user)]) -> User:
    """Return the user, if it is an operator."""
    if not is_operator(user):
        raise Problem("operators-only", "this needs the token of an operator")
    return user


async def watcher(request: Request, bearer: Bearer) -> None:
    """Let operators watch, and whoever is on this very machine."""
    if bearer is None and _is_local(request):
        return
    user = await current_user(request, bearer)
    if not is_operator(user):
        raise Problem("operators-only", "this needs the token of an operator, or a request from the same machine")


def _is_local(request: Request) -> bool:
    """Tell whether a request comes from this machine itself, and not through a proxy on it."""
    if request.client is None or {"forwarded", "x-forwarded-for", "x-real-ip", "via"} & set(request.headers.keys()):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


AnyUser = Annotated[User, Depends(current_user)]
Reader = Annotated[User, Depends(reader)]
Asker = Annotated[User, Depends(asking_user)]
Operator = Annotated[User, Depends(operator)]
TheService = Annotated[Service, Depends(service_of)]
