"""A problem solved from nothing, and proved: five verbs.

Descend to the neighbourhood of the optimum, polish to machine precision, settle the bias,
measure, and refuse what does not meet the bar.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import SolverError
from adiabat.problem import Problem
from adiabat.solution import Solution, balanced, canonical_bias, violations
from adiabat.solvers.active_set import UnboundedError
from adiabat.solvers.hard_margin import not_separable, require_margin
from adiabat.solvers.monitor import Monitor
from adiabat.solvers.polish import Candidate, polish
from adiabat.solvers.smo import Iterate, descend

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)

#: The descent stops at this gap; the polish takes over.
_NEAR = 0.05
#: Steps after which the polish takes over whatever the gap, beyond a multiple of the rows; a
#: smaller one for hard margins, of which a long descent shows only that there may be none.
_STEPS, _STEPS_PER_ROW, _HARD_STEPS_PER_ROW = 20_000, 2_000, 30
#: Infinite bounds are this, and finite ones at most the second, over the median of K(x, x),
#: during the descent.
_CAP, _FINITE_CAP = 1e4, 1e20


def solve(
    problem: Problem,
    *,
    tol: float = 1e-9,
    max_steps: int | None = None,
    monitor: Monitor | None = None,
    start: Array | None = None,
) -> Solution:
    """The optimum of a problem, with its canonical bias.

    The way begins at the coefficients ``start``, or at none. With ``max_steps`` the descent may
    end early; then the solution has that number of steps and is not the optimum.

    Raises
    ------
    NotSeparableError
        For infinite bounds where no hard margin exists.
    SolverError
        Where the bar tol + 64 eps max_i(sum_j |alpha_j K_ij| + |b|) was not reached.
    """
    monitor = monitor or Monitor()
    counts = problem.bounds > 0
    alone = len(set(problem.y[counts])) < 2 and problem.total == 0.0
    if problem.bias is None and alone:
        theta = np.zeros(len(problem))
        return _settled(problem, Candidate(theta, problem.target.copy()), monitor)
    first = Iterate(np.zeros(len(problem)), problem.target.copy())
    if start is not None or problem.total != 0.0:
        first = feasible(problem, first.theta if start is None else start)
    limit = _STEPS + (_HARD_STEPS_PER_ROW if problem.is_hard else _STEPS_PER_ROW) * len(problem)
    if max_steps is not None and max_steps <= limit:
        near = descend(_bounded(problem), first, _NEAR, max_steps, monitor)
        if monitor.steps >= max_steps:
            return _settled(problem, _unpolished(problem, near), monitor)
    else:
        near = descend(_bounded(problem), first, _NEAR, limit, monitor)
    problem.gram.release_columns()  # they have served
    try:
        candidate = polish(problem, near, 0.1 * tol, monitor)
    except UnboundedError as ray:
        raise not_separable(problem, ray.direction) from None
    solution = _settled(problem, candidate, monitor)
    if problem.is_hard and not problem.gram.ridge.any():
        require_margin(problem, solution)
    _require(problem, solution, tol)
    return solution


def feasible(problem: Problem, theta: Array) -> Iterate:
    """Coefficients put within their bounds, and what their sum has too much taken off.

    First off those that get smaller by it, then off all by the room they have.
    """
    bounded = _bounded(problem)
    theta = np.clip(theta, bounded.low, bounded.high)
    for nearest in (np.zeros(len(theta)), bounded.low, bounded.high):
        surplus = float(theta.sum()) - problem.total if problem.bias is None else 0.0
        if abs(surplus) <= EPS * float(np.abs(theta).sum()):
            break
        room = theta - nearest
        room[room * surplus <= 0.0] = 0.0
        if room.any():
            theta -= room * min(1.0, surplus / float(room.sum()))
    support = np.flatnonzero(theta)
    return Iterate(theta, problem.target - problem.gram.times(support, theta[support]))


def _bounded(problem: Problem) -> Problem:
    """The same problem within bounds that keep the descent finite where no optimum exists.

    Float32 has to bear them too.
    """
    diagonal = np.abs(problem.gram.diagonal)
    typical = max(float(np.median(diagonal)), 1e-6 * float(diagonal.max(initial=0.0)))
    cap = (_CAP if problem.is_hard else _FINITE_CAP) / (typical or 1.0)
    if (problem.bounds <= cap).all():
        return problem
    return replace(problem, bounds=np.minimum(problem.bounds, cap))


def _unpolished(problem: Problem, near: Iterate) -> Candidate:
    support = np.flatnonzero(near.theta)
    error = problem.target - problem.gram.times(support, near.theta[support])
    return Candidate(near.theta, error)


def _settled(problem: Problem, candidate: Candidate, monitor: Monitor) -> Solution:
    bias = canonical_bias(problem, candidate.error)
    theta = balanced(problem, candidate.theta, candidate.error)
    return Solution(theta, bias, candidate.error - bias, monitor.steps)


def _require(problem: Problem, solution: Solution, tol: float) -> None:
    worst = float(violations(problem, solution.theta, solution.error).max(initial=0.0))
    if worst <= tol:
        return
    bar = tol + 64.0 * EPS * (problem.gram.magnitude(solution.theta) + abs(solution.bias))
    if worst > bar:
        raise SolverError(
            f"tol: the optimality conditions are broken by {worst:.3g}; wanted at most {bar:.3g}. "
            "The kernel values of these data are too extreme for float64: scale the features."
        )
