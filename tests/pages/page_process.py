"""The process of a federation with pages, as tests hold it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 120.0


class Here:
    """The federation's process, and how it is told what to do."""

    def __init__(self, **settings: Any) -> None:
        script = Path(__file__).with_name("page_city.py")
        words = [sys.executable, str(script), json.dumps(settings)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = str(json.loads(self._process.stdout.readline())["url"])
        self._users = 0

    def tell(self, *words: Any) -> Any:
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())["said"]

    def new_user(self, allowance: float = 100, role: str = "user") -> tuple[str, str]:
        self._users += 1
        name = f"user-{self._users}"
        return name, self.tell("user", name, allowance, role)

    @contextmanager
    def held(self) -> Iterator[None]:
        """The server answers nothing until the end of the block."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()
