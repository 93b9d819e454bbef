"""What a rho is worth: as epsilon and delta, and the other way round. Every rounding is against us.

A mechanism costs rho here if for every two neighbours and every whole order a >= 2 the Renyi divergence of order a of
its outputs is at most a rho. That is zero-concentrated differential privacy (Bun, Steinke 2016) at whole orders: all
that is needed below, and what is known of Skellam noise. Costs add up, even if each is chosen by what came before.

Requires:  a delta; every release of a unit's epoch among those whose rho are added up.
Guarantee: releases of rho in all are (epsilon_of(rho, delta), delta)-differentially private.
Proof:     docs/guarantees.md#concentrated-accounting
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache

from fedgroup.epsilon import LARGEST, NANO, NOTHING, Epsilon
from fedgroup.rho import ATTO, PICO, Delta, Rho
from fedgroup.rho import LARGEST as LARGEST_RHO

_UP = Context(prec=60, rounding=ROUND_CEILING)


@lru_cache(maxsize=4096)
def epsilon_of(rho: Rho, delta: Delta) -> Epsilon:
    """Return the epsilon that holds with `delta` for what costs `rho` in all, rounded up to the next nano-epsilon.

    It is the least over whole orders a >= 2 of a rho + ln(1 / (a delta)) / (a - 1) + ln(1 - 1/a) (Canonne, Kamath,
    Steinke 2020). Every order gives an epsilon that holds, so where floating-point numbers look for the best one they
    cannot make it wrong.
    """
    if rho.pico == 0:
        return NOTHING
    best = _best_order(float(rho), float(delta))
    bound = min(_bound(rho, delta, order) for order in (best, best + 1))
    return Epsilon(min(max(0, bound), LARGEST * NANO))


def _best_order(rho: float, delta: float) -> int:
    """Return the last whole order, 2 or more, up to which the bound falls.

    Its derivative by a is rho - ln(1 / (a delta)) / (a - 1)^2, which changes its sign once.
    """
    low, high = 2, 3
    while _falls_at(high, rho, delta):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _falls_at(middle, rho, delta) else (low, middle)
    return low


def _falls_at(order: int, rho: float, delta: float) -> bool:
    return (order - 1) ** 2 * rho < -math.log(order * delta)


def _bound(rho: Rho, delta: Delta, order: int) -> int:
    """Return the bound at one order in nano-epsilon, rounded up at every step."""
    linear = _UP.divide(Decimal(order * rho.pico), Decimal(PICO))
    likely = _UP.divide(Decimal(ATTO), Decimal(order * delta.atto))
    tail = _UP.divide(_UP.next_plus(_UP.ln(likely)), Decimal(order - 1))
    gain = _UP.next_plus(_UP.ln(_UP.divide(Decimal(order - 1), Decimal(order))))
    nano = _UP.multiply(_UP.add(_UP.add(linear, tail), gain), Decimal(NANO))
    return int(nano.to_integral_value(ROUND_CEILING, _UP))


@lru_cache(maxsize=1024)
def rho_within(epsilon: Epsilon, delta: Delta) -> Rho:
    """Return the largest rho that comes to no more than (epsilon, delta): the cap of a ledger."""
    low, high = 0, 1
    while high < LARGEST_RHO * PICO and epsilon_of(Rho(high), delta) <= epsilon:
        low, high = high, min(2 * high, LARGEST_RHO * PICO)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon_of(Rho(middle), delta) <= epsilon else (low, middle)
    return Rho(low)
