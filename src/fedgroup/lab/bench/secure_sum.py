"""`fedgroup bench secure-sum`: one query's masked sum, with its noise, against a sequential garbled sum.

All owners' work is done by one process on one core. Key agreement is simulated (`simulated_secrets`); what a real one
costs is measured on a sample and given as `agreement_us`, per owner and neighbour. The reference is measured for a few
owners, without any network, and extrapolated in proportion to the owners: its only cost is one addition an owner.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedgroup.lab.bench.garbled_sum import sequential_sum
from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.lab.bench.processes import Alone
from fedgroup.privacy.keystream import Keystream
from fedgroup.privacy.noise import SecureNoise
from fedgroup.secure.mask_graph import mask_edges
from fedgroup.secure.masking import Ints, Positions, Secrets, masked, pair_masks, round_context, sums_of_masked
from fedgroup.secure.member import WORD_BYTES
from fedgroup.secure.pair_keys import OwnerKey, agree, simulated_secrets
from fedgroup.secure.terms import MaskedTerms

EPSILON = Fraction(3, 10)
REFERENCE_OWNERS = 50
_AGREEMENTS = 200


@dataclass(frozen=True)
class Sequential:
    """What the reference took, an owner."""

    owners: int
    seconds_per_owner: float
    bytes_per_owner: float


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row for a group in which all pairs share masks, and for a large one on a regular graph."""
    reference = Alone(measure_sequential, REFERENCE_OWNERS, 1 if quick else 5).result()
    for owners, bad_share in ((200, 1.0), (20_000, 0.2)) if quick else ((1_000, 1.0), (1_000_000, 0.2)):
        seconds, peak, more = Alone(measure_masked, owners, bad_share, 1 if quick else 5).result()
        graph = "all pairs" if bad_share == 1 else "regular graph"
        yield BenchRow(
            case=f"{owners:,} owners, {graph}",
            ours_s=seconds,
            peak_mb=peak,
            reference=f"sequential garbled sum, extrapolated from {reference.owners} owners",
            reference_s=reference.seconds_per_owner * owners,
            more=more | _told(reference),
        )


def _told(reference: Sequential) -> dict[str, Any]:
    return {
        "reference_extrapolated": True,
        "reference_measured_owners": reference.owners,
        "reference_s_per_owner": reference.seconds_per_owner,
        "reference_bytes_per_owner": reference.bytes_per_owner,
    }


def measure_sequential(owners: int, repeats: int) -> Sequential:
    """Return what a sequential garbled sum takes, an owner."""
    stream = bench_stream(b"sequential")
    # Not private: a bench's entropy is a known keystream, which costs about what real entropy does.
    entropy = lambda size: stream.words(size, np.uint8).tobytes()
    values = _values(owners).tolist()
    sequential_sum(values[:2], entropy=entropy)
    result = sequential_sum(values, entropy=entropy)
    if result.value != sum(values):
        raise RuntimeError("the sequential sum is wrong")
    seconds = median_seconds(lambda: sequential_sum(values, entropy=entropy), repeats=repeats)
    return Sequential(owners, seconds / (owners - 1), result.bytes_sent / (owners - 1))


def measure_masked(owners: int, bad_share: float, repeats: int) -> tuple[float, float, dict[str, Any]]:
    """Return the seconds of one masked sum, the peak memory, and the sizes."""
    values = _values(owners)
    _prepared(2, bad_share)  # kernels are loaded before anything is timed
    began = time.perf_counter()
    query = _prepared(owners, bad_share)
    setup_s = time.perf_counter() - began
    query.total(values, round_id=b"first")
    rounds = iter(range(repeats))
    seconds = median_seconds(lambda: query.total(values, round_id=str(next(rounds)).encode()), repeats=repeats)
    more = {
        "setup_s": setup_s,
        "agreement_us": _agreement_us(),
        "owners": owners,
        "pairs": len(query.first),
        "bytes_per_owner": max(WORD_BYTES),
        "noise_parts": query.terms.parts,
    }
    return seconds, peak_mb(), more


@dataclass(frozen=True)
class MaskedQuery:
    """All that stands before a query comes: who shares which secret with whom."""

    terms: MaskedTerms
    first: Positions
    second: Positions
    pair_secrets: Secrets
    noise: SecureNoise

    def total(self, values: Ints, *, round_id: bytes) -> int:
        """Return the sum of all owners' values and noise shares, and make sure that it is."""
        shares = self.noise.laplace_shares(1 / EPSILON, self.terms.parts, len(values))
        context = round_context(
            question=b"bench",
            epsilon_nano=int(EPSILON * 10**9),
            parts=self.terms.parts,
            roster_digest=b"",
            epoch=1,
            round_id=round_id,
        )
        sent = masked(values + shares, self.first, self.second, pair_masks(self.pair_secrets, context))
        total = int(sums_of_masked(sent, np.zeros(len(values), dtype=np.int32), 1)[0])
        if total != int(values.sum() + shares.sum()):
            raise RuntimeError("the masked sum is wrong")
        return total


def _prepared(owners: int, bad_share: float) -> MaskedQuery:
    seed = hashlib.sha256(b"fedgroup bench").digest()
    first, second = mask_edges(np.zeros(owners, dtype=np.int32), seed=seed, bad_share=bad_share)
    return MaskedQuery(MaskedTerms(owners), first, second, simulated_secrets(seed, first, second), noise=SecureNoise())


def _agreement_us() -> float:
    """Return what one owner's key agreement with one neighbour takes."""
    own, theirs = OwnerKey.fresh(), OwnerKey.fresh().public
    return median_seconds(lambda: agree(own, theirs), repeats=_AGREEMENTS) * 1e6


def bench_stream(purpose: bytes) -> Keystream:
    """Return known random bits, the same in every run."""
    return Keystream(hashlib.sha256(b"fedgroup bench, not private " + purpose).digest())


def _values(owners: int) -> Ints:
    """Return counts from 0 to 15."""
    return (bench_stream(b"values").words(owners, np.uint8) & np.uint8(15)).astype(np.int64)
