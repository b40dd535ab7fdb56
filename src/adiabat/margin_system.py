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

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import (
    LinAlgError,
    cho_factor,
    cho_solve,
    get_lapack_funcs,
    lu_factor,
    lu_solve,
)

from adiabat.compiled import compiled

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)
#: Systems up to this size are factored in one call, larger ones by panels of so many columns.
_ONE_CALL, _PANEL = 4096, 512
#: Rows among which independent ones are looked for in one call: fewer are not worth it, more
#: would take too long.
_PIVOTED = 64, 2048
#: Columns that are solved for in one call.
_SOLVED = 128
#: A revised system with a pivot below this part of the largest is not trusted to float32.
_REGULAR = 1e-2


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
def turn_line(factor: Array, i: int, done: int, x: float, turns: Array) -> None:
    """Line i, turned up to column ``done``, becomes line i - 1, and defines the next turn."""
    old, new = factor[i], factor[i - 1]
    for k in range(done, i - 1):
        value = (old[k + 1] + turns[1, k] * x) * turns[2, k]
        x = turns[0, k] * x - turns[1, k] * value
        new[k] = value
    pivot = np.hypot(old[i], x)
    turns[0, i - 1] = pivot / old[i]
    turns[1, i - 1] = x / old[i]
    turns[2, i - 1] = old[i] / pivot
    new[i - 1] = pivot


@compiled
def turn_four(factor: Array, i: int, position: int, common: int, x: Array, turns: Array) -> None:
    """The turns of the columns that four lines from i on have in common."""
    above, a, b, c, d = factor[i - 1], factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
    xa, xb, xc, xd = x[0], x[1], x[2], x[3]
    for k in range(position, common):
        cosine, sine, inverse = turns[0, k], turns[1, k], turns[2, k]
        va = (a[k + 1] + sine * xa) * inverse
        vb = (b[k + 1] + sine * xb) * inverse
        vc = (c[k + 1] + sine * xc) * inverse
        vd = (d[k + 1] + sine * xd) * inverse
        xa = cosine * xa - sine * va
        xb = cosine * xb - sine * vb
        xc = cosine * xc - sine * vc
        xd = cosine * xd - sine * vd
        above[k], a[k], b[k], c[k] = va, vb, vc, vd
    x[0], x[1], x[2], x[3] = xa, xb, xc, xd


@compiled
def delete_line(factor: Array, size: int, position: int) -> Array:
    """Factor of A without line ``position``, and the turns that made it.

    The lines below move up and the part right of the deleted column takes a rank-one update
    by that column (Gill, Golub, Murray, Saunders 1974), a line at a time so that memory is
    read in order; four lines together, because each is one long chain of dependent steps.
    """
    turns = np.empty((3, size))
    i = position + 1
    while i < size:
        group = 4 if i + 4 <= size else 1
        x = np.empty(group)
        for j in range(group):
            x[j] = factor[i + j, position]
            for k in range(position):
                factor[i + j - 1, k] = factor[i + j, k]
        common = i - 1
        if group == 4:
            turn_four(factor, i, position, common, x, turns)
        else:
            common = position
        for j in range(group):
            turn_line(factor, i + j, common, x[j], turns)
        i += group
    return turns


@compiled
def turn_half(half: Array, size: int, position: int, turns: Array) -> None:
    """L^-1 x of the larger factor becomes that of the smaller one."""
    x = half[position]
    for k in range(position, size - 1):
        value = (half[k + 1] + turns[1, k] * x) * turns[2, k]
        x = turns[0, k] * x - turns[1, k] * value
        half[k] = value


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


def independent(matrix: Array, index: Array, shift: float) -> tuple[MarginFactor, list[int]]:
    """A factor of independent rows out of many at ``index``, and which these are.

    By a Cholesky factor with pivoting, one call of LAPACK that ends in a fraction of a second.
    """
    least, most = _PIVOTED
    if len(index) < least:
        return MarginFactor(shift), []
    index = index[:most]
    factor = MarginFactor(shift, 64 + len(index))
    system = matrix[np.ix_(index, index)] + shift
    noise = 8.0 * EPS * max(len(index), 8) * float(system.diagonal().max())
    (pstrf,) = get_lapack_funcs(("pstrf",), (system,))
    lower, order, rank, _ = pstrf(system, tol=noise, lower=1, overwrite_a=1)
    factor.size = rank
    factor._factor[:rank, :rank] = np.tril(lower[:rank, :rank])  # noqa: SLF001
    return factor, index[order[:rank] - 1].tolist()


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


def factor_in_panels(matrix: Array) -> None:
    """Cholesky factor L in the lower triangle of a C-ordered matrix, written over it.

    A large one panel by panel, each a call of a fraction of a second: between them Python can
    see an interrupt.
    """
    potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (matrix,))
    width = _PANEL if len(matrix) > _ONE_CALL else len(matrix)
    for start in range(0, len(matrix), width):
        stop = start + width
        panel = matrix[start:, start:stop]
        if start:
            panel -= matrix[start:, :start] @ matrix[start:stop, :start].T
        upper, info = potrf(panel[:width].T, lower=0, overwrite_a=1, clean=0)
        if info:
            raise LinAlgError("the margin system is not positive definite")
        panel[:width] = upper.T
        if stop < len(matrix):
            inverse, _ = trtri(upper, lower=0)
            panel[width:] = panel[width:] @ np.triu(inverse)


