"""`fedgroup bench noise`: a million noises, against OpenDP's exact sampler."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from fedgroup.lab.bench.measuring import BenchRow, median_seconds, peak_mb
from fedgroup.privacy.noise import SecureNoise
from fedgroup.privacy.opendp_noise import OpenDPNoise

SCALES = (Fraction(10, 3), Fraction(500), Fraction(100_000))


def measure(*, quick: bool) -> Iterator[BenchRow]:
    """Yield a row per scale: that of a count at epsilon 0.3, and those of sums by table and by rejection."""
    count, reference_count = (10_000, 1_000) if quick else (1_000_000, 100_000)
    ours, theirs = SecureNoise(), OpenDPNoise()
    for scale in SCALES:
        ours.laplace(scale, 1)
        seconds = median_seconds(lambda scale=scale: ours.laplace(scale, count), repeats=1 if quick else 9)  # type: ignore[misc]
        reference = median_seconds(lambda scale=scale: theirs.laplace(scale, reference_count), repeats=1)  # type: ignore[misc]
        yield BenchRow(
            case=f"{count:,} noises of scale {float(scale):g}",
            ours_s=seconds,
            peak_mb=peak_mb(),
            reference=f"OpenDP's vector Laplace, {reference_count:,} noises in proportion",
            reference_s=reference * count / reference_count,
            more={"noises_per_s": count / seconds},
        )
