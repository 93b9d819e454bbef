"""Who is similar to whom among a million owners: all pairs on one GPU, decided as `provider.similarity` decides them.

Half-precision matrix units look at all pairs and drop those that are certainly not similar. What passes, the edges
and few more, is decided by one rule, in 64-bit floats and from whole-number dot products: the graph is the CPU's,
edge by edge. The filter compares operand[i] . operand[j] with bound[i] * length[j], in one of two forms:

  exact    Entries of at most 2^11 are float16 numbers, and while squared lengths are at most 2^24, every partial sum
           of a dot product is a whole number that float32 holds (Cauchy-Schwarz). Only the right-hand side is rounded,
           three times by a factor of at most 1 + 2^-24; the threshold is lowered by the factor 1 - 2^-20.
  rounded  Any other vector is divided by its length. Rounding moves it by at most r = u + sqrt(cells) 2^-24, u being
           the operand's unit roundoff (2^-11 in float16), hence a cosine by at most 2r + r^2, and summing moves it by
           at most cells 2^-22, so the threshold is lowered by their sum: 0.00101 at 128 cells.

The plain path, for machines without Triton, always takes the rounded form. Its products come out in float16, so its
threshold is lowered by 2^-8 more; on a CPU all of it is in float32.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from fedgroup.errors import InvalidInput
from fedgroup.provider.graph import SimilarityGraph

LARGEST_EXACT_ENTRY = 1 << 11
LARGEST_EXACT_SQUARE = 1 << 24
LARGEST_SQUARE = 1 << 53
"""Up to here whole-number dot products are exact in 64-bit floats."""
_TOO_LONG = "a vector's squared length must stay below 2^53; use smaller counts"
_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_DECIDED_TOGETHER = 1 << 24
"""How many cells are held as 64-bit floats at once, for each side of a product: 128 MB."""


class PairFilter(NamedTuple):
    """A pair i < j can be similar only if operand[i] . operand[j] > bounds[i] * lengths[j]."""

    operand: torch.Tensor
    bounds: torch.Tensor
    lengths: torch.Tensor


def all_pairs_graph(
    vectors: npt.NDArray[np.integer[Any]] | torch.Tensor,
    *,
    threshold: float,
    device: str = "cuda",
    block: int = 16384,
    fused: bool | None = None,
) -> SimilarityGraph:
    """Join every two owners whose whole-number vectors have cosine similarity above `threshold`.

    `fused` picks the Triton kernel (True) or plain torch (False); by default the kernel on a GPU with Triton. Plain
    torch looks at `block` x `block` pairs together.
    """
    if not math.isfinite(threshold):
        raise InvalidInput(f"a similarity threshold is a finite number, got {threshold}")
    if block < 1:
        raise InvalidInput(f"a block has at least 1 owner, got {block}")
    values = _on_device(vectors, device)
    if not values.numel():
        return SimilarityGraph(np.zeros(len(values) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
    squares = _squares(values)
    if float(squares.max()) >= LARGEST_SQUARE:
        raise InvalidInput(_TOO_LONG)
    if fused if fused is not None else _has_kernel(values):
        from fedgroup.provider.gpu_kernel import close_pairs

        candidates = close_pairs(*pair_filter(values, squares, threshold))
    else:
        candidates = _plain_pairs(values, squares, threshold, block)
    none = torch.empty(0, dtype=torch.int64, device=values.device)
    found = [_similar(keys, values, squares, threshold) for keys in candidates]
    return _graph(torch.cat([none, *found]), len(values))


def pair_filter(values: torch.Tensor, squares: torch.Tensor, threshold: float) -> PairFilter:
    """Return the float16 filter that lets every pair similar above `threshold` pass: exact where it can be."""
    low, high = torch.aminmax(values)
    if max(-int(low), int(high)) <= LARGEST_EXACT_ENTRY and float(squares.max()) <= LARGEST_EXACT_SQUARE:
        lengths = squares.sqrt()
        lowered = threshold - abs(threshold) * 2.0**-20
        return PairFilter(values.to(torch.float16), (lowered * lengths).float(), lengths.float())
    present = (squares > 0).float()
    lowered = threshold - margin(values.shape[1], 2.0**-11)
    return PairFilter(_unit_vectors(values, squares, torch.float16), lowered * present, present)


def margin(cells: int, roundoff: float) -> float:
    """Return how far rounding to `roundoff` and summing in float32 can move the cosine of two vectors."""
    moved = roundoff + math.sqrt(cells) * 2.0**-24
    return 2 * moved + moved**2 + cells * 2.0**-22


def _on_device(vectors: npt.NDArray[np.integer[Any]] | torch.Tensor, device: str) -> torch.Tensor:
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("torch finds no GPU here; use the graph that needs none")
    given = vectors if isinstance(vectors, torch.Tensor) else _as_tensor(np.asarray(vectors))
    if given.ndim != 2 or given.dtype not in _WHOLE:
        raise InvalidInput("vectors are a table of whole numbers, a row per owner and a column per cell")
    if len(given) >= 1 << 31:
        raise InvalidInput(f"a graph has fewer than 2^31 owners, got {len(given):,}")
    return given.to(device).contiguous()


def _as_tensor(vectors: npt.NDArray[Any]) -> torch.Tensor:
    """Return a tensor over the same memory, where torch has the type; unsigned and foreign integers are copied."""
    if vectors.dtype.kind not in "iu":
        raise InvalidInput("vectors are a table of whole numbers, a row per owner and a column per cell")
    if vectors.dtype == np.uint64 and (vectors >= 1 << 63).any():
        raise InvalidInput(_TOO_LONG)
    if not vectors.dtype.isnative or vectors.dtype in (np.uint16, np.uint32, np.uint64):
        vectors = vectors.astype(np.int64)
    with warnings.catch_warnings():
        # Nothing here writes to it, so an array that must not change needs no copy.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(np.ascontiguousarray(vectors))


def _squares(values: torch.Tensor) -> torch.Tensor:
    """Return every vector's squared length as a 64-bit float."""
    parts = [part.double().square().sum(1) for part in values.split(_rows_together(values))]
    return torch.cat(parts)


