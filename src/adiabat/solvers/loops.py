"""The hot loops of the decomposition, compiled.

Everything is in signed coefficients and in float32 but the coefficients themselves: the
decomposition only has to find the categories, the exact answer is computed afterwards.

``up`` and ``down`` are 0 where a coefficient can still rise or fall, and far away otherwise,
so that every choice is a plain maximum over the rows' errors. A maximum of floats does not
compile to vector instructions, one of integers does: ten times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.compiled import compiled

Array = NDArray[Any]

FAR = np.float32(1e30)
ZERO = np.float32(0.0)
#: Curvatures below this part of the largest K(x, x) are rounding.
_FLAT = np.float32(1e-7)
_TINY = np.float32(1e-37)
#: The least integer, and the bits of a float32 that say how large it is.
_LEAST, _MAGNITUDE = np.int32(-(2**31)), np.int32(2**31 - 1)


@compiled
def weighted_columns(store: Array, slots: Array, weights: Array) -> Array:
    """weights @ store[slots], piece by piece so that the sums stay in cache."""
    n, m = store.shape[1], slots.shape[0]
    result = np.zeros(n, dtype=np.float32)
    for start in range(0, n, 4096):
        stop = min(n, start + 4096)
        a = 0
        while a + 4 <= m:
            w0, w1, w2, w3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
            r0, r1 = store[slots[a]], store[slots[a + 1]]
            r2, r3 = store[slots[a + 2]], store[slots[a + 3]]
            for k in range(start, stop):
                result[k] += (w0 * r0[k] + w1 * r1[k]) + (w2 * r2[k] + w3 * r3[k])
            a += 4
        for rest in range(a, m):
            w0, r0 = weights[rest], store[slots[rest]]
            for k in range(start, stop):
                result[k] += w0 * r0[k]
    return result


@compiled
def allow(k: int, theta: Array, low: Array, high: Array, up: Array, down: Array) -> None:
    """Note whether coefficient k can rise and fall."""
    up[k] = ZERO if theta[k] < high[k] else -FAR
    down[k] = ZERO if theta[k] > low[k] else FAR


@compiled
def position_of_largest(values: Array) -> int:
    """Where a float32 array is largest: its bits, read as integers, order it after one change."""
    bits = values.view(np.int32)
    top = _LEAST
    for k in range(bits.shape[0]):
        top = max(top, np.int32(bits[k] ^ ((bits[k] >> 31) & _MAGNITUDE)))
    found = 0
    for k in range(bits.shape[0]):
        found = max(found, k if np.int32(bits[k] ^ ((bits[k] >> 31) & _MAGNITUDE)) == top else 0)
    return found


@compiled
def flat_curvature(diagonal: Array) -> Any:
    """The least curvature to divide by."""
    largest = diagonal[position_of_largest(np.abs(diagonal))]
    return max(abs(largest) * _FLAT, _TINY)


@compiled
def first_of_pair(error: Array, up: Array, work: Array) -> int:
    """The row that most wants to rise."""
    for k in range(error.shape[0]):
        work[k] = error[k] + up[k]
    return position_of_largest(work)


@compiled
def second_of_pair(
    line: Array, diagonal: Array, error: Array, down: Array, i: int, flat: Any, work: Array
) -> tuple[int, Any]:
    """The row whose fall against i gains most to second order, and how far any could fall."""
    top, own = error[i], diagonal[i]
    for k in range(error.shape[0]):
        work[k] = top - (error[k] + down[k])
    gap = work[position_of_largest(work)]
    for k in range(error.shape[0]):
        fall = max(work[k], ZERO)
        work[k] = fall * fall / max(own + diagonal[k] - line[k] - line[k], flat)
    return position_of_largest(work), gap


@compiled
def shift_pair(theta: Array, low: Array, high: Array, i: int, j: int, wanted: float) -> float:
    """Raise i and lower j by as much as wanted and possible, onto bounds exactly."""
    room_i, room_j = high[i] - theta[i], theta[j] - low[j]
    move = min(wanted, room_i, room_j)
    theta[i] = high[i] if move == room_i else theta[i] + move
    theta[j] = low[j] if move == room_j else theta[j] - move
    return move


@compiled
def descend_pairs(
    K: Array, theta: Array, low: Array, high: Array, error: Array, tol: float, max_steps: int
) -> int:
    """Two coefficients a step, their sum kept: for a free bias. How many steps that took."""
    q = error.shape[0]
    up, down = np.empty(q, dtype=np.float32), np.empty(q, dtype=np.float32)
    work, diagonal = np.empty(q, dtype=np.float32), np.empty(q, dtype=np.float32)
    for k in range(q):
        diagonal[k] = K[k, k]
        allow(k, theta, low, high, up, down)
    flat = flat_curvature(diagonal)
    for step in range(max_steps):
        i = first_of_pair(error, up, work)
        line = K[i]
        j, gap = second_of_pair(line, diagonal, error, down, i, flat, work)
        if gap + up[i] <= tol:
            return step
        curvature = max(diagonal[i] + diagonal[j] - line[j] - line[j], flat)
        wanted = np.float64((error[i] - error[j]) / curvature)
        change = np.float32(shift_pair(theta, low, high, i, j, wanted))
        allow(i, theta, low, high, up, down)
        allow(j, theta, low, high, up, down)
        other = K[j]
        for k in range(q):
            error[k] -= change * (line[k] - other[k])
    return max_steps


@compiled
def best_single(
    diagonal: Array, error: Array, up: Array, down: Array, flat: Any, work: Array
) -> tuple[int, Any]:
    """The row whose move gains most to second order, and how much any row wants to move."""
    for k in range(error.shape[0]):
        work[k] = max(error[k] + up[k], -(error[k] + down[k]), ZERO)
    worst = work[position_of_largest(work)]
    for k in range(error.shape[0]):
        work[k] = work[k] * work[k] / max(diagonal[k], flat)
    return position_of_largest(work), worst


@compiled
def descend_singles(
    K: Array, theta: Array, low: Array, high: Array, error: Array, tol: float, max_steps: int
) -> int:
    """One coefficient a step: for a fixed bias, already taken off ``error``."""
    q = error.shape[0]
    up, down = np.empty(q, dtype=np.float32), np.empty(q, dtype=np.float32)
    work, diagonal = np.empty(q, dtype=np.float32), np.empty(q, dtype=np.float32)
    for k in range(q):
        diagonal[k] = K[k, k]
        allow(k, theta, low, high, up, down)
    flat = flat_curvature(diagonal)
    for step in range(max_steps):
        i, worst = best_single(diagonal, error, up, down, flat, work)
        if worst <= tol:
            return step
        before = theta[i]
        wanted = before + np.float64(error[i] / max(diagonal[i], flat))
        theta[i] = min(max(wanted, low[i]), high[i])
        allow(i, theta, low, high, up, down)
        line, change = K[i], np.float32(theta[i] - before)
        for k in range(q):
            error[k] -= change * line[k]
    return max_steps