class BorderedSolve:
    """The bordered system solved by way of A^-1, which a subclass knows.

    Attributes
    ----------
    index : ndarray
        The members, as positions in a matrix of kernel values.
    shift : float
        c of the module's description.
    """

    index: Array
    shift: float

    def solve(self, x: Array) -> Array:
        """A^-1 x, nearly."""
        raise NotImplementedError

    @cached_property
    def _ones(self) -> Array:
        return self.solve(np.ones(len(self.index)))

    def step(self, error: Array, imbalance: float) -> tuple[Array, float]:
        """d and the change of bias with K_SS d + 1 b = error and 1'd = imbalance, nearly."""
        u = self.solve(error + self.shift * imbalance)
        if not self.shift:
            return u, 0.0
        bias = float((u.sum() - imbalance) / self._ones.sum())
        return u - bias * self._ones, bias


class BlockFactor(BorderedSolve):
    """Cholesky factor of many members at once, in single or double precision.

    Attributes
    ----------
    least, largest : float
        The least and the largest pivot: distances of members from the span of those before
        them; the least relative to the largest.

    Raises
    ------
    LinAlgError
        Where the system is singular to the rounding of that precision.
    """

    def __init__(self, matrix: Array, index: Array, shift: float, dtype: Any) -> None:
        self.index, self.shift, self.dtype = index, shift, dtype
        if dtype is np.float32:
            lower = shifted_single(matrix, index, shift)
        else:
            lower = matrix[np.ix_(index, index)] + shift
        factor_in_panels(lower)
        self._upper = lower.T
        self._potrs = get_lapack_funcs("potrs", (lower,))
        pivots = np.abs(lower.diagonal().astype(np.float64))
        self.largest = float(pivots.max())
        self.least = float(pivots.min()) / self.largest
        if self.least**2 <= 8.0 * float(np.finfo(dtype).eps) * max(len(index), 8):
            raise LinAlgError("the margin system is singular to rounding")

    def solve(self, x: Array) -> Array:
        return self._potrs(self._upper, x.astype(self.dtype), lower=0)[0].astype(np.float64)


class RevisedFactor(BorderedSolve):
    """The factor of one set of members used for another that differs by a few.

    With B the columns of A that belong to those who came, and the unit vectors of those who
    left, held at zero by multipliers,

        [ A   B ] [ x ]   [ r ]
        [ B'  D ] [ z ] = [ s ] ,   (D - B'A^-1 B) z = s - B'A^-1 r .

    Raises
    ------
    LinAlgError
        Where the system is singular to the rounding of the first factor.
    """

    def __init__(self, base: BlockFactor, matrix: Array, index: Array) -> None:
        self.base, self.index, self.shift = base, index, base.shift
        came = np.setdiff1d(index, base.index)
        left = np.flatnonzero(~np.isin(base.index, index))
        self._stayed = np.isin(index, base.index)
        self._kept = np.isin(base.index, index)
        units = np.zeros((len(base.index), len(left)))
        units[left, np.arange(len(left))] = 1.0
        self._border = np.hstack([matrix[np.ix_(base.index, came)] + base.shift, units])
        parts = range(0, self._border.shape[1], _SOLVED)
        self._reply = np.hstack([base.solve(self._border[:, i : i + _SOLVED]) for i in parts])
        schur = -(self._border.T @ self._reply)
        schur[: len(came), : len(came)] += matrix[np.ix_(came, came)] + base.shift
        self._came = len(came)
        self._require_regular(schur)
        self._schur = lu_factor(schur)

    def _require_regular(self, schur: Array) -> None:
        """Those who left made A smaller, those who came made it larger: both definite."""
        k = self._came
        inverse_left = cho_factor(-schur[k:, k:], lower=True)
        pivots = cho_factor(
            schur[:k, :k] + schur[:k, k:] @ cho_solve(inverse_left, schur[k:, :k]), lower=True
        )[0].diagonal()
        scale = self.base.largest
        if k and pivots.min() <= _REGULAR * scale:
            raise LinAlgError("the margin system is singular to rounding")

    def solve(self, x: Array) -> Array:
        inner = np.zeros(len(self.base.index))
        inner[self._kept] = x[self._stayed]
        reply = self.base.solve(inner)
        gap = -(self._border.T @ reply)
        gap[: self._came] += x[~self._stayed]
        z = lu_solve(self._schur, gap)
        reply -= self._reply @ z
        result = np.empty(len(x))
        result[self._stayed] = reply[self._kept]
        result[~self._stayed] = z[: self._came]
        return result
