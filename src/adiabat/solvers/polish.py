"""From the neighbourhood of the optimum to the optimum itself.

With the three categories fixed, the optimum is one solve of the bordered margin system. Its
answer shows which rows stand in the wrong category: members beyond their bounds, bound rows
that want to move. Those change place, all at once, and the system is solved again; from a
good start a handful of rounds ends at machine precision. Where it does not (singular margin
systems, cycles), ``active_set`` moves one row at a time from the last feasible point.

Only the margin members and the few rows that change place enter in float64 (the pool). The
errors of all other rows follow in float32 meanwhile and are computed in float64 at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from adiabat.margin_system import BlockFactor
from adiabat.problem import Problem
from adiabat.solution import snapped
from adiabat.solvers.active_set import DenseProblem, UnboundedError, solve_dense
from adiabat.solvers.loops import weighted_columns
from adiabat.solvers.monitor import Monitor
from adiabat.solvers.smo import Iterate

Array = NDArray[Any]

_ROUNDS = 12
_REFINEMENTS = 12
#: Members beyond this number would make a polish slower than more descent.
_BATCH = 256
#: Relative error of a float32 kernel value, generously, times its products' summation.
_DOUBT = 32.0 * float(np.finfo(np.float32).eps)


class Pool:
    """The rows in play and their kernel values among each other, in float64.

    ``outside`` is what all other rows, none of which moves, add to K theta.
    """

    def __init__(self, problem: Problem, theta: Array) -> None:
        self.problem = problem
        self.rows = np.empty(0, dtype=np.int64)
        self.matrix = self._room = np.empty((0, 0))
        self.outside = np.empty(0)
        self._inside = np.zeros(len(theta), dtype=bool)

    def position(self, rows: Array) -> Array:
        """Where these rows stand in the pool."""
        where = np.full(len(self._inside), -1, dtype=np.int64)
        where[self.rows] = np.arange(len(self.rows))
        return where[rows]

    def admit(self, rows: Array, theta: Array) -> None:
        """Take rows in; from now on their coefficients may move."""
        rows = rows[~self._inside[rows]]
        if not len(rows):
            return
        gram, old = self.problem.gram, len(self.rows)
        self._inside[rows] = True
        fixed = np.flatnonzero((theta != 0) & ~self._inside)
        across = gram.block(rows, self.rows)
        self.outside -= across.T @ theta[rows]
        self.outside = np.concatenate([self.outside, gram.block(rows, fixed) @ theta[fixed]])
        self.rows = np.concatenate([self.rows, rows])
        matrix = self._grown(len(self.rows))
        matrix[old:, :old], matrix[:old, old:] = across, across.T
        matrix[old:, old:] = gram.block(rows, rows)
        self.matrix = matrix

    def _grown(self, size: int) -> Array:
        """Room for ``size`` rows with what is there in place."""
        if size > len(self._room):
            room = np.empty((size + size // 8 + 64,) * 2)
            room[: len(self.matrix), : len(self.matrix)] = self.matrix
            self._room = room
        return self._room[:size, :size]

    def error(self, theta: Array) -> Array:
        """target - K theta on the pool, exactly."""
        return self.problem.target[self.rows] - self.matrix @ theta[self.rows] - self.outside


@dataclass
class Candidate:
    """What the polish hands over: coefficients, bias, and exact errors of every row."""

    theta: Array
    error: Array
    bias: float


class Polish:
    """The state of one polish."""

    def __init__(self, problem: Problem, start: Iterate, tol: float, monitor: Monitor) -> None:
        self.problem, self.monitor, self.tol = problem, monitor, tol
        self.low, self.high, self.target = problem.low, problem.high, problem.target
        self.start = start
        self.theta, self.error = start.theta.copy(), start.error.copy()
        self.seen = self.theta.copy()
        self.free = (self.theta > self.low) & (self.theta < self.high)
        self.bias = _middle(self) if problem.bias is None else problem.bias
        self.noise = 0.0
        self.pool = Pool(problem, self.theta)
        self.pool.admit(np.flatnonzero(self.free), self.theta)
        self.shift = 0.0 if problem.bias is not None else _shift(problem.gram.diagonal)

    # -- one round

    def solve_members(self) -> None:
        """Put every member on the margin, whatever its bounds (004, eq. 12-13)."""
        rows = self.pool.rows
        inside = np.flatnonzero(self.free[rows])
        members = rows[inside]
        if not len(members):
            self.follow()
            self.inside = None
            self.bias = _middle(self) if self.problem.bias is None else self.bias
            return
        try:
            factor = BlockFactor(self.pool.matrix, inside, self.shift, np.float32)
        except LinAlgError:
            factor = BlockFactor(self.pool.matrix, inside, self.shift, np.float64)
        for _ in range(2):
            self.refine(factor, inside)
        self.factor, self.inside = factor, inside
        self.follow()

    def refine(self, factor: BlockFactor, inside: Array) -> float:
        """One correction of the members by their exact errors; the largest of these."""
        error = self.pool.error(self.theta)[inside] - self.bias
        step, bias = factor.step(error, self.imbalance())
        self.theta[self.pool.rows[inside]] += step
        self.bias += bias
        return float(np.max(np.abs(error)))

    def sharpen(self) -> None:
        """Correct the members until that no longer helps; in float64 where float32 stalls."""
        rows = self.pool.rows[self.inside] if self.inside is not None else []
        if not len(rows) or not self.free[rows].all():
            return
        last = np.inf
        for _ in range(_REFINEMENTS):
            error = self.refine(self.factor, self.inside)
            if error > 0.25 * last:
                break
            last = error
        if error > self.tol and self.factor.dtype is np.float32:
            self.factor = BlockFactor(self.pool.matrix, self.inside, self.shift, np.float64)
            self.sharpen()
        self.follow()

    def is_balanced(self) -> bool:
        return abs(self.imbalance()) <= 1e-12 * max(float(np.abs(self.theta).sum()), 1e-300)

    def imbalance(self) -> float:
        return self.problem.total - self.theta.sum() if self.problem.bias is None else 0.0

    def follow(self) -> None:
        """Bring the errors of all rows up to date: in float32 outside, exactly in the pool."""
        gram, rows = self.problem.gram, self.pool.rows
        change = self.theta[rows] - self.seen[rows]
        self.seen[rows] = self.theta[rows]
        moved = np.flatnonzero(change)
        for i in range(0, len(moved), _BATCH):
            some = moved[i : i + _BATCH]
            slots = gram.hold(rows[some])
            weights = (change[some] * gram.scale).astype(np.float32)
            self.error -= weighted_columns(gram.columns.values, slots, weights)
        exact = self.pool.error(self.theta)
        self.noise = float(np.max(np.abs(exact - self.error[self.pool.rows]), initial=0.0))
        self.error[self.pool.rows] = exact

    def wish(self) -> Array:
        """How much each bound row wants to move: positive where it is in the wrong category."""
        error = self.error - self.bias
        rise = np.where(self.theta < self.high, error, 0.0)
        fall = np.where(self.theta > self.low, -error, 0.0)
        return np.where(self.free, 0.0, np.maximum(rise, fall))

    def exchange(self, doubt: float) -> int:
        """Rows in the wrong category change place; how many did."""
        wish = self.wish()
        inside = self.pool._inside
        enter = np.flatnonzero(np.where(inside, wish > self.tol, wish > self.tol + doubt))
        self.theta = snapped(self.problem, self.theta)
        leave = np.flatnonzero(self.free & ((self.theta <= self.low) | (self.theta >= self.high)))
        self.free[leave] = False
        self.free[enter] = True
        self.pool.admit(enter, self.theta)
        return len(enter) + len(leave)

    def rounds(self) -> bool:
        """Solve and exchange until nothing changes; False where that does not settle."""
        best, since = np.inf, 0
        for count in range(_ROUNDS):
            try:
                self.solve_members()
                changes = self.exchange(4.0 * self.noise)
                if not changes:
                    self.sharpen()
                    changes = self.exchange(4.0 * self.noise)
            except LinAlgError:
                return False
            self.monitor.report("polish", self.monitor.steps, float(changes))
            if not changes:
                return self.is_balanced()
            best, since = (changes, 0) if changes < best else (best, since + 1)
            if since > 3:
                return False
        return False

    # -- rescue

    def rescue(self) -> None:
        """One row at a time, from the feasible point the polish started from."""
        self.theta, self.seen = self.start.theta.copy(), self.start.theta.copy()
        self.error = self.start.error.copy()
        while True:
            rows = self.pool.rows
            before = self.theta[rows].copy()
            others = self.theta.sum() - self.theta[rows].sum()
            dense = DenseProblem(
                self.pool.matrix, self.target[rows] - self.pool.outside, self.low[rows],
                self.high[rows], self.problem.total - others, self.problem.bias, self.shift,
            )
            try:
                self.theta[rows], self.bias = solve_dense(dense, before, self.bias, self.monitor)
            except UnboundedError as ray:
                raise UnboundedError(_spread(ray.direction, rows, len(self.theta))) from None
            self.theta = snapped(self.problem, self.theta)
            self.free[:] = (self.theta > self.low) & (self.theta < self.high)
            self.follow()
            if not self.admit_worst(self.wish(), self.tol + 4.0 * self.noise):
                return

    def admit_worst(self, wish: Array, threshold: float) -> int:
        """Take the rows outside the pool that want to move most into it."""
        wish = np.where(self.pool._inside, 0.0, wish)
        enter = np.flatnonzero(wish > threshold)
        most = max(_BATCH, len(self.pool.rows) // 2)
        if len(enter) > most:
            enter = enter[np.argpartition(-wish[enter], most)[:most]]
        self.pool.admit(enter, self.theta)
        return len(enter)

    def confirm(self) -> None:
        """Errors in float64 for every row that float32 leaves in doubt."""
        gram = self.problem.gram
        support = np.flatnonzero(self.theta)
        root = np.sqrt(np.abs(gram.diagonal))
        doubt = _DOUBT * float(root.max() * (np.abs(self.theta) @ root)) + 10.0 * self.noise
        wish = np.maximum(self.wish(), 0.0)
        error = self.error - self.bias
        away = np.where(self.theta < self.high, -error, np.inf)
        away = np.minimum(away, np.where(self.theta > self.low, error, np.inf))
        rows = np.flatnonzero((away <= doubt) | (wish > 0) | (not self.free.any()))
        self.error[rows] = self.target[rows] - gram.times(support, self.theta[support], rows)


def _shift(diagonal: Array) -> float:
    """c of the margin system, of the size of K; above it where K itself is indefinite."""
    if diagonal.min() < 0:
        return 4.0 * float(np.abs(diagonal).max())
    return max(float(diagonal.mean()), 1e-300)


def _spread(values: Array, rows: Array, n: int) -> Array:
    result = np.zeros(n)
    result[rows] = values
    return result


def _middle(polish: Polish) -> float:
    up = np.where(polish.theta < polish.high, polish.error, -np.inf).max()
    down = np.where(polish.theta > polish.low, polish.error, np.inf).min()
    return float((up + down) / 2)


def polish(problem: Problem, start: Iterate, tol: float, monitor: Monitor) -> Candidate:
    """The optimum, from a feasible point near it.

    Each time round, rows that turn out to want to move join the pool, which only grows.
    """
    state = Polish(problem, start, tol, monitor)
    settled = state.rounds()
    while True:
        if not settled:
            state.rescue()
        state.confirm()
        if state.admit_worst(state.wish(), tol):
            if settled:
                state.exchange(0.0)
                settled = state.rounds()
        elif settled and state.wish().max() > 1e-6:
            settled = False  # the rounds ended on errors that float32 had blurred
        else:
            return Candidate(state.theta, state.error, state.bias)
