"""How many files and connections a process may have open: a thousand owners are more than the usual 1,024."""

from __future__ import annotations

import contextlib

_USUAL = 1_024


def allow_open_files() -> None:
    """Raise this process' limit, and that of those it starts, to what the system allows it."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def files_allowed() -> int:
    """Return how many files and connections this process may have open now."""
    try:
        import resource
    except ImportError:
        return _USUAL
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if allowed == resource.RLIM_INFINITY else allowed
