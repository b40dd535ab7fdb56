"""A fitted model whose rows go and come, so that its size stays what it is.

Whoever learns or unlearns here pays what a user pays: the input is an array, the call is the
public method. Choosing the rows is not counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.declarations import Contestant, Problem
from benchmarks.threads import Stopwatch

#: Rows that wait outside, at least one block.
OUTSIDE = 10
#: Up to so many rows a refit is repeated within a run.
SMALL = 5_000


@dataclass
class Spent:
    """What the changes of a run came to."""

    changes: int = 0
    perturbations: int = 0
    kernel_evaluations: int = 0
    refactorisations: int = 0
    solved: int = 0

    def add(self, change: Any) -> None:
        """Count one change."""
        self.changes += 1
        self.perturbations += change.perturbations
        self.kernel_evaluations += change.kernel_evaluations
        self.refactorisations += change.refactorisations
        self.solved += change.solved

    def __str__(self) -> str:
        events, values = (x / self.changes for x in (self.perturbations, self.kernel_evaluations))
        solved = f", {self.solved} of {self.changes} changes re-solved" if self.solved else ""
        return f"{events:.3g} events and {values:.3g} kernel values per change{solved}"


class Edited:
    """A model of all rows of a problem but a few, which wait outside.

    In each turn some rows go and others come, that have waited for some turns: those that have
    just gone would find everything as they left it.
    """

    def __init__(self, contestant: Contestant, problem: Problem, rows: int = 1) -> None:
        self.X, self.y = problem.load()
        self.model = contestant.new(problem).fit(self.X, self.y)
        self.rows, self.random = rows, np.random.default_rng(0)
        self.ids, self.held = self.model.ids_, np.ones(len(self.y), dtype=bool)
        self.waiting: deque[NDArray[Any]] = deque()

    def begin(self) -> float:
        """Make the first changes, the first of which makes what later ones move; its seconds."""
        started = perf_counter()
        self.put_out()
        elapsed = perf_counter() - started
        while len(self.waiting) * self.rows < OUTSIDE:
            self.put_out()
        self.turn()
        return elapsed

    def put_out(self) -> None:
        """Let some rows go without others that come."""
        self.choose()
        self.unlearn()
        self.waiting.append(self.going)

    def turn(self) -> None:
        """Let some rows go and others come."""
        self.prepare()
        self.unlearn()
        self.learn()
        self.note()

    def choose(self) -> None:
        """Choose who goes next."""
        self.going = self.random.choice(np.flatnonzero(self.held), self.rows, replace=False)
        self.held[self.going] = False
        self.ids_going = self.ids[self.going]

    def prepare(self) -> None:
        """Choose who goes and who comes."""
        self.choose()
        self.coming = self.waiting.popleft()
        self.rows_coming = self.X[self.coming], self.y[self.coming]

    def unlearn(self) -> None:
        """Forget those who go."""
        self.model.unlearn(self.ids_going)

    def learn(self) -> None:
        """Learn those who come."""
        self.model.partial_fit(*self.rows_coming)

    def note(self) -> None:
        """Note who is where, and the ids of those who came."""
        self.waiting.append(self.going)
        self.held[self.coming] = True
        self.ids[self.coming] = self.model.ids_[-len(self.coming) :]

    def categories(self) -> str:
        """How large the model is, and how many of its rows are on the margin."""
        return f"{len(self.model.ids_)} rows, {len(self.model.margin_)} members"


class EditTrial:
    """Times either half of a turn, with so many rows at a time, so many times."""

    def __init__(
        self, contestant: Contestant, problem: Problem, *, learning: bool, rows: int, times: int
    ) -> None:
        self.contestant, self.learning, self.times = contestant, learning, times
        self.edited = Edited(contestant, problem, rows)
        self.first_edit = self.edited.begin()
        self.spent = Spent()

    def run(self) -> float:
        """Average one change."""
        watch, self.spent = Stopwatch(), Spent()
        for _ in range(self.times):
            self.edited.prepare()
            self._do(self.edited.unlearn, watch, timed=not self.learning)
            self._do(self.edited.learn, watch, timed=self.learning)
            self.edited.note()
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


Trials = Callable[[Contestant, Problem], EditTrial | RefitTrial]


def against_refits(*, learning: bool, rows: int, times: int, refits: int) -> Trials:
    """Edits for us, refits for everybody else."""
    ours = partial(EditTrial, learning=learning, rows=rows, times=times)
    theirs = partial(RefitTrial, most=refits)
    return lambda contestant, problem: (ours if contestant.ours else theirs)(contestant, problem)
