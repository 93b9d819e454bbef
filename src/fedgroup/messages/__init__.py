"""The only values that travel between roles: `values` in one process and between processes, `live` on a wire.

Requires:  a value made from records reaches a message only through `privacy/release.py`.
Guarantee: every message is public (questions, partitions), differentially private (noisy vectors, noisy answers),
           masked, or sealed for one owner; none shows a record or an exact count to anyone else.
"""

from fedgroup.messages.values import (
    Flags,
    Grouping,
    Labels,
    MaskedAnswers,
    NoiseScale,
    Noisy,
    NoisyAnswers,
    NoisyTotals,
    NoisyVectors,
    Partition,
    Variances,
)

__all__ = [
    "Flags",
    "Grouping",
    "Labels",
    "MaskedAnswers",
    "NoiseScale",
    "Noisy",
    "NoisyAnswers",
    "NoisyTotals",
    "NoisyVectors",
    "Partition",
    "Variances",
]
