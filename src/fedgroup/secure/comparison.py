"""What two owners compare: public parameters, and each side's own numbers made from its count vector.

The bit is: does the inner product of the first side's unit vector (in fixed point) and the second side's counts exceed
r times the length of the second's? The second side adds what the first side's rounding can make up at most, so a pair
at or below the threshold is always "no"; a pair above it by less than `margin` may be "no" too. All of this is about
the second side's counts as scaled to `width` bits: scaling moves a similarity by up to sqrt(cells) / 2^width.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput
from fedgroup.secure.inner_product import Ring
from fedgroup.secure.sign import RING_BITS

Counts = npt.NDArray[np.int64] | npt.NDArray[np.int32]
MOST_FRACTION_BITS = 20
SESSION_BYTES = 32


@dataclass(frozen=True)
class SecureComparison:
    """The public parameters of a secure comparison: cos > threshold over `cells` counts of `width` bits."""

    cells: int
    threshold: float
    width: int = 8

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise InvalidInput(f"threshold must be at least 0 and below 1, got {self.threshold}")
        if self.cells < 1 or not 1 <= self.width <= 16:
            raise InvalidInput(
                f"a comparison needs cells and a width of 1 to 16 bits, got {self.cells} and {self.width}"
            )
        if self.fraction_bits < 8:
            raise InvalidInput(
                f"{self.cells} cells of {self.width} bits leave no room in {RING_BITS} bits; use fewer cells"
            )

    @property
    def fraction_bits(self) -> int:
        """How finely unit vectors are rounded: width + log2(cells) / 2 + fraction bits < ring bits - 1."""
        return max(filter(self._fits, range(MOST_FRACTION_BITS + 1)), default=0)

    def _fits(self, bits: int) -> bool:
        """Say, in whole numbers, whether the largest inner product and the largest limit stay below 2^31."""
        largest = 2**self.width - 1
        # Twice what is left of 2^31 beside the limit's roundings: 1/2 per count, and less than 4.
        room = 2**RING_BITS - 8 - largest * self.cells
        lengths = self.cells * 4 ** (self.width + bits) < 4 ** (RING_BITS - 1)
        return lengths and room > 0 and 4 * self.cells * (largest << bits) ** 2 <= room**2

    @property
    def margin(self) -> float:
        """How far above the threshold a pair may lie and still be a "no", besides the rounding of scaled counts."""
        return float((math.sqrt(self.cells) + 3) / 2**self.fraction_bits)

    def session(self, *, first: bytes, second: bytes, context: bytes) -> bytes:
        """Return the id of a session between two named owners about these parameters."""
        parts = (first, second, context, f"{self.cells} {float(self.threshold).hex()} {self.width}".encode())
        sized = (len(part).to_bytes(4, "big") + part for part in parts)
        return hashlib.sha256(b"fedgroup similarity v1" + b"".join(sized)).digest()

    def unit_vectors(self, counts: Counts) -> Ring:
        """Return the first side's vectors divided by their lengths, in fixed point; zeros stay zeros."""
        exact = np.asarray(counts, dtype=np.float64)
        length = np.sqrt(np.einsum("ij,ij->i", exact, exact))[:, None]
        units: Ring = np.rint(exact / np.where(length > 0, length, 1.0) * 2**self.fraction_bits).astype(np.uint32)
        return units

    def scaled_counts(self, counts: Counts) -> Ring:
        """Return the second side's vectors, those with a larger count than `width` bits hold scaled down to it."""
        largest = 2**self.width - 1
        exact = np.asarray(counts, dtype=np.float64)
        top = exact.max(axis=1, keepdims=True, initial=0)
        scaled = np.where(top > largest, np.rint(exact * (largest / np.maximum(top, 1.0))), exact)
        return scaled.astype(np.uint32)

    def limits(self, scaled: Ring) -> Ring:
        """Return what the second side's inner products must exceed; P - limit - 1 stays within 32 bits."""
        exact = scaled.astype(np.float64)
        length = np.sqrt(np.einsum("ij,ij->i", exact, exact))
        # The factor outweighs the rounding of this very formula; 1/2 per count that of the first side.
        least = np.ceil(self.threshold * length * 2**self.fraction_bits * (1 + 2.0**-48))
        rounding = np.ceil(exact.sum(axis=1) / 2) + 1
        return np.where(length > 0, least + rounding, 0).astype(np.uint32)
