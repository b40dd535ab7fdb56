"""Seconds for the decision values of as many new rows as were learned."""

from __future__ import annotations

import numpy as np

from benchmarks.declarations import Contestant, Measure, Problem, Row, TimesBetter
from benchmarks.threads import seconds


class DecisionTrial:
    """Decides rows near the learned ones, but not the same."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        X, y = problem.load()
        self.model = contestant.new(problem).fit(X, y)
        self.queries = X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)
        self.values = np.empty(0)

    def run(self) -> float:
        """Time one call."""
        return seconds(self.decide)

    def decide(self) -> None:
        """Compute all decision values."""
        self.values = self.model.decision_function(self.queries)

    def remark(self) -> str:
        """Name the precision of the answer and the number of rows."""
        return f"{len(self.values)} rows, {self.values.dtype}"


DECISION_FUNCTION = Measure(
    name="decision_function",
    unit="s",
    prepare=DecisionTrial,
    rows=(Row("synthetic-5000x20-C1", TimesBetter("scikit-learn", 15, aim=20)),),
)
