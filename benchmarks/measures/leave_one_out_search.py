"""Seconds of choosing C and gamma by exact leave-one-out, beside a grid search with five folds."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.declarations import Contestant, Measure, Problem, Row, TimesBetter
from benchmarks.threads import seconds

#: 20 values of C and 10 of gamma.
GRID = {"C": np.logspace(-1, 2, 20).tolist(), "gamma": np.logspace(-2, 1, 10).tolist()}
FOLDS = 5


class SearchTrial:
    """Searches the grid; the best candidate is not fitted again."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.contestant, self.problem = contestant, problem
        self.X, self.y = problem.load()

    def run(self) -> float:
        """Time one search."""
        self.search = self._new()
        return seconds(lambda: self.search.fit(self.X, self.y))

    def _new(self) -> Any:
        model = self.contestant.new(self.problem)
        if self.contestant.ours:
            from adiabat.model_selection import LeaveOneOutSearch

            return LeaveOneOutSearch(model, GRID, refit=False)
        from sklearn.model_selection import GridSearchCV

        return GridSearchCV(model, GRID, cv=FOLDS, refit=False)

    def remark(self) -> str:
        """Tell what was found, and by what."""
        best = {name: float(f"{value:.3g}") for name, value in self.search.best_params_.items()}
        how = "leave-one-out" if self.contestant.ours else f"{FOLDS} folds"
        return f"{how} of {len(self.search.cv_results_['params'])} candidates, best {best}"


LEAVE_ONE_OUT_SEARCH = Measure(
    name="leave_one_out_search",
    unit="s",
    prepare=SearchTrial,
    rows=(Row("pima-C1", TimesBetter("scikit-learn", 1)),),
    rivals=("scikit-learn",),
    warm_up=True,
    at_most=3,
)
