"""Seconds of an exact leave-one-out, beside a refit for each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.declarations import Contestant, Measure, Problem, Row, TimesBetter
from benchmarks.threads import seconds

#: Up to so many rows, all refits are made; beyond, this many of them, and the rest is reckoned.
ALL_REFITS, SOME_REFITS = 1_000, 5


class AskedTrial:
    """Asks a fitted model."""

    def __init__(self, contestant: Contestant, problem: Problem, *, values: bool) -> None:
        self.model = contestant.new(problem).fit(*problem.load())
        self.values = values

    def run(self) -> float:
        """Time the answer."""
        return seconds(self._ask)

    def _ask(self) -> None:
        self.answer = self.model.leave_one_out(values=self.values)

    def remark(self) -> str:
        """Tell what it came to."""
        said = self.answer
        return (
            f"{said.errors.sum()} errors of {len(said.ids)}, {said.perturbations} events, "
            f"{said.solved} solved, violation {said.kkt_violation:.1e}"
        )


class RefitsTrial:
    """Fits all rows but one, for each row."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.model = contestant.new(problem)
        self.X, self.y = problem.load()
        self.errors = -1

    def run(self) -> float:
        """Time all refits, or reckon it from some."""
        if len(self.y) <= ALL_REFITS:
            return seconds(self._refit_for_each)
        return len(self.y) * float(np.median([seconds(self._fit) for _ in range(SOME_REFITS)]))

    def _refit_for_each(self) -> None:
        from sklearn.model_selection import LeaveOneOut, cross_val_predict

        told = cross_val_predict(self.model, self.X, self.y, cv=LeaveOneOut())
        self.errors = int((told != self.y).sum())

    def _fit(self) -> None:
        self.model.fit(self.X[1:], self.y[1:])

    def remark(self) -> str:
        """Tell what was done."""
        if self.errors >= 0:
            return f"cross_val_predict with LeaveOneOut, {self.errors} errors"
        return f"{len(self.y)} times the median of {SOME_REFITS} refits"


def trials(*, values: bool) -> Callable[[Contestant, Problem], AskedTrial | RefitsTrial]:
    """One question for us, refits for everybody else."""
    ours = partial(AskedTrial, values=values)
    return lambda contestant, problem: (ours if contestant.ours else RefitsTrial)(
        contestant, problem
    )


LEAVE_ONE_OUT = Measure(
    name="leave_one_out",
    unit="s",
    prepare=trials(values=False),
    rows=(
        Row("pima-C1", TimesBetter("scikit-learn", 60, aim=120)),
        # in less than the time of 100 refits
        Row("synthetic-apart-5000x20-C1", TimesBetter("scikit-learn", 50)),
    ),
    rivals=("scikit-learn",),
    at_most=3,
)
LEAVE_ONE_OUT_VALUES = Measure(
    name="leave_one_out_values",
    unit="s",
    prepare=trials(values=True),
    rows=(
        Row("pima-C1"),
        # in less than the time of 400 refits
        Row("synthetic-apart-5000x20-C1", TimesBetter("scikit-learn", 12.5)),
    ),
    rivals=("scikit-learn",),
    at_most=3,
)
