"""The bordered margin system, and the factor that stands for it.

Between changes of category the margin members S obey (004, eq. 12-13; here in signed
coefficients)

    K_SS d + 1 b = e        1'd = h

``MarginFactor`` keeps the Cholesky factor of A = K_SS + c 11', which is positive definite
exactly when the members' images are affinely independent, that is, when the bordered system
is regular; on vectors with 1'd = h it differs from K_SS only by the known term c h. With a
fixed bias there is no border: c = 0 and b stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, get_lapack_funcs

from adiabat.compiled import compiled

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)


@compiled
def solve_lower(factor: Array, size: int, x: Array) -> None:
    """x <- L^-1 x."""
    for i in range(size):
        row = factor[i]
        s = 0.0
        for k in range(i):
            s += row[k] * x[k]
        x[i] = (x[i] - s) / row[i]


@compiled
def solve_upper(factor: Array, size: int, x: Array) -> None:
    """x <- L^-T x."""
    for i in range(size - 1, -1, -1):
        row = factor[i]
        x[i] /= row[i]
        t = x[i]
        for k in range(i):
            x[k] -= t * row[k]


@compiled
def delete_line(factor: Array, size: int, position: int) -> None:
    """Factor of A without line ``position``.

    The lines below move up and the part right of the deleted column takes a rank-one update
    by that column (Gill, Golub, Murray, Saunders 1974), one line at a time so that memory is
    read in order.
    """
    cosine = np.empty(size)
    sine = np.empty(size)
    for i in range(position + 1, size):
        old, new = factor[i], factor[i - 1]
        x = old[position]
        for k in range(position):
            new[k] = old[k]
        for k in range(position, i - 1):
            value = (old[k + 1] + sine[k] * x) / cosine[k]
            x = cosine[k] * x - sine[k] * value
            new[k] = value
        pivot = np.hypot(old[i], x)
        cosine[i - 1] = pivot / old[i]
        sine[i - 1] = x / old[i]
        new[i - 1] = pivot


class MarginFactor:
    """Cholesky factor of the margin system, grown and shrunk by one member at a time.

    Parameters
    ----------
    shift : float
        c of the module's description: 0 for a fixed bias, of the size of K for a free one.
    capacity : int
        Members expected; the factor grows beyond when it must.
    """

    def __init__(self, shift: float, capacity: int = 64) -> None:
        self.shift = shift
        self.size = 0
        self._factor = np.zeros((capacity, capacity))

    def half(self, x: Array) -> Array:
        """L^-1 x."""
        x = np.array(x, dtype=np.float64)
        solve_lower(self._factor, self.size, x)
        return x

    def full(self, x: Array) -> Array:
        """A^-1 x."""
        x = self.half(x)
        solve_upper(self._factor, self.size, x)
        return x

    def step(self, error: Array, imbalance: float) -> tuple[Array, float]:
        """d and the change of bias with K_SS d + 1 b = error and 1'd = imbalance."""
        if not self.shift:
            return self.full(error), 0.0
        u, v = self.full(error + self.shift * imbalance), self.full(np.ones(self.size))
        bias = (u.sum() - imbalance) / v.sum()
        return u - bias * v, bias

    def entry(self, column: Array, diagonal: float) -> tuple[Array, float, float]:
        """What one more coefficient does: members' and bias's rates, and its own curvature.

        The curvature is the Schur complement of the bordered system, as a sum of terms that
        are not negative: the distance (squared) to the span of the members in A, and to the
        plane 1'd = -1 (004, eq. 19 in other words). It is exactly 0 for a dependent row.
        """
        a = column + self.shift
        half = self.half(a)
        pivot = diagonal + self.shift - float(half @ half)
        if pivot <= self.noise(diagonal):
            pivot = 0.0
        rate = half
        solve_upper(self._factor, self.size, rate)
        if not self.shift:
            return -rate, 0.0, pivot
        v = self.full(np.ones(self.size))
        gap, weight = 1.0 - float(rate.sum()), float(v.sum())
        bias = gap / weight
        return -rate - bias * v, bias, pivot + gap * gap / weight if pivot else 0.0

    def append(self, column: Array, diagonal: float) -> bool:
        """Take one more member in; False, and nothing changed, where it is dependent."""
        half = self.half(column + self.shift)
        pivot = diagonal + self.shift - float(half @ half)
        if pivot <= self.noise(diagonal):
            return False
        if self.size == len(self._factor):
            grown = np.zeros((2 * self.size + 8, 2 * self.size + 8))
            grown[: self.size, : self.size] = self._factor[: self.size, : self.size]
            self._factor = grown
        self._factor[self.size, : self.size] = half
        self._factor[self.size, self.size] = np.sqrt(pivot)
        self.size += 1
        return True

    def noise(self, diagonal: float) -> float:
        """A pivot below this is rounding and stands for zero."""
        return 8.0 * EPS * max(self.size, 8) * (diagonal + self.shift)

    def remove(self, position: int) -> None:
        delete_line(self._factor, self.size, position)
        self.size -= 1


@compiled
def shifted_single(matrix: Array, index: Array, shift: float) -> Array:
    """matrix[index][:, index] + shift, in float32."""
    size = index.shape[0]
    result = np.empty((size, size), dtype=np.float32)
    for i in range(size):
        line = matrix[index[i]]
        for j in range(size):
            result[i, j] = line[index[j]] + shift
    return result


class BlockFactor:
    """Cholesky factor of many members at once, in single or double precision.

    Raises
    ------
    LinAlgError
        Where the system is singular to the rounding of that precision.
    """

    def __init__(self, matrix: Array, index: Array, shift: float, dtype: Any) -> None:
        self.shift, self.dtype = shift, dtype
        self._potrf, self._potrs = get_lapack_funcs(("potrf", "potrs"), dtype=dtype)
        if dtype is np.float32:
            shifted = shifted_single(matrix, index, shift)
        else:
            shifted = matrix[np.ix_(index, index)] + shift
        self._factor, info = self._potrf(shifted.T, lower=0, overwrite_a=1, clean=0)
        pivots = self._factor.diagonal() ** 2
        least = 8.0 * float(np.finfo(dtype).eps) * max(len(index), 8)
        if info or pivots.min() <= least * pivots.max():
            raise LinAlgError("the margin system is singular to rounding")
        self._ones = self._solve(np.ones(len(index))) if shift else None

    def _solve(self, x: Array) -> Array:
        return self._potrs(self._factor, x.astype(self.dtype), lower=0)[0].astype(np.float64)

    def step(self, error: Array, imbalance: float) -> tuple[Array, float]:
        """d and the change of bias with K_SS d + 1 b = error and 1'd = imbalance, nearly."""
        u = self._solve(error + self.shift * imbalance)
        if self._ones is None:
            return u, 0.0
        bias = float((u.sum() - imbalance) / self._ones.sum())
        return u - bias * self._ones, bias
