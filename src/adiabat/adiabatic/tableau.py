"""All answers of an optimum at once: what a move of any row would do to every other.

Between changes of category everything is linear (004, eq. 12-18). With the members S of the
margin, all other rows N, and the bias eliminated, small changes obey

    [ dtheta_S ]   [  R     B  ] [ df_S     ]
    [ df_N     ] = [ -B'    G  ] [ dtheta_N ]          f = K theta + b

where R is the inverse of the margin system without the line of the bias (004, eq. 17), B holds
the beta of all other rows (eq. 18) and G their gamma (eq. 12). For many small ways from the same
optimum this matrix is made once, in matrix products; a change of category then is a pivot, and
the few pivots of one way are a small system of their own (``holding_out``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from adiabat.adiabatic.living import LostError
from adiabat.kernels import Kernel

Array = NDArray[Any]

#: Lines of the matrix that are computed at once.
_LINES = 256
#: A pivot of the margin system below this part of the largest is too close to singular.
_REGULAR = 1e-6


@dataclass(frozen=True, eq=False)
class Optimum:
    """A solved problem: its rows, what it says of each of them, and its answer.

    Attributes
    ----------
    kernel : Kernel
        What similarity is.
    prepared : object
        The rows, made ready for it.
    target, low, high, ridge : ndarray
        Target and bounds of each signed coefficient, and what is added to K(x, x).
    theta : ndarray
        The coefficients.
    bias : float
        The bias.
    loose : bool
        Whether that is free.
    """

    kernel: Kernel
    prepared: Any
    target: Array
    low: Array
    high: Array
    ridge: Array
    theta: Array
    bias: float
    loose: bool

    def __len__(self) -> int:
        return len(self.target)

    @property
    def members(self) -> Array:
        return np.flatnonzero((self.theta > self.low) & (self.theta < self.high))

    def values(self, rows: Any, columns: Any) -> Array:
        """Kernel values of some rows with others, without the ridge."""
        return self.kernel.block(self.prepared.take(rows), self.prepared.take(columns))


@dataclass(frozen=True, eq=False)
class Tableau:
    """The matrix of an optimum, and what was seen while it was made.

    Attributes
    ----------
    lines : ndarray
        The matrix transposed: a line for what one row's own variable does to every other.
    is_member : ndarray
        1 for the members of the margin.
    diagonal : ndarray
        K(x, x) and the ridge.
    error : ndarray
        target - K theta - b.
    evaluations : int
        Kernel values that were computed.
    """

    lines: Array
    is_member: Array
    diagonal: Array
    error: Array
    evaluations: int


def tableau_size(rows: int, members: int) -> int:
    """How many numbers a tableau takes while it is made."""
    return rows * (rows + 4 * members + 2 * _LINES)


class Margin:
    """The members' system solved for every row: L^-1 K_S and L^-1 1, with L L' = K_SS + c 11'."""

    def __init__(self, optimum: Optimum, inside: Array) -> None:
        matrix = optimum.values(inside, inside)
        matrix[np.diag_indices(len(inside))] += optimum.ridge[inside]
        typical = float(matrix.diagonal().mean())
        if not typical > 0.0:
            raise LostError("the margin system is zero")
        self.shift = typical if optimum.loose else 0.0
        try:
            self.factor = cholesky(matrix + self.shift, lower=True, check_finite=False)
        except LinAlgError:
            raise LostError("the margin system is singular") from None
        pivots = self.factor.diagonal()
        if pivots.min() <= _REGULAR * pivots.max():
            raise LostError("the margin system is close to singular")
        columns = optimum.values(inside, slice(None))
        columns[np.arange(len(inside)), inside] += optimum.ridge[inside]
        self.half = solve_triangular(self.factor, columns, lower=True, check_finite=False)
        self.ones = self._solved_half(np.ones(len(inside)))
        self.square = float(self.ones @ self.ones)
        #: (1 - 1' A^-1 k_j) / sqrt(1' A^-1 1): what the equality leaves to the bias
        self.gap = optimum.loose * (1.0 - self.ones @ self.half) / np.sqrt(self.square)

    def _solved_half(self, right: Array) -> Array:
        return solve_triangular(self.factor, right, lower=True, check_finite=False)

    def curvature(self, values: Array, rows: slice) -> Array:
        """From K to G, written over it, on some rows and all from the first of them on.

        G = K - k'A^-1 k + gap gap' - c, with A = K_SS + c 11'.
        """
        values -= self.half[:, rows].T @ self.half[:, rows.start :]
        if self.shift:
            values += np.multiply.outer(self.gap[rows], self.gap[rows.start :])
            values -= self.shift
        return values

    def answers(self) -> Array:
        """B: the members' rates for a unit of every other coefficient (004, eq. 18)."""
        bias = self.gap / np.sqrt(self.square)
        right = self.half + np.multiply.outer(self.ones, bias)
        return -solve_triangular(self.factor, right, trans=1, lower=True, check_finite=False)

    def inverse(self) -> Array:
        """R: the inverse of the bordered system, where the members are (004, eq. 17)."""
        half = self._solved_half(np.eye(len(self.factor)))
        inverse = half.T @ half
        if self.shift:
            full = half.T @ self.ones
            inverse -= np.multiply.outer(full, full) / self.square
        return inverse


def tableau_of(optimum: Optimum) -> Tableau:
    """The matrix of an optimum.

    Raises
    ------
    LostError
        Where the margin has no members, or their system is singular.
    """
    n, inside = len(optimum), optimum.members
    if not len(inside):
        raise LostError("the margin has no members")
    margin = Margin(optimum, inside)
    lines, diagonal, inner = np.empty((n, n)), np.empty(n), np.zeros(n)
    evaluations = n * len(inside)
    for start in range(0, n, _LINES):
        rows = slice(start, min(start + _LINES, n))
        values = optimum.values(rows, slice(start, None))
        evaluations += values.size
        values[np.diag_indices(len(values))] += optimum.ridge[rows]
        diagonal[rows] = values.diagonal()
        inner[rows] += values @ optimum.theta[start:]
        inner[rows.stop :] += optimum.theta[rows] @ values[:, len(values) :]
        lines[rows, start:] = margin.curvature(values, rows)
        lines[rows.stop :, rows] = lines[rows, rows.stop :].T
    answers = margin.answers()
    lines[inside], lines[:, inside] = -answers, answers.T
    lines[np.ix_(inside, inside)] = margin.inverse()
    is_member = np.zeros(n, dtype=np.int64)
    is_member[inside] = 1
    error = optimum.target - inner - optimum.bias
    error[inside] = 0.0
    return Tableau(lines, is_member, diagonal, error, evaluations)
