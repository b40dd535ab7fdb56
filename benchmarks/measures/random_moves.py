"""How far from the optimum 10,000 random changes in a row take one model.

The value is the largest KKT violation seen, as a multiple of its bar; a certificate is taken
every 100 changes. There are rows of both classes all along, so no machine begins anew.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.declarations import Below, Contestant, Measure, Problem, Row
from benchmarks.edits import Spent

MOVES, BETWEEN_LOOKS = 10_000, 100
ROWS, LEAST, MOST = 500, 400, 600
AT_ONCE = 3
WEIGHTS = (0.0, 0.5, 1.0, 2.0)
NOISE = 0.5


class MovesTrial:
    """Changes rows of a model; where they come from there are many more."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.X, self.y = problem.load()
        self.new = lambda: contestant.new(problem).fit(self.X[:ROWS], self.y[:ROWS])
        self.moves = (self.learn, self.unlearn, self.relabel, self.reweight, self.revise)

    def run(self) -> float:
        """Make all changes, and look now and then."""
        self.model, self.random = self.new(), np.random.default_rng(0)
        self.spent, self.seconds = Spent(), 0.0
        self.worst, self.broken = 0.0, 0
        for done in range(1, MOVES + 1):
            self.move()
            if done % BETWEEN_LOOKS == 0:
                self.look()
        return self.worst

    def move(self) -> None:
        """Make one change; the model neither vanishes nor grows for ever."""
        held, count = self.model.ids_, int(self.random.integers(1, AT_ONCE + 1))
        change: Any = self.random.choice(np.array(self.moves, dtype=object))
        if len(held) <= LEAST:
            change = self.learn
        if len(held) >= MOST:
            change = self.unlearn
        some = self.random.choice(held, count, replace=False)
        started = perf_counter()
        change(some)
        self.seconds += perf_counter() - started
        self.spent.add(self.model.last_change_)

    def look(self) -> None:
        """Ask for the proof."""
        certificate = self.model.certificate()
        self.worst = max(self.worst, certificate.kkt_violation / certificate.kkt_bar)
        self.broken += not certificate.holds()

    def unseen(self, count: int) -> NDArray[Any]:
        """Choose rows that the model was not begun with, and move them a little."""
        self.origin = self.random.integers(ROWS, len(self.X), count)
        rows = self.X[self.origin]
        return rows + NOISE * self.random.standard_normal(rows.shape)

    def learn(self, some: NDArray[Any]) -> None:
        """Learn as many rows as are named."""
        self.model.partial_fit(self.unseen(len(some)), self.y[self.origin])

    def unlearn(self, some: NDArray[Any]) -> None:
        """Forget rows."""
        self.model.unlearn(some)

    def relabel(self, some: NDArray[Any]) -> None:
        """Give rows labels by chance."""
        self.model.relabel(some, self.random.choice(self.model.classes_, len(some)))

    def reweight(self, some: NDArray[Any]) -> None:
        """Give rows weights by chance, also none."""
        self.model.reweight(some, self.random.choice(WEIGHTS, len(some)))

    def revise(self, some: NDArray[Any]) -> None:
        """Give rows other features."""
        self.model.revise(some, self.unseen(len(some)))

    def remark(self) -> str:
        """Say what was seen."""
        looks = MOVES // BETWEEN_LOOKS
        parts = (
            f"certificate held {looks - self.broken} of {looks} times",
            f"{len(self.model.ids_)} rows, {len(self.model.margin_)} members at the end",
            str(self.spent),
            f"{self.spent.refactorisations} refactorisations",
            f"{self.spent.solved} machines re-solved from their present solution",
            f"{self.seconds:.3g} s",
        )
        return ", ".join(parts)


RANDOM_MOVES = Measure(
    name="random_moves",
    unit="x bar",
    prepare=MovesTrial,
    rows=(Row("synthetic-apart-5000x20-C1", Below(1, "x bar")),),
    rivals=(),
    warm_up=False,
    at_most=1,
)
