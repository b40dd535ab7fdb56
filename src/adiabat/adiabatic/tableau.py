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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotri

from adiabat.adiabatic.living import LostError
from adiabat.kernels import Kernel

Array = NDArray[Any]

#: Lines of the matrix that are computed at once.
_LINES = 256
#: Random directions in which answers are tried: an error of the size d is shown by each of them
#: in about that size, and is missed only if all of them show almost nothing of it.
_PROBES = 8
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
    def inside(self) -> Array:
        """Which rows are members of the margin."""
        return (self.theta > self.low) & (self.theta < self.high)

    def in_order(self, order: Array) -> Optimum:
        """The same with its rows in another order."""
        names = "target", "low", "high", "ridge", "theta"
        parts = {name: getattr(self, name)[order] for name in names}
        return replace(self, prepared=self.prepared.take(order), **parts)

    def values(self, rows: slice, columns: slice) -> Array:
        """Kernel values of some rows with others, with the ridge where both begin at one."""
        block = self.kernel.block(self.prepared.take(rows), self.prepared.take(columns))
        if rows.start == columns.start:
            own = self.ridge[rows]
            block[np.diag_indices(len(own))] += own
        return block


@dataclass(frozen=True, eq=False)
class Tableau:
    """The matrix of an optimum, members first, and what was seen while it was made.

    Attributes
    ----------
    order : ndarray
        The rows, the members of the margin before all others.
    optimum : Optimum
        The optimum with its rows in that order; so is all that follows.
    members : int
        How many members there are.
    lines : ndarray
        The matrix transposed: a line for what one row's own variable does to every other.
    diagonal : ndarray
        K(x, x) and the ridge.
    error : ndarray
        target - K theta - b.
    probes : ndarray
        Directions r, and their images K r with b r'1 behind them; one line for each.
    evaluations : int
        Kernel values that were computed.
    """

    order: Array
    optimum: Optimum
    members: int
    lines: Array
    diagonal: Array
    error: Array
    probes: Array
    evaluations: int


def tableau_size(rows: int, members: int) -> int:
    """How many numbers a tableau takes while it is made."""
    return rows * (rows + 4 * members + 2 * _LINES)


class Margin:
    """The members' system, solved: L^-1 1 and L^-1 K_SN, with L L' = A = K_SS + c 11'."""

    def __init__(self, own: Array, others: Array, *, loose: bool) -> None:
        typical = float(own.diagonal().mean())
        if not typical > 0.0:
            raise LostError("the margin system is zero")
        self.shift = typical if loose else 0.0
        try:
            self.factor = cholesky(own + self.shift, lower=True, check_finite=False)
        except LinAlgError:
            raise LostError("the margin system is singular") from None
        pivots = self.factor.diagonal()
        if pivots.min() <= _REGULAR * pivots.max():
            raise LostError("the margin system is close to singular")
        self.ones = self._solved(np.ones((len(own), 1)))[:, 0]
        self.square = float(self.ones @ self.ones)
        self.half = self._solved(others)
        #: (1 - 1' A^-1 k_j) / sqrt(1' A^-1 1): what the equality leaves to the bias
        self.gap = loose * (1.0 - self.ones @ self.half) / np.sqrt(self.square)

    def _solved(self, right: Array, *, transposed: bool = False) -> Array:
        """L^-1 or L^-T times columns, written over them."""
        solved = dtrsm(
            1.0, self.factor, right.T, side=1, lower=1, trans_a=int(not transposed), overwrite_b=1
        )
        return np.ascontiguousarray(solved.T)

    def curvature(self, values: Array, rows: slice) -> Array:
        """From K to G, written over it, on some of the others and all from the first of them on.

        G = K - k'A^-1 k + gap gap' - c.
        """
        values -= self.half[:, rows].T @ self.half[:, rows.start :]
        if self.shift:
            values += np.multiply.outer(self.gap[rows], self.gap[rows.start :])
            values -= self.shift
        return values

    def answers(self) -> Array:
        """B: the members' rates for a unit of every other coefficient (004, eq. 18)."""
        bias = self.gap / np.sqrt(self.square)
        return -self._solved(self.half + np.multiply.outer(self.ones, bias), transposed=True)

    def inverse(self) -> Array:
        """R: the inverse of the bordered system, where the members are (004, eq. 17)."""
        inverse, _ = dpotri(self.factor, lower=1)
        inverse = np.tril(inverse)
        inverse += np.tril(inverse, -1).T
        if self.shift:
            full = self._solved(self.ones[:, None].copy(), transposed=True)[:, 0]
            inverse -= np.multiply.outer(full, full) / self.square
        return inverse


def directions(rows: int, *, loose: bool) -> Array:
    """Random signs, the same in every run, and room for their images.

    Where the bias is free they add up to zero, so that it has no say in them.
    """
    probes = np.zeros((2, _PROBES, rows + 1))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (_PROBES, rows))
    probes[0, :, :rows] = signs - loose * signs.mean(axis=1, keepdims=True)
    return probes


def tableau_of(optimum: Optimum) -> Tableau:
    """The matrix of an optimum.

    Raises
    ------
    LostError
        Where the margin has no members, or their system is singular.
    """
    inside = optimum.inside
    n, m = len(optimum), int(np.count_nonzero(inside))
    if not m:
        raise LostError("the margin has no members")
    order = np.argsort(~inside, kind="stable")
    case = optimum.in_order(order)
    lines, diagonal = np.empty((n, n)), np.empty(n)
    own, others = case.values(slice(0, m), slice(0, m)), case.values(slice(0, m), slice(m, n))
    diagonal[:m] = own.diagonal()
    probes = directions(n, loose=case.loose)
    known = np.vstack([case.theta, probes[0, :, :n]]).T
    images = np.vstack([own @ known[:m] + others @ known[m:], others.T @ known[:m]])
    margin = Margin(own, others, loose=case.loose)
    evaluations = own.size + others.size
    for start in range(m, n, _LINES):
        rows = slice(start, min(start + _LINES, n))
        values = case.values(rows, slice(start, n))
        evaluations += values.size
        diagonal[rows] = values.diagonal()
        images[rows] += values @ known[start:]
        images[rows.stop :] += values[:, len(values) :].T @ known[rows]
        lines[rows, start:] = margin.curvature(values, slice(start - m, rows.stop - m))
        lines[rows.stop :, rows] = lines[rows, rows.stop :].T
    answers = margin.answers()
    lines[:m, :m], lines[:m, m:], lines[m:, :m] = margin.inverse(), -answers, answers.T
    error = case.target - images[:, 0] - case.bias
    error[:m] = 0.0
    probes[1, :, :n] = images[:, 1:].T
    probes[1, :, n] = 0.0 if case.loose else case.bias * probes[0].sum(axis=1)
    return Tableau(order, case, m, lines, diagonal, error, probes, evaluations)
