"""The whole path of C from 0.1 to 100, certified throughout, beside so many refits at C = 1."""

from __future__ import annotations

from functools import partial

from benchmarks.declarations import Contestant, Measure, Problem, Row, TimesBetter
from benchmarks.threads import seconds

ENDS = 0.1, 100.0
REFITS = 25


class PathTrial:
    """Times the path of a fitted model."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        self.model = contestant.new(problem).fit(*problem.load())
        self.path = self.model.c_path(*ENDS)

    def run(self) -> float:
        """Follow the path once."""
        return seconds(self._follow)

    def _follow(self) -> None:
        self.path = self.model.c_path(*ENDS)

    def remark(self) -> str:
        """Say how long the path is, and what is proved of it."""
        path = self.path
        return (
            f"{len(path.events)} changes of category, KKT {path.kkt_violation.max():.1e} at the "
            f"worst of {len(path.C)} places"
        )


class RefitsTrial:
    """Who cannot follow a path fits again and again."""

    def __init__(self, contestant: Contestant, problem: Problem, *, times: int) -> None:
        self.X, self.y = problem.load()
        self.model, self.times = contestant.new(problem), times

    def run(self) -> float:
        """Fit so many times."""
        return seconds(self._fit)

    def _fit(self) -> None:
        for _ in range(self.times):
            self.model.fit(self.X, self.y)

    def remark(self) -> str:
        """Say what was done."""
        return f"{self.times} fits on {len(self.y)} rows"


def prepare(contestant: Contestant, problem: Problem) -> PathTrial | RefitsTrial:
    """The path for us, refits for everybody else."""
    theirs = partial(RefitsTrial, times=REFITS)
    return (PathTrial if contestant.ours else theirs)(contestant, problem)


C_PATH = Measure(
    name="c_path",
    unit="s",
    prepare=prepare,
    rows=(Row("pima-C1", TimesBetter("scikit-learn", 1, aim=2.5)),),
    rivals=("scikit-learn",),
)
