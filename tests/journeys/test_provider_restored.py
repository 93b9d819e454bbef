"""A provider whose machine is lost: its file is restored from a copy, as operate.md tells, and it goes on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from journey_roles import Roles, documented, free_ports, typed

import fedgroup as fg

PLACE = fg.Circle(10_000, 10_000, 3_000)
EPSILON = 0.5


def test_a_provider_restored_from_a_copy_goes_on_and_has_forgotten_what_was_spent_since(tmp_path: Path) -> None:
    with Roles(tmp_path, owners=3) as roles:
        (port,) = free_ports(1)
        roles.point_provider_at(port, embedded=True)
        provider, url = roles.start_provider()
        owners = roles.start_owners("owners", roles.trial.owners, port)
        copy = tmp_path / "provider-2026-11-15.db"
        backup, *restore = (
            line.replace("/backup/provider-2026-11-15.db", str(copy))
            for section in ("Back up, and restore with care", "When the provider is lost")
            for line in documented(section)
            if "provider" in line
        )
        with roles.client(url, present=3) as user:
            ask = lambda user: user.count(PLACE, epsilon=EPSILON, method="dp", fresh=True).heard
            assert ask(user) == 3
            typed(backup, roles.trial.folder)
            assert [ask(user), ask(user)] == [3, 3]
            assert user.budget()["spent"] == pytest.approx(3 * EPSILON)
        provider.end()  # kill -9
        assert restore.pop() == "fedgroup provider --config provider.toml"
        for line in restore:
            subprocess.run(["sh", "-c", line], cwd=roles.trial.folder, check=True)
        again, url = roles.start_provider("restored")
        with roles.client(url, present=3) as user:
            assert user.budget()["spent"] == pytest.approx(EPSILON)  # the truth is three times as much
            assert ask(user) == 3
            assert user.budget()["spent"] == pytest.approx(2 * EPSILON)
        assert [owners.stop(), again.stop()] == [0, 0]
        assert roles.spent() == {4 * EPSILON}  # owners forgot nothing