def _rows_together(values: torch.Tensor) -> int:
    return max(1, _DECIDED_TOGETHER // int(values.shape[1]))


def _has_kernel(values: torch.Tensor) -> bool:
    return values.is_cuda and find_spec("triton") is not None


def _unit_vectors(values: torch.Tensor, squares: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the vectors divided by their lengths, those without length as zeros."""
    units = torch.empty(values.shape, dtype=dtype, device=values.device)
    together = _rows_together(values)
    for start in range(0, len(values), together):
        rows = slice(start, start + together)
        units[rows] = values[rows].double() / squares[rows].clamp(min=1).sqrt()[:, None]
    return units


def _plain_pairs(values: torch.Tensor, squares: torch.Tensor, threshold: float, block: int) -> Iterator[torch.Tensor]:
    """Yield the keys i * owners + j of the pairs i < j that can be similar, a block of the upper triangle at a time."""
    owners, cells = values.shape
    dtype, lowered = torch.float32, threshold - margin(cells, 2.0**-24)
    if values.is_cuda:
        dtype, lowered = torch.float16, threshold - margin(cells, 2.0**-11) - 2.0**-8
    units = _unit_vectors(values, squares, dtype)
    for above in range(0, owners, block):
        for beside in range(above, owners, block):
            close = units[above : above + block] @ units[beside : beside + block].T > lowered
            first, second = torch.nonzero(close.triu_(1) if above == beside else close, as_tuple=True)
            yield (first + above) * owners + (second + beside)


def _similar(keys: torch.Tensor, values: torch.Tensor, squares: torch.Tensor, threshold: float) -> torch.Tensor:
    """Return the keys of the pairs whose cosine is above `threshold`; a vector without length is similar to none."""
    kept = [keys[:0]]
    for part in keys.split(_rows_together(values)):
        first, second = part // len(values), part % len(values)
        dots = (values[first].double() * values[second].double()).sum(1)
        kept.append(part[dots > threshold * (squares[first] * squares[second]).sqrt()])
    return torch.cat(kept)


def _graph(keys: torch.Tensor, owners: int) -> SimilarityGraph:
    """Return the graph of the edges i * owners + j, sorted where they are."""
    both = torch.cat([keys, keys % owners * owners + keys // owners]).sort().values
    starts = torch.arange(owners + 1, dtype=torch.int64, device=keys.device) * owners
    offsets = torch.searchsorted(both, starts)
    return SimilarityGraph(offsets.cpu().numpy(), (both % owners).int().cpu().numpy())
