"""Decomposition: from nothing to the neighbourhood of the optimum.

Sequential minimal optimisation on a working set of some hundred rows whose kernel values fit
a core's own cache (003, section 3.7.3 on decomposition; the two thresholds are those of
Keerthi et al. 2001, the pairs are chosen to second order). Between working sets the errors of
all rows are brought up to date by the columns of those coefficients that moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from adiabat.problem import Problem
from adiabat.solution import snapped
from adiabat.solvers.loops import descend_pairs, descend_singles, weighted_columns
from adiabat.solvers.monitor import Monitor

Array = NDArray[Any]

#: Rows of a working set at first, and at the most after sets with a step or more per row.
WORKING_SET, LARGEST_SET = 512, 2048
#: The part of a working set that stays from one to the next.
_STAYING = 0.5
#: A working set is solved to this part of the gap that it found.
_INNER = 0.1


@dataclass
class Iterate:
    """Signed coefficients and what the rows still lack: target - K theta, without any bias."""

    theta: Array
    error: Array


class Steps(Protocol):
    """How coefficients move: in pairs for a free bias, one by one for a fixed one."""

    def thresholds(self, rising: float, falling: float) -> tuple[float, float]:
        """Errors above the first want to rise, errors below the second want to fall."""

    def descend(self, K: Array, box: Box, error: Array, tol: float, max_steps: int) -> int:
        """Move the coefficients in the box; how many steps that took."""


@dataclass(frozen=True)
class Box:
    """Coefficients of a working set and their bounds."""

    theta: Array
    low: Array
    high: Array


class Pairs:
    """A row wants to rise when some other row has less reason to stay."""

    def thresholds(self, rising: float, falling: float) -> tuple[float, float]:
        return falling, rising

    def descend(self, K: Array, box: Box, error: Array, tol: float, max_steps: int) -> int:
        taken = descend_pairs(K, box.theta, box.low, box.high, error, np.float32(tol), max_steps)
        return int(taken)


@dataclass(frozen=True)
class Singles:
    """A row wants to rise when its error is above the bias, whatever the others want."""

    bias: float

    def thresholds(self, rising: float, falling: float) -> tuple[float, float]:  # noqa: ARG002
        return self.bias, self.bias

    def descend(self, K: Array, box: Box, error: Array, tol: float, max_steps: int) -> int:
        error -= np.float32(self.bias)
        taken = descend_singles(K, box.theta, box.low, box.high, error, np.float32(tol), max_steps)
        return int(taken)


def steps_of(problem: Problem) -> Steps:
    """The steps that fit the problem's bias."""
    return Pairs() if problem.bias is None else Singles(problem.bias)


class Decomposition:
    """The state of one descent."""

    def __init__(self, problem: Problem, iterate: Iterate, monitor: Monitor) -> None:
        self.gram, self.monitor = problem.gram, monitor
        self.steps = steps_of(problem)
        self.scale = problem.gram.scale
        self.low, self.high = problem.low * self.scale, problem.high * self.scale
        self.theta, self.error = iterate.theta * self.scale, iterate.error.copy()
        self.size = min(WORKING_SET, problem.gram.columns.capacity)
        self.working = np.empty(0, dtype=np.int64)
        self.taken = 0
        self.measure()

    def measure(self) -> None:
        """The two thresholds, and the gap between them."""
        self.up = np.where(self.theta < self.high, self.error, -np.inf)
        self.down = np.where(self.theta > self.low, self.error, np.inf)
        rising, falling = float(self.up.max()), float(self.down.min())
        self.floor, self.ceiling = self.steps.thresholds(rising, falling)
        self.gap = max(rising - self.floor, self.ceiling - falling)

    def select(self) -> None:
        """Half of the rows that most want to move, half of those of the last set."""
        half = max(1, (self.size - min(len(self.working), int(_STAYING * self.size))) // 2)
        rise, fall = _largest(self.up, half), _largest(-self.down, half)
        chosen = np.zeros(len(self.theta), dtype=bool)
        chosen[rise[self.up[rise] > self.floor]] = True
        chosen[fall[self.down[fall] < self.ceiling]] = True
        new = np.flatnonzero(chosen)
        staying = self.working[~chosen[self.working]][: self.size - len(new)]
        self.working = np.concatenate([new, staying])  # the newest first

    def improve(self, tol: float, max_steps: int) -> None:
        """Solve the working set and carry its changes to every row."""
        rows = np.sort(self.working)
        box = Box(self.theta[rows], self.low[rows], self.high[rows])
        taken = self.steps.descend(
            self.gram.among(rows),
            box,
            self.error[rows].astype(np.float32),
            max(_INNER * self.gap, 0.5 * tol),
            min(100 * len(rows), max_steps - self.taken),
        )
        self.taken += taken
        if (
            self.size < taken < len(self.theta)
        ):  # the work was in setting up and bringing up to date
            self.size = min(2 * self.size, LARGEST_SET, self.gram.columns.capacity)
        change = box.theta - self.theta[rows]
        moved = np.flatnonzero(change)
        slots = self.gram.hold(rows[moved])
        weights = change[moved].astype(np.float32)
        self.error -= weighted_columns(self.gram.columns.values, slots, weights)
        self.theta[rows] = box.theta


def _largest(values: Array, count: int) -> Array:
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - count)[len(values) - count :]


def descend(
    problem: Problem, start: Iterate, tol: float, max_steps: int, monitor: Monitor
) -> Iterate:
    """Lower the gap between the two thresholds to ``tol``, or take ``max_steps`` steps.

    It ends early where float32 cannot tell kernel values apart any more and so finds no step.
    """
    state = Decomposition(problem, start, monitor)
    while state.gap > tol and state.taken < max_steps:
        before = state.taken
        state.select()
        state.improve(tol, max_steps)
        state.measure()
        monitor.report("decomposition", state.taken, state.gap)
        if state.taken == before:
            break
    return Iterate(snapped(problem, state.theta / state.scale), state.error)
