"""A fit as a multiple of computing its support vectors' kernel columns once in float32.

No fit that looks at the kernel can do with less. The columns are computed block by block with
one matrix product and one exponential, into a buffer that stays in the processor's cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.declarations import Contestant, Measure, Problem, Row
from benchmarks.threads import seconds

BLOCK_ENTRIES = 1 << 18


def kernel_columns(X: NDArray[np.float32], columns: NDArray[np.float32], gamma: float) -> None:
    """Compute exp(-gamma |x - s|^2) for all rows x and all s, keeping one block at a time.

    A column of ones beside the squared norms lets the matrix product add them up as well.
    """
    ones = np.ones((len(X), 1), np.float32), np.ones((len(columns), 1), np.float32)
    norms = (X**2).sum(1, keepdims=True), (columns**2).sum(1, keepdims=True)
    left = np.float32(gamma) * np.hstack([2 * X, -norms[0], -ones[0]])
    right = np.ascontiguousarray(np.hstack([columns, ones[1], norms[1]]).T)
    rows = max(1, BLOCK_ENTRIES // len(columns))
    buffer = np.empty((rows, len(columns)), np.float32)
    for start in range(0, len(X), rows):
        block = left[start : start + rows]
        out = np.matmul(block, right, out=buffer[: len(block)])
        np.exp(out, out=out)


class LimitTrial:
    """Times a fit, then the columns of the support vectors it found."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.contestant, self.problem = contestant, problem
        self.model = contestant.new(problem)
        self.X, self.y = problem.load()
        self.rows = self.X.astype(np.float32)
        self.fit = self.limit = np.nan

    def run(self) -> float:
        """Time both and divide."""
        self.model = self.contestant.new(self.problem)
        self.fit = seconds(lambda: self.model.fit(self.X, self.y))
        self.limit = seconds(self.columns_once)
        return self.fit / self.limit

    def columns_once(self) -> None:
        """Compute the kernel columns of the support vectors."""
        gamma = self.problem.settings["gamma"]
        kernel_columns(self.rows, self.rows[self.model.support_], gamma)

    def remark(self) -> str:
        """Show both times."""
        found = len(self.model.support_)
        return f"fit {self.fit:.3g} s, limit {self.limit:.3g} s for {found} SV"


DISTANCE_TO_LIMIT = Measure(
    name="distance_to_limit",
    unit="x limit",
    prepare=LimitTrial,
    rows=(Row("synthetic-5000x20-C1"), Row("synthetic-20000x50-C1")),
    rivals=(),
)
