"""What a solver hands over, and the bias that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.problem import Problem

Array = NDArray[Any]
EPS = float(np.finfo(np.float64).eps)

#: The active bounds of the two classes balance where they agree to this part of their sum.
BALANCE = 1e-12
#: An interval of biases shorter than this breaks no optimality condition.
_NO_INTERVAL = 1e-9
#: A margin below this part of the largest sqrt(K(x, x)) counts as none.
LEAST_MARGIN = 1e-6


@dataclass(frozen=True)
class Solution:
    """Coefficients, bias and the residuals that come with them.

    Attributes
    ----------
    theta : ndarray
        Signed coefficients y * alpha, exactly within their bounds.
    bias : float
        The canonical bias.
    error : ndarray
        target - K theta - bias on every row: in float64 wherever it could decide a category,
        elsewhere as the descent left it.
    steps : int
        Steps of all solvers together.
    """

    theta: Array
    bias: float
    error: Array
    steps: int

    @property
    def support(self) -> Array:
        return np.flatnonzero(self.theta)


def violations(problem: Problem, theta: Array, error: Array) -> Array:
    """By how much each row breaks its optimality condition (004, eq. 4)."""
    rise = np.where(theta < problem.high, error, 0.0)
    fall = np.where(theta > problem.low, -error, 0.0)
    return np.maximum(np.maximum(rise, fall), 0.0)


def squared_length(theta: Array, error: Array, points: Array) -> float:
    """|w|^2 at an optimum, and at least as much as can be said of it elsewhere.

    ``points`` is target - bias, and theta'points is the sum of the alpha (1 - b y), which is
    |w|^2 at the optimum. Where it is larger it bounds that from below: the dual objective of
    s theta is s theta'points - s^2 |w|^2 / 2, and half the optimum's |w|^2 is the largest of
    all. It has nothing to cancel where coefficients grow without end and w does not.
    """
    return max(float(theta @ (points - error)), float(theta @ points))


def snapped(problem: Problem, theta: Array) -> Array:
    """Coefficients beyond a bound, or closer to it than rounding, put on that bound."""
    theta = np.clip(theta, problem.low, problem.high)
    rounding = 8.0 * EPS * np.abs(theta).sum()
    above, below = theta - problem.low, problem.high - theta
    bound = np.where(above <= below, problem.low, problem.high)
    return np.where(np.minimum(above, below) <= rounding, bound, theta)


def bias_interval(problem: Problem, points: Array) -> tuple[float, float]:
    """All biases that minimise the primal for given weights, from the least to the largest.

    ``points`` is target - K theta.
    """
    if problem.bias is not None:
        return problem.bias, problem.bias
    return minimising_biases(problem.low, problem.high, points, problem.total)


def minimising_biases(low: Array, high: Array, points: Array, total: float) -> tuple[float, float]:
    """The same for a free bias, in the words of somebody without a problem at hand.

    A row is active where b lies below its point, and loses ``high`` per unit, or above it, and
    loses -``low``. The slope of the primal in b is ``total`` less all that is active: the
    minimisers are a single point, an interval exactly where the two balance. Only what is active
    is counted, so that rows that have no say do not blur it. With infinite bounds the minimisers
    are all biases between the classes. One class alone is content from its label on.
    """
    counts = high > low
    low, high, points = low[counts], high[counts], points[counts]
    if not len(points):
        return 0.0, 0.0
    if total == 0.0 and not (low < 0.0).any():
        return float(points.max()), float(points.max())
    if total == 0.0 and not (high > 0.0).any():
        return float(points.min()), float(points.min())
    if np.isinf(low).any() or np.isinf(high).any():
        ends = float(points[high > 0.0].max()), float(points[low < 0.0].min())
        return min(ends), max(ends)
    order = np.argsort(points)
    # just above each point
    above = np.append(np.cumsum(high[order][::-1])[::-1][1:], 0.0)
    below = np.cumsum(low[order])
    slope, slack = total - above - below, BALANCE * (above - below)
    first, last = np.argmax(slope >= -slack), np.argmax(slope > slack)
    return float(points[order[first]]), float(points[order[last]])


def canonical_bias(problem: Problem, points: Array) -> float:
    """The middle of all biases that minimise the primal for given weights."""
    low, high = bias_interval(problem, points)
    return 0.5 * (low + high)


def balanced(problem: Problem, theta: Array, points: Array) -> Array:
    """Coefficients put on the bounds that they are at where the bias is free in an interval.

    There every coefficient stands at a bound, to the slack of a balance; the active bounds are the
    coefficients. Measured by bounds that nobody reaches, small coefficients would pass for none.
    """
    low, high = bias_interval(problem, points)
    if problem.is_hard or high - low <= _NO_INTERVAL:
        return theta
    bounds = np.where(points > 0.5 * (low + high), problem.high, problem.low)
    slack = BALANCE * float(np.abs(theta).sum())
    return bounds if np.abs(bounds - theta).max() <= slack else theta
