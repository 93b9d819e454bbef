"""How many files and connections a process may have open: a thousand owners are more than the usual 1,024."""

from __future__ import annotations

import contextlib


def allow_open_files() -> None:
    """Raise this process' limit, and that of those it starts, to what the system allows it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
