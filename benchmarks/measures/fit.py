"""Seconds for one fit from nothing."""

from __future__ import annotations

from benchmarks.declarations import Contestant, Measure, Problem, Row, TimesBetter
from benchmarks.threads import seconds


class FitTrial:
    """Fits a new model each time."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.contestant, self.problem = contestant, problem
        self.model = contestant.new(problem)
        self.X, self.y = problem.load()

    def run(self) -> float:
        """Time one fit."""
        self.model = self.contestant.new(self.problem)
        return seconds(lambda: self.model.fit(self.X, self.y))

    def remark(self) -> str:
        """Describe the fitted model."""
        parts = (f"{len(self.model.support_)} SV", self.contestant.describe(self.model))
        return ", ".join(part for part in parts if part)


FIT = Measure(
    name="fit",
    unit="s",
    prepare=FitTrial,
    rows=(
        Row("synthetic-5000x20-C1", TimesBetter("scikit-learn", 2.5, aim=10)),
        Row("synthetic-5000x20-C100", TimesBetter("scikit-learn", 2)),
        Row("synthetic-20000x50-C1", TimesBetter("scikit-learn", 3, aim=10)),
        Row("pima-C1"),
    ),
)
