"""Whether a hard margin exists, and the evidence where it does not.

A coefficient vector whose classes have equal sums names a point in each class's convex hull;
the two points are at least as far apart as the hulls, and at the optimum exactly as far:
2/|w| (003, Problem 3.18).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.errors import NotSeparableError
from adiabat.problem import Problem
from adiabat.solution import LEAST_MARGIN, Solution, squared_length

Array = NDArray[Any]

#: Weights below this are rounding and name no row.
_WEIGHTLESS = 1e-12


def reach(problem: Problem) -> float:
    """The largest sqrt(K(x, x)) of the rows that count."""
    return float(np.sqrt(np.max(problem.gram.diagonal[problem.bounds > 0], initial=0.0)))


def require_margin(problem: Problem, solution: Solution) -> None:
    """Raise where the margin 1/|w| of a hard-margin solution is none."""
    points = problem.target - solution.bias
    length = np.sqrt(max(squared_length(solution.theta, solution.error, points), 0.0))
    if length * LEAST_MARGIN * reach(problem) > 1.0:
        raise not_separable(problem, solution.theta)


def not_separable(problem: Problem, theta: Array) -> NotSeparableError:
    """The error that shows two points, one of each hull, that all but coincide."""
    weights = np.abs(theta)
    for label in (-1.0, 1.0):
        own = problem.y == label
        weights[own] /= max(weights[own].sum(), 1e-300)
    rows = np.flatnonzero(weights > _WEIGHTLESS)
    signed = (problem.y * weights)[rows]
    squared = float(signed @ problem.gram.block(rows, rows) @ signed)
    distance = float(np.sqrt(max(squared, 0.0)))
    wanted = f"wanted a margin of at least {LEAST_MARGIN * reach(problem):.3g}"
    if problem.bias is None:
        found = f"the convex hulls of the classes come within {distance:.3g} of each other"
    else:
        found = f"no boundary with the bias fixed at {problem.bias:g} keeps that distance"
    return NotSeparableError(
        f"C: infinite (a hard margin), but the classes are not separable: {found}, "
        f"which {len(rows)} rows show (see .ids and .weights of this error); {wanted}. "
        "Choose a finite C.",
        distance=distance,
        ids=rows,
        weights=weights[rows],
    )
