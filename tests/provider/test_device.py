"""A graph is computed on a GPU only where there is one, and the question is settled before anything is spent."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

import fedgroup as fg
from fedgroup.provider.settings import GroupingSettings


@pytest.mark.parametrize(
    "wrong",
    [
        {"device": "tpu"},
        {"graph": "topcell", "device": "cuda"},
        {"graph": "noisy", "estimate": "debiased", "device": "cuda"},
    ],
)
def test_a_device_that_cannot_serve_is_refused(wrong: dict) -> None:
    with pytest.raises(fg.InvalidInput, match="device"):
        GroupingSettings(**wrong)


def test_a_missing_gpu_is_told_and_nothing_is_spent() -> None:
    federation = fg.Federation(fg.synthesize(20), budget=1)
    missing = r"fedgroup\[gpu\]" if find_spec("torch") is None else "no GPU"
    with pytest.raises(fg.InvalidInput, match=missing):
        federation.group(epsilon=0.5, graph="noisy", device="cuda")
    assert federation.spent == 0
