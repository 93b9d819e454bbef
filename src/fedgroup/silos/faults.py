"""A database's errors as our own: told by their class and code, because their texts quote rows, hosts and passwords."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeVar

from fedgroup.errors import InvalidInput, SiloUnavailable

T = TypeVar("T")
Foreign = tuple[type[Exception], ...]


def asked(work: Callable[[], T], *, foreign: Foreign, forget: Callable[[], None]) -> T:
    """Return what the work returns; a foreign error becomes `SiloUnavailable`, and any error forgets the connection."""
    try:
        return work()
    except foreign as error:
        fault = named(error)
    except BaseException:
        forget()
        raise
    # Outside of the handler, so that the foreign error and its text are not kept with ours.
    forget()
    raise unavailable(fault)


def fetched(rows: Iterator[T], *, foreign: Foreign, forget: Callable[[], None]) -> Iterator[T]:
    """Yield what comes; a foreign error forgets the connection and becomes `SiloUnavailable`."""
    try:
        yield from rows
    except foreign as error:
        fault = named(error)
    else:
        return
    forget()
    raise unavailable(fault)


def named(error: Exception) -> str:
    """Return an error's class, and the database's code for it if there is one."""
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    kind = type(error).__name__
    return f"{kind} {code}" if isinstance(code, str) else kind


def unavailable(fault: str) -> SiloUnavailable:
    """Return the error that says which fault keeps a silo from answering."""
    return SiloUnavailable(f"the silo's database cannot be asked now ({fault}); nothing was answered, try later")


def driver(name: str, *, kind: str) -> Any:
    """Return a database's driver, which an extra brings."""
    try:
        return import_module(name)
    except ImportError:
        raise InvalidInput(f"a silo of kind {kind} needs {name}: pip install 'fedgroup[silos]'") from None
