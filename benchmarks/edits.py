"""A fitted model whose rows go and come back, so that its size stays what it is.

Whoever learns or unlearns here pays what a user pays: the input is an array, the call is the
public method. Choosing the rows is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.declarations import Contestant, Problem
from benchmarks.threads import Stopwatch


@dataclass
class Spent:
    """What the changes of a run came to."""

    changes: int = 0
    perturbations: int = 0
    kernel_evaluations: int = 0
    solved: int = 0

    def add(self, change: Any) -> None:
        """Count one change."""
        self.changes += 1
        self.perturbations += change.perturbations
        self.kernel_evaluations += change.kernel_evaluations
        self.solved += change.solved

    def __str__(self) -> str:
        events, values = (x / self.changes for x in (self.perturbations, self.kernel_evaluations))
        solved = f", {self.solved} of {self.changes} changes re-solved" if self.solved else ""
        return f"{events:.3g} events and {values:.3g} kernel values per change{solved}"


class Edited:
    """A model of all rows of a problem; some go, the same come back."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.X, self.y = problem.load()
        self.model = contestant.new(problem).fit(self.X, self.y)
        self.random = np.random.default_rng(0)
        self.ids = self.model.ids_
        self.out = np.empty(0, dtype=np.int64)

    def begin(self) -> float:
        """Make the first change, which makes what later ones move; its seconds."""
        self.choose(1)
        started = perf_counter()
        self.unlearn()
        elapsed = perf_counter() - started
        self.learn()
        self.note_ids()
        return elapsed

    def choose(self, count: int) -> None:
        """Choose which rows go next."""
        self.out = self.random.choice(len(self.y), count, replace=False)
        self.ids_out = self.ids[self.out]
        self.rows_out: tuple[NDArray[Any], NDArray[Any]] = self.X[self.out], self.y[self.out]

    def unlearn(self) -> None:
        """Forget the rows chosen."""
        self.model.unlearn(self.ids_out)

    def learn(self) -> None:
        """Learn them again."""
        self.model.partial_fit(*self.rows_out)

    def note_ids(self) -> None:
        """They have come back under new ids."""
        self.ids[self.out] = self.model.ids_[-len(self.out) :]

    def categories(self) -> str:
        """How large the model is, and how many of its rows are on the margin."""
        return f"{len(self.ids)} rows, {len(self.model.margin_)} members"


class EditTrial:
    """Times either half of going and coming back, so many rows at a time, so many times."""

    def __init__(
        self, contestant: Contestant, problem: Problem, *, learning: bool, rows: int, times: int
    ) -> None:
        self.contestant, self.learning = contestant, learning
        self.rows, self.times = rows, times
        self.edited = Edited(contestant, problem)
        self.first_edit = self.edited.begin()
        self.spent = Spent()

    def run(self) -> float:
        """Average one change."""
        watch, self.spent = Stopwatch(), Spent()
        for _ in range(self.times):
            self.edited.choose(self.rows)
            self._do(self.edited.unlearn, watch, timed=not self.learning)
            self._do(self.edited.learn, watch, timed=self.learning)
            self.edited.note_ids()
        return watch.seconds / self.times

    def _do(self, edit: Callable[[], None], watch: Stopwatch, *, timed: bool) -> None:
        if not timed:
            edit()
            return
        watch.time(edit)
        self.spent.add(self.edited.model.last_change_)

    def remark(self) -> str:
        """Describe the model, what a change costs, and whether it is still proved."""
        parts = (
            self.edited.categories(),
            str(self.spent),
            f"first edit {self.first_edit:.2g} s",
            self.contestant.describe(self.edited.model),
        )
        return ", ".join(parts)


class RefitTrial:
    """Who cannot edit fits all rows anew."""

    def __init__(self, contestant: Contestant, problem: Problem, *, most: int) -> None:
        self.X, self.y = problem.load()
        self.model = contestant.new(problem)
        self.times = most if len(self.y) <= SMALL else 1

    def run(self) -> float:
        """Take the median of some fits."""
        return float(np.median([self._seconds() for _ in range(self.times)]))

    def _seconds(self) -> float:
        watch = Stopwatch()
        watch.time(lambda: self.model.fit(self.X, self.y))
        return watch.seconds

    def remark(self) -> str:
        """Say what was done."""
        return f"refit on {len(self.y)} rows, median of {self.times} a run"


#: Up to so many rows a refit is repeated within a run.
SMALL = 5_000

Trials = Callable[[Contestant, Problem], EditTrial | RefitTrial]


def against_refits(*, learning: bool, rows: int, times: int, refits: int) -> Trials:
    """Edits for us, refits for everybody else."""
    ours = partial(EditTrial, learning=learning, rows=rows, times=times)
    theirs = partial(RefitTrial, most=refits)
    return lambda contestant, problem: (ours if contestant.ours else theirs)(contestant, problem)
