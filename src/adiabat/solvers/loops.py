"""The hot loops of the decomposition, compiled.

Everything is in signed coefficients and in float32 but the coefficients themselves: the
decomposition only has to find the categories, the exact answer is computed afterwards.
"""

from __future__ import annotations

import numpy as np

from adiabat.compiled import compiled

FAR = np.float32(1e30)


@compiled
def gather(store, slots, index):
    """store[slots][:, index]."""
    result = np.empty((slots.shape[0], index.shape[0]), dtype=np.float32)
    for a in range(slots.shape[0]):
        line = store[slots[a]]
        for b in range(index.shape[0]):
            result[a, b] = line[index[b]]
    return result


@compiled
def weighted_columns(store, slots, weights):
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
def descend_pairs(K, theta, low, high, error, tol, max_steps):
    """Two coefficients a step, their sum kept: for a free bias.

    First the row that most wants to rise; against it the row whose fall gains most to second
    order. ``up`` and ``down`` are 0 where a coefficient can still rise or fall.
    """
    q = error.shape[0]
    far = np.float32(1e30)
    zero = np.float32(0.0)
    diagonal = np.empty(q, dtype=np.float32)
    up = np.empty(q, dtype=np.float32)
    down = np.empty(q, dtype=np.float32)
    gain = np.empty(q, dtype=np.float32)
    flat = zero
    for k in range(q):
        diagonal[k] = K[k, k]
        flat = max(flat, abs(diagonal[k]))
        up[k] = zero if theta[k] < high[k] else -far
        down[k] = zero if theta[k] > low[k] else far
    flat = max(flat * np.float32(1e-7), np.float32(1e-37))
    for step in range(max_steps):
        top = -far
        for k in range(q):
            top = max(top, error[k] + up[k])
        i = 0
        while error[i] + up[i] != top:
            i += 1
        line = K[i]
        own = diagonal[i]
        bottom = far
        best = zero
        for k in range(q):
            value = error[k] + down[k]
            bottom = min(bottom, value)
            fall = max(top - value, zero)
            worth = fall * fall / max(own + diagonal[k] - line[k] - line[k], flat)
            gain[k] = worth
            best = max(best, worth)
        if top - bottom <= tol or best <= zero:
            return step
        j = 0
        while gain[j] != best:
            j += 1
        curvature = max(own + diagonal[j] - line[j] - line[j], flat)
        move = np.float64((error[i] - error[j]) / curvature)
        room_i, room_j = high[i] - theta[i], theta[j] - low[j]
        if move < min(room_i, room_j):
            theta[i] += move
            theta[j] -= move
        else:
            move = min(room_i, room_j)
            theta[i] = high[i] if room_i <= room_j else theta[i] + move
            theta[j] = low[j] if room_j <= room_i else theta[j] - move
        up[i] = zero if theta[i] < high[i] else -far
        down[i] = zero if theta[i] > low[i] else far
        up[j] = zero if theta[j] < high[j] else -far
        down[j] = zero if theta[j] > low[j] else far
        other = K[j]
        change = np.float32(move)
        for k in range(q):
            error[k] -= change * (line[k] - other[k])
    return max_steps


@compiled
def descend_singles(K, theta, low, high, error, tol, max_steps):
    """One coefficient a step: for a fixed bias, already taken off ``error``."""
    q = error.shape[0]
    far = np.float32(1e30)
    zero = np.float32(0.0)
    up = np.empty(q, dtype=np.float32)
    down = np.empty(q, dtype=np.float32)
    gain = np.empty(q, dtype=np.float32)
    flat = zero
    for k in range(q):
        flat = max(flat, abs(K[k, k]))
        up[k] = zero if theta[k] < high[k] else -far
        down[k] = zero if theta[k] > low[k] else far
    flat = max(flat * np.float32(1e-7), np.float32(1e-37))
    for step in range(max_steps):
        worst = zero
        best = zero
        for k in range(q):
            wish = max(max(error[k] + up[k], -(error[k] + down[k])), zero)
            worst = max(worst, wish)
            worth = wish * wish / max(K[k, k], flat)
            gain[k] = worth
            best = max(best, worth)
        if worst <= tol or best <= zero:
            return step
        i = 0
        while gain[i] != best:
            i += 1
        before = theta[i]
        move = np.float64(error[i] / max(K[i, i], flat))
        theta[i] = min(max(before + move, low[i]), high[i])
        up[i] = zero if theta[i] < high[i] else -far
        down[i] = zero if theta[i] > low[i] else far
        line = K[i]
        change = np.float32(theta[i] - before)
        for k in range(q):
            error[k] -= change * line[k]
    return max_steps
