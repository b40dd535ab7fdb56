"""The rows that may still move, and their kernel values among each other."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.problem import Problem

Array = NDArray[Any]
logger = logging.getLogger("adiabat")

#: Lines of the matrix computed at once: no second matrix of that size is ever needed.
_LINES = 128
#: Coefficients whose errors are remembered: the present ones, those before, and an anchor's.
_REMEMBERED = 3
#: Megabytes from which a margin system is announced.
_WORTH_SAYING = 64.0


class Pool:
    """Rows in play, with their kernel matrix in float64.

    Attributes
    ----------
    rows : ndarray
        Which rows, in order of admission.
    inside : ndarray of bool
        Whether each row of the problem is in the pool.
    matrix : ndarray
        Their kernel values.
    outside : ndarray
        What all other rows, none of which moves, add to K theta.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.target = problem.target
        self.rows = np.empty(0, dtype=np.int64)
        self.inside = np.zeros(len(problem), dtype=bool)
        self.matrix = self._room = np.empty((0, 0))
        self.outside = np.empty(0)
        self._known: list[tuple[Array, Array]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def admit(self, rows: Array, theta: Array) -> None:
        """Take rows in; from now on their coefficients may move."""
        rows = rows[~self.inside[rows]]
        if not len(rows):
            return
        gram, old = self.problem.gram, len(self)
        self.inside[rows] = True
        self._known = []
        fixed = np.flatnonzero((theta != 0) & ~self.inside)
        self.rows = np.concatenate([self.rows, rows])
        self.matrix = matrix = self._grown(len(self.rows))
        for i in range(0, len(rows), _LINES):
            matrix[old + i : old + i + _LINES] = gram.block(rows[i : i + _LINES], self.rows)
        matrix[:old, old:] = matrix[old:, :old].T
        self.outside -= matrix[:old, old:] @ theta[rows]
        self.outside = np.concatenate([self.outside, gram.times(fixed, theta[fixed], rows)])

    def _grown(self, size: int) -> Array:
        """Room for ``size`` rows with what is there in place."""
        if size > len(self._room):
            megabytes = size * size * 8e-6
            if megabytes > _WORTH_SAYING:
                logger.info("the margin system of %d rows takes %.0f MB", size, megabytes)
            room = np.empty((size + size // 8 + 64,) * 2)
            room[: len(self.matrix), : len(self.matrix)] = self.matrix
            self._room = room
        return self._room[:size, :size]

    def wide_error(self, theta: Array, inside: Array) -> Array:
        """The same for some of the pool, its own terms summed in the widest type there is."""
        weights = theta[self.rows].astype(np.longdouble)
        own = np.concatenate(
            [
                (self.matrix[inside[i : i + _LINES]] * weights).sum(axis=1)
                for i in range(0, len(inside), _LINES)
            ]
        )
        return (self.target[self.rows] - self.outside)[inside] - own

    def error(self, theta: Array) -> Array:
        """target - K theta on the pool, in float64; the last answers are remembered."""
        weights = theta[self.rows]
        for known, error in self._known:
            if np.array_equal(known, weights):
                return error
        error = self.target[self.rows] - self.matrix @ weights - self.outside
        self._known = [(weights, error), *self._known[: _REMEMBERED - 1]]
        return error
