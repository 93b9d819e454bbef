"""The core touches nothing outside itself, and randomness enters by known doors only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fedgroup

SOURCE = Path(fedgroup.__file__).parent
CORE = ("owner", "provider", "user", "privacy", "messages", "space", "epsilon.py", "given.py", "errors.py")
OUTSIDE = {"open", "print", "input", "exec", "eval", "breakpoint"}

EXPERIMENTAL = ("data", "evaluation", "lab")
MADE_UP = {"provider/placing.py": "owners that a model is tried on, the same every time: they hide nobody"}
ENTROPY = {
    "privacy/noise.py": "noise",
    "secure/similarity.py": "a session's keys",
    "secure/pair_keys.py": "owners' keys",
    "owner/role.py": "ids of masked rounds",
    "owner/comparing.py": "ids of sessions",
    "federation/masks.py": "nonces, and keys of simulated owners",
    "federation/opening.py": "names of weak sources of noise",
    "federation/planning.py": "ids of plans",
    "data/drafts.py": "names of drafts",
    "identity/keys.py": "parties' and authorities' keys, salts and nonces of locked ones",
    "identity/issuing.py": "serial numbers",
    "service/calls.py": "idempotency keys",
    "service/standing.py": "ids of rounds",
    "service/pages/owner_page.py": "nothing: it compares tokens in constant time",
    "service/pages/sessions.py": "names of sessions, codes, the secret of cookies",
    "owner/groups.py": "numbers for the seed of a mask graph",
    "storage/hosted_file.py": "names of files of ledgers, and of ledgers in them",
    "storage/owner_ledger.py": "names of ledgers",
    "storage/provider_state.py": "users' tokens, names of questions",
    "live/asking.py": "ids of rounds",
    "lab/bench/live_load.py": "names of echoes",
    "live/comparing.py": "ids of sessions and steps",
    "live/forming.py": "ids of rounds, names of plans, the order of cohorts",
    "live/provider.py": "names of mended groups",
    "live/question.py": "ids of checks",
}


def modules(*rooms: str) -> list[Path]:
    places = [SOURCE / room for room in rooms] if rooms else [SOURCE]
    return sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def calls(path: Path) -> Iterator[str]:
    """The names of the plain functions that a module calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def reached(path: Path) -> set[str]:
    """The dotted names that a module imports or reads as attributes, `np` written out."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module)} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(f"{'numpy' if node.value.id == 'np' else node.value.id}.{node.attr}")
    return found


def uses(path: Path, *names: str) -> bool:
    return any(one == name or one.startswith(f"{name}.") for one in reached(path) for name in names)


@pytest.mark.parametrize("path", modules(*CORE), ids=named)
def test_the_core_opens_prints_and_asks_nothing(path):
    assert not OUTSIDE & set(calls(path))


def test_every_room_of_the_core_is_there():
    assert all((SOURCE / room).exists() for room in CORE)


@pytest.mark.parametrize("path", modules(), ids=named)
def test_weak_randomness_stays_in_data_evaluation_and_experiments(path):
    if named(path).split("/")[0] not in EXPERIMENTAL and named(path) not in MADE_UP:
        assert not uses(path, "random", "numpy.random")


def test_entropy_comes_from_known_places_only():
    takers = {named(path) for path in modules() if uses(path, "secrets", "os.urandom", "uuid", "os.getrandom")}
    assert takers == set(ENTROPY)


def test_noise_alone_takes_the_entropy_that_makes_releases_private():
    assert {named(path) for path in modules("privacy") if uses(path, "secrets", "os.urandom")} == {"privacy/noise.py"}
