"""Who masks with whom: all pairs in groups of up to `ALL_PAIRS`, a random graph of even degree in larger ones.

Requires:  a seed that nobody could choose: every owner commits to a nonce, all commitments are seen before the first
           nonce is, and the seed is made of all nonces. Who reveals last can still stay silent; the round then fails
           and begins anew with that owner out. Live owners count how often that happens.
Guarantee: where all pairs mask, nothing less than the sum of all honest members shows, whoever the others are. In a
           larger group, if at most `bad_share` of the members, fixed before the seed is known, collude or drop out,
           the others stay connected by masks but for a chance of at most `FAILURE` (2^-40) a group, the delta of its
           answers. In one uniformly random cycle both neighbours of a member are bad with a chance of about
           bad_share^2; in degree / 2 independent cycles, for any of n members, of n * bad_share^degree. Larger sets
           are cut off far more rarely; tests/secure/test_mask_graph.py adds all of them up exactly. Who fixes a round's
           roster knows the graph and chooses who drops out: that cuts nobody off, either, as long as every member
           insists on `least_neighbours` of those it masks with.
Not given: in a larger group all mask neighbours of a member, `mask_degree` of them, open its value together with
           whoever sees what it sent, however many others are honest.
Proof:     docs/guarantees.md#masked-groups
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numba
import numpy as np
import numpy.typing as npt

from fedgroup.errors import InvalidInput, ProtocolViolation
from fedgroup.messages import Labels, Partition
from fedgroup.privacy.keystream import Keystream


def cohort_labels(members: int, *, size: int, seed: bytes) -> Labels:
    """Return each owner's cohort: a uniformly random partition into as few groups of at most `size` as can be.

    The groups' sizes differ by at most one. There is no similarity, no setup budget, nothing to learn from who is with
    whom.

    Requires:  a seed that nobody could choose (`public_seed`).
    Guarantee: the groups do not depend on any record; colluders sit in them as if dealt at random.
    Proof:     docs/guarantees.md#masked-groups
    """
    if members < 1:
        raise InvalidInput(f"cohorts need at least 1 member, got {members}")
    if size < 1:
        raise InvalidInput(f"a cohort has at least 1 member, got {size}")
    groups = -(-members // size)
    stream = Keystream(hashlib.sha256(b"fedgroup cohorts v1" + seed).digest())
    labels = np.arange(members, dtype=np.int32) % np.int32(groups)
    return shuffled(stream, labels, sizes=np.array([members]))


Ints = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int32]
Packed = npt.NDArray[np.uint64]

ALL_PAIRS = 64
"""Groups of up to so many members mask all pairs: more than a cohort has by default."""

FAILURE = 2.0**-40
"""The chance, at most, that a larger group's graph does not hold what is promised."""

LIVE_OFFERS = 1 << 12
"""How many groups with a random graph a live owner joins in one epoch of its ledger."""
LIVE_FAILURE = FAILURE / LIVE_OFFERS
"""Of one of them, so that all together fail as rarely as promised: offering groups until one pleases gains nothing."""

LEAST_NONCE_BYTES = 16
"""Shorter nonces could be guessed from their commitments."""

_LEAST_DISTINCT = 0.6
"""The share of a degree that neighbours are counted as at least; fewer are rare even among 65 members."""

_LOW_WORD = np.uint64(0xFFFFFFFF)


def commitment(nonce: bytes) -> bytes:
    """Return what an owner publishes before anybody reveals a nonce."""
    if len(nonce) < LEAST_NONCE_BYTES:
        raise InvalidInput(f"a nonce has at least {LEAST_NONCE_BYTES} random bytes, got {len(nonce)}")
    return hashlib.sha256(b"fedgroup nonce commitment v1" + nonce).digest()


def require_opened(commitments: Sequence[bytes], nonces: Sequence[bytes]) -> None:
    """Raise `ProtocolViolation` unless every revealed nonce is the one its owner committed to."""
    if len(commitments) != len(nonces):
        raise ProtocolViolation(f"{len(commitments)} owners committed to a nonce but {len(nonces)} revealed one")
    for position, (promised, nonce) in enumerate(zip(commitments, nonces, strict=True)):
        if len(nonce) < LEAST_NONCE_BYTES or not hmac.compare_digest(promised, commitment(nonce)):
            raise ProtocolViolation(f"the nonce revealed at position {position} is not the one committed to")


def public_seed(contributions: Iterable[bytes]) -> bytes:
    """Return the 32-byte seed made of all owners' revealed nonces, in roster order."""
    digest = hashlib.sha256(b"fedgroup public seed v1")
    for nonce in contributions:
        digest.update(len(nonce).to_bytes(8, "big") + nonce)
    return digest.digest()


def mask_degree(members: int, *, bad_share: float, failure: float = FAILURE) -> int:
    """Return the smallest even degree with members * bad_share^degree <= failure, or members - 1 if that is less.

    Groups of up to `ALL_PAIRS` have the degree members - 1.
    """
    if members < 1:
        raise InvalidInput(f"a group has at least 1 member, got {members}")
    if not 0 <= bad_share <= 1:
        raise InvalidInput(f"the share of bad members lies between 0 and 1, got {bad_share}")
    if members <= ALL_PAIRS or bad_share == 1:
        return members - 1
    if bad_share == 0:
        return 2
    wanted = math.log(members / failure) / -math.log(bad_share)
    return min(max(2, 2 * math.ceil(wanted / 2)), members - 1)


