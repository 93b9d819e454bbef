"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedgroup.errors import InvalidInput
from fedgroup.given import path_like


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the name of a draft beside `path`; the draft takes its place once all is written."""
    target = Path(path_like(path, name="what to write"))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.draft")
    try:
        yield draft
        os.replace(draft, target)
    except OSError:
        raise InvalidInput(f"{target} cannot be written; give a file in a folder that exists and is writable") from None
    finally:
        draft.unlink(missing_ok=True)
