"""Calls in the name of many owners of one process: what one of them raises holds up no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


def guarded(call: Callable[..., object], *given: Any) -> None:
    """Call something in a running loop; an error is told as that of any callback, and goes no further."""
    try:
        call(*given)
    except Exception as error:
        told(error)


def told(error: Exception) -> None:
    """Tell the running loop of an error that goes no further."""
    context = {"message": "a call for one of many owners failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)