def least_neighbours(distinct: int, *, degree: int, colluders: int) -> int:
    """Return how many of its neighbours a member needs in a round whose roster is fixed by who knows the graph.

    A few members that mask with each other have most of their neighbours elsewhere; to cut them off, all of these would
    have to be left out. So more than half are needed, and more than half without the colluders among them; all of them
    where colluders could be half. Cycles share edges: `distinct` neighbours are fewer than the degree, and if they are
    far fewer, more of them are needed.
    """
    if 2 * colluders >= degree:
        return distinct
    return min(distinct, (max(distinct, math.ceil(_LEAST_DISTINCT * degree)) + 1 + colluders) // 2)


def failure_chance(members: int, *, bad_share: float) -> float:
    """Return the delta of a masked group's answers: the chance that its graph fails, 0 where all pairs mask."""
    return 0.0 if mask_degree(members, bad_share=bad_share) >= members - 1 else FAILURE


def mask_edges(
    labels: Labels, *, seed: bytes, bad_share: float | Callable[[int], float] = 0.2, failure: float = FAILURE
) -> tuple[Positions, Positions]:
    """Return the pairs of owners that share a mask, each once as first < second, in ascending order.

    A group in which the degree reaches everybody has all its pairs, any other one the union of degree / 2 independent,
    uniformly random cycles through all members, without the few pairs that occur twice. `bad_share` may differ with
    the number of members.
    """
    partition = Partition(labels)
    members = np.argsort(partition.labels, kind="stable").astype(np.int32)
    sizes = partition.sizes
    degrees = _degrees(sizes, bad_share, failure)
    complete = degrees >= sizes - 1
    stream = Keystream(hashlib.sha256(b"fedgroup mask graph v1" + seed).digest())
    edges = [_all_pairs(*_of_groups(members, sizes, complete))]
    edges.extend(_cycles(stream, members, sizes, np.where(complete, 0, degrees // 2)))
    return _each_once(np.concatenate(edges))


def shuffled(stream: Keystream, values: Positions, *, sizes: Ints) -> Positions:
    """Return `values` with each of the consecutive segments of `sizes` in an independent, exactly uniform order."""
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(values)) - np.repeat(starts, sizes)
    return _exchange(values.copy(), starts, uniform_below(stream, rank + 1))


def uniform_below(stream: Keystream, bounds: Ints) -> Positions:
    """Return independent whole numbers, the i-th exactly uniform among 0..bounds[i]-1, for bounds up to 2^31."""
    drawn = np.empty(len(bounds), dtype=np.int32)
    waiting = np.arange(len(bounds))
    while len(waiting):
        bound = bounds[waiting].astype(np.uint64)
        # Lemire, "Fast random integer generation in an interval" (2019): reject what would favour some outcomes.
        product = stream.words(len(waiting), np.uint32) * bound
        drawn[waiting] = product >> np.uint64(32)
        waiting = waiting[(product & _LOW_WORD) < np.uint64(1 << 32) % bound]
    return drawn


def _degrees(sizes: Ints, bad_share: float | Callable[[int], float], failure: float) -> Ints:
    distinct, which = np.unique(sizes, return_inverse=True)
    share = bad_share if callable(bad_share) else lambda _: bad_share
    degrees = [mask_degree(n, bad_share=share(n), failure=failure) for n in distinct.tolist()]
    return np.array(degrees, dtype=np.int64)[which]


def _of_groups(members: Positions, sizes: Ints, chosen: npt.NDArray[np.bool_]) -> tuple[Positions, Ints]:
    """Return the members of the chosen groups, group after group, and these groups' sizes."""
    return members[np.repeat(chosen, sizes)], sizes[chosen]


def _cycles(stream: Keystream, members: Positions, sizes: Ints, wanted: Ints) -> Iterator[Packed]:
    """Yield one random cycle of every group that wants more of them, until all have theirs."""
    for done in range(int(wanted.max(initial=0))):
        chosen, chosen_sizes = _of_groups(members, sizes, wanted > done)
        yield _closed_walks(shuffled(stream, chosen, sizes=chosen_sizes), chosen_sizes)


def _each_once(edges: Packed) -> tuple[Positions, Positions]:
    edges.sort()
    new = np.ones(len(edges), dtype=np.bool_)
    np.not_equal(edges[1:], edges[:-1], out=new[1:])
    kept = edges[new]
    return (kept >> np.uint64(32)).astype(np.int32), (kept & _LOW_WORD).astype(np.int32)


@numba.njit(cache=True)
def _exchange(values: Positions, starts: Ints, draws: Positions) -> Positions:
    """Shuffle in place (Fisher and Yates): each value changes places with one at or before it in its segment."""
    for group in range(len(starts)):
        start = starts[group]
        end = starts[group + 1] if group + 1 < len(starts) else len(values)
        for i in range(end - 1, start, -1):
            j = start + draws[i]
            values[i], values[j] = values[j], values[i]
    return values


@numba.njit(cache=True)
def _packed(one: int, other: int) -> np.uint64:
    return np.uint64(min(one, other)) << np.uint64(32) | np.uint64(max(one, other))


@numba.njit(cache=True)
def _closed_walks(members: Positions, sizes: Ints) -> Packed:
    edges = np.empty(len(members), dtype=np.uint64)
    start = 0
    for size in sizes:
        last = start + size - 1
        for i in range(start, last):
            edges[i] = _packed(members[i], members[i + 1])
        edges[last] = _packed(members[last], members[start])
        start += size
    return edges


@numba.njit(cache=True)
def _all_pairs(members: Positions, sizes: Ints) -> Packed:
    edges = np.empty((sizes * (sizes - 1) // 2).sum(), dtype=np.uint64)
    start = edge = 0
    for size in sizes:
        for i in range(start, start + size):
            for j in range(i + 1, start + size):
                edges[edge] = _packed(members[i], members[j])
                edge += 1
        start += size
    return edges
