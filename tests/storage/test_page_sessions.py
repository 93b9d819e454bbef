"""Who is signed in survives a restart, and the file gives nobody away."""

from __future__ import annotations

import stat

import pytest

from fedgroup.errors import LedgerUnavailable
from fedgroup.service.pages.sessions import Sessions
from fedgroup.storage import page_sessions
from fedgroup.storage.page_sessions import SessionStore

TOKEN = "a-token-that-nobody-may-read"


@pytest.fixture
def now():
    return [1_000.0]


@pytest.fixture
def started(tmp_path, now):
    """Start anew, as a process does."""
    stores = []

    def start() -> Sessions:
        stores.append(SessionStore(tmp_path / "provider.db.sessions", secret=f"secret of start {len(stores)}"))
        return Sessions(hours=8, clock=lambda: now[0], store=stores[-1])

    yield start
    for store in stores:
        store.close()


def test_sessions_and_the_secret_of_cookies_survive_a_restart(started, tmp_path):
    name = started().begin(TOKEN)
    again = started()
    assert again.find(name).token == TOKEN
    assert again.is_open(again.find(name))
    assert again._store.secret == "secret of start 0"


def test_what_ended_stays_ended(started, now):
    first = started()
    out, late = first.begin(TOKEN), first.begin(TOKEN)
    first.end(out)
    now[0] += 8 * 3600 + 1
    again = started()
    assert again.find(out) is None
    assert again.find(late) is None


def test_signing_out_after_a_restart_ends_a_session_for_good(started):
    name = started().begin(TOKEN)
    second = started()
    second.end(name)
    assert second.find(name) is None
    assert started().find(name) is None


def test_the_file_tells_neither_tokens_nor_names_and_is_for_its_user_only(started, tmp_path):
    name = started().begin(TOKEN)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert TOKEN.encode() not in content
        assert name.encode() not in content
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_that_was_made_up_opens_nothing(started):
    name = started().begin(TOKEN)
    assert started().find(name[:-1] + ("A" if name[-1] != "A" else "B")) is None


def test_only_so_many_are_kept(started, monkeypatch, now):
    monkeypatch.setattr(page_sessions, "MOST", 3)
    sessions = started()
    for _ in range(10):
        now[0] += 1
        sessions.begin(TOKEN)
    (count,) = sessions._store._connection.execute("SELECT count(*) FROM sessions").fetchone()
    assert count <= 4


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "other").write_text("no database" * 1000)
    with pytest.raises(LedgerUnavailable, match="sign in again"):
        SessionStore(tmp_path / "other", secret="s")
