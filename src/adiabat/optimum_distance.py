"""How far the weights of a model can be from the optimum's.

Let D be the difference of the optimal coefficients and the given ones, e the given errors.
Optimality of the former gives |dw|^2 <= D'e. Rows whose error is beyond doubt have D = 0. For
a regular basis M of the rows T in doubt solve K_MM u + 1 c = e_M with sum(u) = 0; then

    |dw|^2 <= dw.w(u) + sum_T D_i left_i ,   left = e_T - K_TM u - c .

On M what is left is rounding, and |left_M'D_M| <= |L^-1 left_M| (|dw| + sum_N |D_i| sqrt(A_ii)),
where A = K + shift 11' = LL' on M and N are the rows of T outside M. Those stand at a bound: the
sign of D_i is known, D_i left_i is negative, and large enough to pay for its own part of the
rounding; a row for which it is not becomes a member of M. So |dw| <= |w(u)| + |L^-1 left_M|.
docs/maths.md has the steps.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf, dtrtri

from adiabat.problem import Problem
from adiabat.solution import bias_interval

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)
WIDE = np.longdouble
WIDE_EPS = float(np.finfo(np.longdouble).eps)
#: Times that rows within rounding of another category join the members.
_PASSES = 12
#: Times that a better radius leaves fewer rows in doubt.
_TIGHTENINGS = 4
#: More rows in doubt than this are left to the duality gap.
_MOST_ROWS = 8000
#: Lines of kernel values held at once in the widest type.
_LINES = 128


class Examination:
    """One model under examination: what is measured of it from the data alone.

    Coefficients beyond a bound are put on it, and what that does to the decision values is
    ``excess``. What is left over in sum(theta) is ``surplus``; taking it off the row
    ``anchor`` moves the weights by ``settled``.
    """

    def __init__(self, problem: Problem, theta: Array, bias: float) -> None:
        self.problem, self.bias, gram = problem, bias, problem.gram
        self.theta = np.clip(theta, problem.low, problem.high)
        root = np.sqrt(np.abs(gram.diagonal))
        self.excess = float(np.abs(theta - self.theta) @ root)
        self.support = np.flatnonzero(self.theta)
        self.points = problem.target - gram.times(self.support, self.theta[self.support])
        self.error = self.points - bias
        self.counts = problem.bounds > 0
        self.reach = float(np.max(root[self.counts], initial=0.0))
        self.magnitude = gram.magnitude(self.theta) + abs(bias)
        own = float(self.theta @ (self.points - problem.target))
        self.length = float(np.sqrt(max(-own, 0.0)))  # |w| in the space of K plus ridge

    @property
    def free(self) -> Array:
        return (self.theta > self.problem.low) & (self.theta < self.problem.high)

    @property
    def rounding(self) -> float:
        """What rounding can do to a decision value."""
        return 8.0 * EPS * (self.magnitude + 1.0)

    @cached_property
    def surplus(self) -> float:
        if self.problem.bias is not None:
            return 0.0
        return float(self.theta.astype(WIDE).sum() - WIDE(self.problem.total))

    @cached_property
    def anchor(self) -> int:
        """The row nearest to its margin that can give the surplus away; -1 where none can."""
        rest = self.theta - self.surplus
        low, high = self.problem.low, self.problem.high
        able = self.counts & (low <= rest) & (rest <= high)
        if not able.any():
            return -1
        return int(np.argmin(np.where(able, np.abs(self.error), np.inf)))

    @property
    def settled(self) -> float:
        if not self.surplus:
            return 0.0
        if self.anchor < 0:
            return np.inf
        return abs(self.surplus) * float(np.sqrt(abs(self.problem.gram.diagonal[self.anchor])))

    # -- objectives

    def objectives(self) -> tuple[float, float]:
        """Dual value and duality gap, the gap as a sum of terms that are not negative."""
        problem, theta = self.problem, self.theta
        fixed = problem.bias or 0.0
        dual = float(theta @ (problem.target - fixed)) - 0.5 * self.length**2
        if problem.is_hard:
            stretch = self.stretch()
            primal = 0.5 * (stretch * self.length) ** 2 if np.isfinite(stretch) else np.inf
            return dual, max(primal - dual, 0.0)
        slack = problem.y * self.error
        loss = problem.bounds * np.maximum(slack, 0.0) - theta * self.error
        return dual, float(np.maximum(loss[self.counts], 0.0).sum())

    def stretch(self) -> float:
        """The factor by which w must grow to keep every row at its distance; infinite if none.

        With a free bias b grows too; a fixed one leaves 1 - y b to be made good by w.
        """
        wanted = 1.0 - self.problem.y * (self.problem.bias or 0.0)
        reached = wanted - self.problem.y * self.error
        binding = self.counts & (wanted > 0)
        if (reached[binding] <= 0).any():
            return np.inf
        return float(np.max(wanted[binding] / reached[binding], initial=1.0))

    # -- distances

    def from_gap(self, gap: float) -> float:
        """|dw| from the duality gap alone, rounding in it included."""
        if self.problem.is_hard:
            noise = 64.0 * EPS * (self.length**2 + float(np.abs(self.theta).sum()))
            grown = (self.stretch() - 1.0) * self.length if np.isfinite(gap) else np.inf
            return float(np.sqrt(2.0 * (gap + noise))) + grown + self.settled
        open_rows = self.counts & (self.free | (np.abs(self.error) <= self.rounding))
        noise = self.rounding * float(self.problem.bounds[open_rows].sum())
        return float(np.sqrt(gap + noise)) + self.settled

    def is_decided(self) -> bool:
        """Whether the equality leaves no other coefficients than none at all."""
        signs = self.problem.y[self.counts]
        alone = not len(signs) or bool((signs == signs[0]).all())
        return self.problem.bias is None and self.problem.total == 0.0 and alone

    def bias_doubt(self) -> float:
        """How far the given bias is from those that minimise the primal for these weights."""
        if self.problem.bias is not None:
            return abs(self.bias - self.problem.bias)
        low, high = bias_interval(self.problem, self.points)
        return max(low - self.bias, self.bias - high, 0.0)

    def distance(self, gap: float) -> tuple[float, float, str]:
        """|dw|, how far the bias can move with it, and where both come from."""
        if self.is_decided():
            return self.length, 0.0, "margin system"
        radius = self.from_gap(gap)
        best, shift, source = radius, self.reach * radius, "duality gap"
        for _ in range(_TIGHTENINGS):
            if not np.isfinite(best):
                break
            found, near_reach = Surroundings(self, best).distance()
            if found >= best:
                break
            tighter = found < 0.5 * best
            best, shift, source = found, near_reach * found, "margin system"
            if not tighter:
                break
        return best, 0.0 if self.problem.bias is not None else shift, source


class Surroundings:
    """The rows that are in doubt when the optimum is no further away than ``radius``."""

    def __init__(self, case: Examination, radius: float) -> None:
        problem = case.problem
        self.case, self.problem = case, problem
        self.low, self.high = problem.low, problem.high
        self.loose = problem.bias is None
        self.pinned = case.free.any() or not self.loose
        self.lift = 0.0 if self.pinned or case.anchor < 0 else float(case.error[case.anchor])
        error = case.error - self.lift
        doubt = 2.0 * radius * case.reach + case.bias_doubt() + case.rounding + 1e-12
        clear = (case.theta == self.low) & (error < -doubt)
        clear |= (case.theta == self.high) & (error > doubt)
        self.rows = np.flatnonzero(case.counts & ~clear)

    def distance(self) -> tuple[float, float]:
        """|dw|, and the reach of the rows that decide the bias."""
        case, rows = self.case, self.rows
        if not len(rows):
            return 0.0, case.reach
        if len(rows) > _MOST_ROWS or (self.loose and case.anchor < 0):
            return np.inf, case.reach
        reach = float(np.sqrt(np.max(np.abs(self.problem.gram.diagonal[rows]))))
        matrix = self.problem.gram.block(rows, rows)
        error, hidden = self._wide_error()
        if self.loose:
            column = self.problem.gram.block(rows, np.array([case.anchor]))[:, 0]
            error = error + WIDE(case.surplus) * column.astype(WIDE)
        bound = self._settled(matrix, error, hidden)
        return bound + case.settled, reach if self.pinned else case.reach

    def _settled(self, matrix: Array, error: Array, hidden: Array) -> float:
        """Let rows join the members until all others are on the right side of their margin."""
        theta = self.case.theta[self.rows]
        rise, fall = theta < self.high[self.rows], theta > self.low[self.rows]
        inside = (rise & fall) | (self.rows == self.case.anchor) & self.loose
        shift = self.case.reach**2 if self.loose else 0.0
        size = np.sqrt(np.abs(matrix.diagonal()) + shift)
        for _ in range(_PASSES):
            system = MarginSolve(matrix, inside, error, hidden, shift)
            spare = system.over * size + hidden
            left = system.left
            wrong = ((rise & (left > -spare)) | (fall & (left < spare))) & ~inside
            if not wrong.any():
                return system.length + system.over + self._strayed(system)
            inside |= wrong
        return np.inf

    def _strayed(self, system: MarginSolve) -> float:
        """|dw| that dependent members allow which are not on their margin with their basis."""
        left = np.abs(system.left[system.tied]).astype(np.float64)
        far = left > self.case.rounding
        room = (self.high - self.low)[self.rows[system.tied]]
        return float(np.sqrt(room[far] @ left[far]))

    def _wide_error(self) -> tuple[Array, Array]:
        """Errors of the rows in the widest type, and what rounding may still hide."""
        case, rows = self.case, self.rows
        weights = case.theta[case.support].astype(WIDE)
        error, hidden = np.empty(len(rows), dtype=WIDE), np.empty(len(rows))
        depth = (np.log2(max(len(weights), 2)) + 4.0) * WIDE_EPS
        level = WIDE(case.bias) + WIDE(self.lift)
        for i in range(0, len(rows), _LINES):
            some = rows[i : i + _LINES]
            terms = self.problem.gram.block(some, case.support) * weights
            error[i : i + _LINES] = self.problem.target[some] - terms.sum(axis=1) - level
            hidden[i : i + _LINES] = depth * (np.abs(terms).sum(axis=1) + 1.0 + abs(float(level)))
        return error, hidden


class MarginSolve:
    """The step that puts the members exactly on the margin, on a regular basis of them.

    Members that depend on the basis to rounding are taken as dependent: their coefficients
    can be expressed by those of the basis, and so can their errors.

    Attributes
    ----------
    tied : ndarray
        The dependent members.
    left : ndarray
        What the step leaves of the error of every row.
    length : float
        |w(u)| of the step.
    over : float
        |L^-1 rest| for what the step left over and rounding can have hidden.
    """

    def __init__(
        self, matrix: Array, inside: Array, error: Array, hidden: Array, shift: float
    ) -> None:
        members = np.flatnonzero(inside)
        self.tied, self.left, self.length, self.over = members, error, 0.0, 0.0
        if not matrix.diagonal()[members].any():  # nobody, or nobody who could move the weights
            return
        inner = matrix[np.ix_(members, members)]
        noise = 8.0 * EPS * max(len(members), 8) * float(inner.diagonal().max() + shift)
        factor, pivots, rank, _ = dpstrf(inner + shift, lower=1, tol=noise)
        if not rank:  # no member moves the weights
            self.tied, self.left, self.length, self.over = members, error, 0.0, 0.0
            return
        basis = members[pivots[:rank] - 1]
        lower = np.tril(factor[:rank, :rank])
        inverse, _ = dtrtri(lower, lower=1)
        step, bias = _solve_border(lower, shift, error[basis].astype(np.float64))
        self.left = error - (_wide_product(matrix, basis, step) + WIDE(bias))
        self.length = float(np.sqrt(max(float(step @ matrix[np.ix_(basis, basis)] @ step), 0.0)))
        rest = self.left[basis].astype(np.float64)
        self.over = float(np.linalg.norm(inverse @ rest))
        self.over += float(np.linalg.norm(inverse, axis=0) @ hidden[basis])
        self.tied = np.setdiff1d(members, basis)


def _wide_product(matrix: Array, columns: Array, weights: Array) -> Array:
    """matrix[:, columns] @ weights in the widest type, some lines at a time."""
    parts = [
        matrix[i : i + _LINES, columns] @ weights.astype(WIDE)
        for i in range(0, len(matrix), _LINES)
    ]
    return np.concatenate(parts)


def _solve_border(lower: Array, shift: float, error: Array) -> tuple[Array, float]:
    """u and c with K u + 1 c = error and sum(u) = 0; c = 0 without border."""
    u = cho_solve((lower, True), error)
    if not shift:
        return u, 0.0
    v = cho_solve((lower, True), np.ones(len(error)))
    bias = float(u.sum() / v.sum())
    return u - bias * v, bias
