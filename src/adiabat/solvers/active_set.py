"""A dense problem solved one row at a time, whatever its margin system looks like.

A primal active-set method: the dual objective never gets worse and no set of members comes
back, so it ends. Members always have a regular bordered system. A row that would make it
singular slides along the null direction until some row meets a bound, and the two are
exchanged; where no bound ends the slide, a hard margin does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import AdiabatError, SolverError
from adiabat.margin_system import EPS, independent
from adiabat.solvers.monitor import Monitor

Array = NDArray[Any]

#: A part 1/_MANY of a matrix's lines costs as much to take out as all cost to read.
_MANY = 4


@dataclass(frozen=True)
class DenseProblem:
    """min 1/2 t'Kt - target't, low <= t <= high, sum(t) = total where the bias is free."""

    matrix: Array
    target: Array
    low: Array
    high: Array
    total: float
    bias: float | None
    shift: float


class UnboundedError(AdiabatError):
    """The objective has no lower bound: along ``direction`` it falls for ever."""

    def __init__(self, direction: Array) -> None:
        super().__init__("the dual objective has no lower bound")
        self.direction = direction


class ActiveSet:
    """The state of one descent."""

    def __init__(self, problem: DenseProblem, theta: Array, bias: float) -> None:
        self.problem = problem
        self.theta = theta.copy()
        self.bias = bias
        inside = np.flatnonzero((theta > problem.low) & (theta < problem.high))
        self.factor, self.members = independent(problem.matrix, inside, problem.shift)
        self.steps = 0
        self.stalled = 0
        self.calm = 0.0  # members' errors below this are rounding
        self.error = problem.target - problem.matrix @ self.theta
        self.can_move = problem.high > problem.low

    # -- moving

    def rates(self, row: int) -> tuple[Array, Array, float, float]:
        """Per unit of theta[row]: rates of theta and K theta, of the bias, and curvature."""
        K, members = self.problem.matrix, self.members
        own, bias, curvature = self.factor.entry(K[row, members], K[row, row])
        direction = np.zeros(len(self.theta))
        direction[members] = own
        direction[row] = 1.0
        return direction, K[row] + self.reply(own), bias, curvature

    def reply(self, own: Array) -> Array:
        """K theta of the members' coefficients; many lines are read in place, few taken out."""
        K, members = self.problem.matrix, self.members
        if _MANY * len(members) < len(K):
            return own @ K[members]
        spread = np.zeros(len(K))
        spread[members] = own
        return K @ spread

    def room(self, direction: Array) -> tuple[float, int]:
        """How far until a coefficient meets a bound, and which one."""
        rows = np.flatnonzero(direction)
        rate = direction[rows]
        bound = np.where(rate > 0, self.problem.high[rows], self.problem.low[rows])
        with np.errstate(over="ignore"):  # a rate of next to nothing meets no bound
            distance = np.maximum((bound - self.theta[rows]) / rate, 0.0)
        least = distance.min(initial=np.inf)
        if np.isinf(least):
            return np.inf, -1
        ties = np.flatnonzero((distance - least) * np.abs(rate) <= self.rounding())
        if self.stalled:
            return float(least), int(rows[ties].min())
        return float(least), int(rows[ties[np.argmax(np.abs(rate[ties]))]])

    def move(self, direction: Array, change: Array, bias: float, length: float) -> None:
        self.theta += length * direction
        self.error -= length * change
        self.bias += length * bias
        moved = length * np.abs(direction).max()
        self.stalled = 0 if moved > self.rounding() else self.stalled + 1

    def rounding(self) -> float:
        """A coefficient this close to its bound is on it."""
        return 8.0 * EPS * float(np.abs(self.theta).sum())

    def put_on_bound(self, row: int, rate: float) -> None:
        self.theta[row] = self.problem.high[row] if rate > 0 else self.problem.low[row]

    def drop(self, row: int) -> None:
        position = self.members.index(row)
        self.factor.remove(position)
        self.members.pop(position)

    # -- the two kinds of steps

    def settle_members(self) -> bool:
        """Towards the optimum on the members' face; False where a bound came first."""
        if not self.members:
            return True
        members = self.members
        imbalance = self.problem.total - self.theta.sum() if self.problem.bias is None else 0.0
        if self.is_settled(imbalance):
            return True
        step, bias = self.factor.step(self.error[members] - self.bias, imbalance)
        direction = np.zeros(len(self.theta))
        direction[members] = step
        length, row = self.room(direction) if direction.any() else (1.0, -1)
        full = length >= 1.0
        self.move(direction, self.reply(step), bias, 1.0 if full else length)
        if not full:
            self.put_on_bound(row, direction[row])
            self.drop(row)
        return full

    def is_settled(self, imbalance: float) -> bool:
        """Whether all that the members' errors show is rounding."""
        worst = np.abs(self.error[self.members] - self.bias).max()
        return bool(worst <= self.calm and abs(imbalance) <= self.rounding())

    def enter(self, row: int, sense: float) -> None:
        """Move one row that is no member, in the sense that lowers the objective."""
        if not self.members and self.problem.bias is None:
            self.bias = float(self.error[row])  # b moves alone until this row is on the margin
            self.join(row)
            return
        direction, change, bias, curvature = self.rates(row)
        direction, change, bias = sense * direction, sense * change, sense * bias
        slope = sense * (self.error[row] - self.bias)
        wanted = slope / curvature if curvature > 0 else np.inf
        length, blocking = self.room(direction)
        if np.isinf(wanted) and np.isinf(length):
            raise UnboundedError(direction)
        if wanted <= length:
            self.move(direction, change, bias, wanted)
            self.join(row)
            return
        self.move(direction, change, bias, length)
        self.put_on_bound(blocking, direction[blocking])
        if blocking != row:
            self.drop(blocking)
            self.join(row)

    def join(self, row: int) -> None:
        K = self.problem.matrix
        if self.factor.append(K[row, self.members], K[row, row]):
            self.members.append(row)

    # -- the choice

    def free_rows(self) -> Array:
        inside = (self.theta > self.problem.low) & (self.theta < self.problem.high)
        inside[self.members] = False
        return np.flatnonzero(inside)

    def worst(self, tol: float) -> tuple[int, float]:
        """The row that most wants to move, or -1; the first one while nothing moves."""
        error = self.error - self.bias
        rise = np.where(self.theta < self.problem.high, error, 0.0)
        fall = np.where(self.theta > self.problem.low, -error, 0.0)
        wish = np.maximum(rise, fall)
        wish[self.members] = 0.0
        wish[~self.can_move] = 0.0
        if wish.max(initial=0.0) <= tol:
            return -1, 0.0
        row = int(np.argmax(wish)) if not self.stalled else int(np.flatnonzero(wish > tol)[0])
        return row, 1.0 if rise[row] >= fall[row] else -1.0

    def tolerance(self) -> float:
        """Wishes below this are rounding."""
        magnitude = np.abs(self.problem.matrix) @ np.abs(self.theta)
        return 1e-11 + 16.0 * EPS * (float(magnitude.max(initial=0.0)) + abs(self.bias))


def solve_dense(
    problem: DenseProblem, theta: Array, bias: float, monitor: Monitor
) -> tuple[Array, float]:
    """Optimal coefficients and bias, from a feasible point."""
    state = ActiveSet(problem, theta, bias)
    limit = 1000 + 50 * len(theta)
    for count in range(limit):
        if count % 64 == 0:
            tol = state.tolerance()
            state.calm = 0.1 * tol
            monitor.report("active set", count, float(len(state.members)))
        if not state.settle_members():
            continue
        waiting = state.free_rows()
        if len(waiting):
            row = int(waiting[0])
            sense = 1.0 if state.error[row] >= state.bias else -1.0
        else:
            row, sense = state.worst(tol)
        if row < 0:
            state.error = problem.target - problem.matrix @ state.theta
            state.calm = 0.0
            state.settle_members()
            tol = state.tolerance()
            if state.worst(tol)[0] < 0:
                return state.theta, state.bias
            continue
        state.enter(row, sense)
    raise SolverError(
        f"active set: no optimum after {limit} steps on {len(theta)} rows. The kernel values of "
        "these data are too extreme for float64: scale the features."
    )
