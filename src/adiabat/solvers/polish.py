"""From the neighbourhood of the optimum to the optimum itself.

With the three categories fixed, the optimum is one solve of the bordered margin system. Its
answer shows which rows stand in the wrong category: members beyond their bounds, bound rows
that want to move. Those change place, all at once, and the system is solved again; from a
good start a handful of rounds ends at machine precision. Where it does not (singular margin
systems, cycles), ``active_set`` moves one row at a time from the last feasible point.

Only the margin members and the few rows that change place (the pool) enter in float64. The
errors of all other rows follow in float32 meanwhile, and those that this leaves in doubt are
computed in float64 at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from adiabat.margin_system import EPS, BlockFactor, BorderedSolve, RevisedFactor
from adiabat.problem import Problem
from adiabat.solution import snapped, violations
from adiabat.solvers.active_set import DenseProblem, UnboundedError, solve_dense
from adiabat.solvers.monitor import Monitor
from adiabat.solvers.pool import Pool
from adiabat.solvers.smo import Iterate

Array = NDArray[Any]

#: Rounds at the most, and rounds without fewer changes, before the rescue.
_ROUNDS, _PATIENCE = 12, 3
#: Corrections of a float32 factor's answer in a round, and at the end.
_CORRECTIONS, _LAST_CORRECTIONS = 1, 12
#: Systems up to this size get one correction more, in the widest floating type.
_WIDE_ROWS = 1024
#: A factor is used again where not more than one in so many members has changed.
_REVISION = 12
#: A correction that leaves more than this part of the error was the last that helped.
_HELPS = 0.25
#: Float64 rounding that moves decision values by less needs no wider sums.
_SHARP = 1e-9
#: Rows that may join the pool at once in a rescue.
_BATCH = 256
#: Rows of the pool, about, in which the noise of float32 errors is seen.
_SAMPLE = 256
#: Float32 errors are trusted to this many of the rounding errors seen in the pool.
_TRUST = 4.0
#: Rounding of a float32 kernel value and of a sum of them, generously.
_SINGLE = 32.0 * float(np.finfo(np.float32).eps)
#: Up to this many kernel values every error is computed in float64 at the end.
_CHEAP = 2_000_000
#: Violations above this after the rounds show that float32 had misled them.
_MISLED = 1e-6


@dataclass(frozen=True)
class Candidate:
    """What the polish hands over: coefficients, and target - K theta of every row."""

    theta: Array
    error: Array


class Polish:
    """The state of one polish."""

    def __init__(self, problem: Problem, start: Iterate, tol: float, monitor: Monitor) -> None:
        self.problem, self.monitor, self.tol = problem, monitor, tol
        self.gram, self.root = problem.gram, np.sqrt(np.abs(problem.gram.diagonal))
        self.low, self.high, self.target = problem.low, problem.high, problem.target
        self.shift = _shift(problem)
        self.start = start
        self.pool = Pool(problem)
        self.base: BlockFactor | None = None
        self.restart()
        self.pool.admit(np.flatnonzero(self.free), self.theta)

    def restart(self) -> None:
        """Back to the feasible point where the polish began; the pool stays."""
        self.theta, self.error = self.start.theta.copy(), self.start.error.copy()
        self.anchor = self.start
        self.free = self.between()
        self.bias = self.middle()
        self.noise = 0.0  # of errors outside the pool, as seen inside it

    # -- what there is to see

    def between(self) -> Array:
        return (self.theta > self.low) & (self.theta < self.high)

    def middle(self) -> float:
        """The bias half-way between the two thresholds, or the fixed one."""
        if self.problem.bias is not None:
            return self.problem.bias
        up = np.where(self.theta < self.high, self.error, -np.inf).max()
        down = np.where(self.theta > self.low, self.error, np.inf).min()
        return float((up + down) / 2)

    def wish(self) -> Array:
        """How much each bound row wants to move: positive where its category is wrong."""
        broken = violations(self.problem, self.theta, self.error - self.bias)
        return np.where(self.free, 0.0, broken)

    def imbalance(self) -> float:
        return self.problem.total - self.theta.sum() if self.problem.bias is None else 0.0

    def is_balanced(self) -> bool:
        return abs(self.imbalance()) <= 1e-12 * float(np.abs(self.theta).sum())

    def doubt(self) -> float:
        return _TRUST * self.noise

    # -- rounds

    def rounds(self) -> bool:
        """Solve and exchange until nothing changes; False where that does not settle."""
        best, since = np.inf, 0
        for _ in range(_ROUNDS):
            try:
                changes = self.round()
            except LinAlgError:
                return False
            self.monitor.report("polish", self.monitor.steps, float(changes))
            if not changes:
                return self.is_balanced()
            best, since = (changes, 0) if changes < best else (best, since + 1)
            if since > _PATIENCE:
                return False
        return False

    def round(self) -> int:
        """Members onto the margin, rows in the wrong category to the right one; how many."""
        inside = np.flatnonzero(self.free[self.pool.rows])
        if not len(inside):
            self.follow()
            self.bias = self.middle()
            return self.exchange(self.doubt())
        factor = self.factor(inside)
        for _ in range(_CORRECTIONS):
            self.correct(factor, inside)
        self.follow()
        changes = self.exchange(self.doubt())
        if not changes:
            self.sharpen(factor, inside)
            changes = self.exchange(self.doubt())
        return changes

    def factor(self, inside: Array) -> BorderedSolve:
        """The last factor if it serves with few changes, a new one otherwise."""
        matrix = self.pool.matrix
        if self.base is not None:
            changes = len(np.setxor1d(self.base.index, inside, assume_unique=True))
            if changes * _REVISION <= len(inside):
                try:
                    return RevisedFactor(self.base, matrix, inside) if changes else self.base
                except LinAlgError:
                    pass  # a new one is more exact
        try:
            self.base = BlockFactor(matrix, inside, self.shift, np.float32)
        except LinAlgError:
            self.base = BlockFactor(matrix, inside, self.shift, np.float64)
        return self.base

    def correct(self, factor: BorderedSolve, inside: Array) -> float:
        """Move the members by their exact errors (004, eq. 12-13); the largest of these."""
        error = self.pool.error(self.theta)[inside] - self.bias
        step, bias = factor.step(error, self.imbalance())
        self.theta[self.pool.rows[inside]] += step
        self.bias += bias
        return float(np.max(np.abs(error)))

    def sharpen(self, factor: BorderedSolve, inside: Array) -> None:
        """Correct until that no longer helps; with a float64 factor where float32 stalls."""
        last = np.inf
        for _ in range(_LAST_CORRECTIONS):
            error = self.correct(factor, inside)
            if error > _HELPS * last:
                break
            last = error
        if error > self.tol and not self.is_double(factor):
            self.base = BlockFactor(self.pool.matrix, inside, self.shift, np.float64)
            self.sharpen(self.base, inside)
        self.follow()

    def is_double(self, factor: BorderedSolve) -> bool:
        return factor is self.base and self.base.dtype is np.float64

    def follow(self) -> None:
        """Errors at the present coefficients: exact in the pool, in float32 of rows near it.

        No other row can have changed its category since the anchor, where float32 errors of all
        rows are known; where that leaves most rows in doubt, the anchor comes here.
        """
        near = self.unclear(self.anchor.error, self.drift()) & ~self.pool.inside
        if 2 * np.count_nonzero(near) > len(near) - len(self.pool):
            self.follow_all()
        else:
            self.update(near)

    def follow_all(self) -> None:
        """Errors of all rows; the anchor comes here."""
        self.update(~self.pool.inside)
        self.anchor = Iterate(self.theta.copy(), self.error.copy())

    def update(self, near: Array) -> None:
        """Errors from the anchor's: in float32 where ``near``, exact in the pool."""
        rows, anchor = self.pool.rows, self.anchor
        change = self.theta - anchor.theta
        moved = np.flatnonzero(change)
        sample = rows[:: 1 + len(rows) // _SAMPLE]
        others = np.concatenate([np.flatnonzero(near), sample])
        self.error = anchor.error.copy()
        self.error[others] -= self.gram.times_single(moved, change[moved], others)
        exact = self.pool.error(self.theta)
        off = exact[:: 1 + len(rows) // _SAMPLE] - self.error[sample]
        self.noise = float(np.max(np.abs(off), initial=0.0))
        self.error[rows] = exact

    def drift(self) -> Array:
        """By how much decision values may have changed since the anchor: |dw| |phi(x)|."""
        if not self.gram.kernel.convex or not self.free.any():
            return np.full(len(self.theta), np.inf)
        before, now = self.pool.error(self.anchor.theta), self.pool.error(self.theta)
        squared = float((self.theta - self.anchor.theta)[self.pool.rows] @ (before - now))
        return np.sqrt(max(squared, 0.0)) * self.root

    def unclear(self, error: Array, margin: Array) -> Array:
        """Whether errors that are uncertain by so much leave a row's category in doubt."""
        margin = margin + _SINGLE * float(self.root.max() * (np.abs(self.theta) @ self.root))
        margin += 10.0 * self.noise
        error = error - self.bias
        rise = (self.theta < self.high) & (error >= -margin)
        return rise | ((self.theta > self.low) & (error <= margin))

    def exchange(self, doubt: float) -> int:
        """Rows in the wrong category change place; how many did."""
        wish = self.wish()
        enter = np.flatnonzero(wish > np.where(self.pool.inside, self.tol, self.tol + doubt))
        self.theta = snapped(self.problem, self.theta)
        leave = np.flatnonzero(self.free & ~self.between())
        self.free[leave] = False
        self.free[enter] = True
        self.pool.admit(enter, self.theta)
        return len(enter) + len(leave)

    # -- rescue

    def rescue(self) -> None:
        """One row of the pool at a time, from the last feasible point; the end is the next."""
        self.restart()
        rows = self.pool.rows
        others = self.theta.sum() - self.theta[rows].sum()
        dense = DenseProblem(
            self.pool.matrix,
            self.target[rows] - self.pool.outside,
            self.low[rows],
            self.high[rows],
            self.problem.total - others,
            self.problem.bias,
            self.shift,
        )
        try:
            answer = solve_dense(dense, self.theta[rows], self.bias, self.monitor)
        except UnboundedError as ray:
            raise UnboundedError(_spread(ray.direction, rows, len(self.theta))) from None
        self.theta[rows], self.bias = answer
        self.theta = snapped(self.problem, self.theta)
        self.free = self.between()
        self.follow_all()
        self.start = self.anchor

    def admit_worst(self, threshold: float) -> int:
        """Take the rows outside the pool that most want to move into it; how many."""
        wish = np.where(self.pool.inside, 0.0, self.wish())
        enter = np.flatnonzero(wish > threshold)
        most = max(_BATCH, len(self.pool) // 2)
        if len(enter) > most:
            enter = enter[np.argpartition(-wish[enter], most)[:most]]
        self.pool.admit(enter, self.theta)
        return len(enter)

    # -- the end

    def correct_widely(self) -> None:
        """Correct by errors whose rounding an ill-conditioned system can bear.

        They are summed in the widest type. Where the system is singular nothing is gained.
        """
        inside = np.flatnonzero(self.free[self.pool.rows])
        if not 0 < len(inside) <= _WIDE_ROWS or self.is_sharp(len(inside)):
            return
        before = self.theta.copy(), self.bias
        try:
            factor = BlockFactor(self.pool.matrix, inside, self.shift, np.float64)
        except LinAlgError:
            return
        for _ in range(_CORRECTIONS):
            error = self.pool.wide_error(self.theta, inside) - self.bias
            step, bias = factor.step(error.astype(np.float64), self.imbalance())
            self.theta[self.pool.rows[inside]] += step
            self.bias += bias
        if not np.array_equal(self.between(), self.free):
            self.theta, self.bias = before
        self.follow()

    def is_sharp(self, members: int) -> bool:
        """Whether float64 errors leave nothing to gain: |dw| <= |L^-1 e| is clearly small."""
        if self.base is None:
            return False
        root = np.sqrt(np.abs(self.problem.gram.diagonal))
        reach = float(root.max())
        rounding = 8.0 * EPS * reach * float(np.abs(self.theta) @ root)
        spread = np.sqrt(members) / (self.base.least * self.base.largest)
        return bool(rounding * spread * reach <= _SHARP)

    def confirm(self) -> None:
        """Errors in float64 for every row whose category float32 leaves in doubt."""
        support = np.flatnonzero(self.theta)
        unclear = self.unclear(self.error, np.zeros(len(self.theta))) & ~self.pool.inside
        if len(unclear) * len(support) <= _CHEAP or not self.free.any():
            unclear[:] = True
        rows = np.flatnonzero(unclear)
        self.error[rows] = self.target[rows] - self.gram.times(support, self.theta[support], rows)


def _shift(problem: Problem) -> float:
    """c of the margin system, of the size of K; above it where K itself is indefinite."""
    if problem.bias is not None:
        return 0.0
    diagonal = problem.gram.diagonal
    if diagonal.min() < 0:
        return 4.0 * float(np.abs(diagonal).max())
    return max(float(diagonal.mean()), float(np.finfo(np.float64).tiny))


def _spread(values: Array, rows: Array, n: int) -> Array:
    result = np.zeros(n)
    result[rows] = values
    return result


def polish(problem: Problem, start: Iterate, tol: float, monitor: Monitor) -> Candidate:
    """The optimum, from a feasible point near it.

    Each time round, rows that turn out to want to move join the pool, which only grows.
    """
    state = Polish(problem, start, tol, monitor)
    settled = state.rounds()
    while True:
        if not settled:
            state.rescue()
        state.correct_widely()
        state.confirm()
        if state.admit_worst(tol):
            state.exchange(0.0)
            settled = state.rounds()
        elif settled and state.wish().max() > _MISLED:
            settled = False
        else:
            return Candidate(state.theta, state.error)
