"""How far each contestant's answer is from the optimum, computed here from the data alone.

The value is the KKT violation in float64 as a multiple of 1e-9 + 64 eps max_i(sum_j |alpha_j
K_ij| + |b|), which is what a certified model has to stay below. Nothing the contestant says
about itself is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.declarations import Below, Contestant, Data, Measure, Problem, Row

BLOCK_ROWS = 1000


def decisions(model: Any, X: NDArray[np.float64], gamma: float) -> Data:
    """Return f(x) and the sum of the absolute values of its terms, for every row."""
    coefficients, b = np.ravel(model.dual_coef_), np.ravel(model.intercept_)[0]
    signed, absolute = [], []
    for start in range(0, len(X), BLOCK_ROWS):
        block = X[start : start + BLOCK_ROWS]
        K = np.exp(-gamma * cdist(block, X[model.support_], "sqeuclidean"))
        signed.append(K @ coefficients + b)
        absolute.append(K @ np.abs(coefficients) + abs(b))
    return np.concatenate(signed), np.concatenate(absolute)


def violation(model: Any, X: NDArray[np.float64], y: NDArray[Any], problem: Problem) -> Any:
    """Return the largest violation and the bar it should stay below."""
    f, scale = decisions(model, X, problem.settings["gamma"])
    g = np.where(y == model.classes_[1], f, -f) - 1
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(np.ravel(model.dual_coef_))
    too_low = np.where(alpha < problem.settings["C"], -g, 0)
    too_high = np.where(alpha > 0, g, 0)
    bar = 1e-9 + 64 * np.finfo(float).eps * scale.max()
    return max(too_low.max(), too_high.max()), bar


class ViolationTrial:
    """Fits once and looks at the answer."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.problem = problem
        self.X, self.y = problem.load()
        self.model = contestant.new(problem)
        self.largest = np.nan

    def run(self) -> float:
        """Fit and judge."""
        self.model.fit(self.X, self.y)
        self.largest, bar = violation(self.model, self.X, self.y, self.problem)
        return float(self.largest / bar)

    def remark(self) -> str:
        """Show the violation itself."""
        return f"violation {self.largest:.1e}"


KKT_VIOLATION = Measure(
    name="kkt_violation",
    unit="x bar",
    prepare=ViolationTrial,
    rows=(
        Row("synthetic-5000x20-C1", Below(1, "x bar")),
        Row("synthetic-5000x20-C100", Below(1, "x bar")),
        Row("pima-C1", Below(1, "x bar")),
    ),
    warm_up=False,
    at_most=1,
)
