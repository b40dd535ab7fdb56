"""What a user waits for before the compiled code is there; each in a process of its own."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from benchmarks import child, discovery
from benchmarks.declarations import Below, Contestant, Measure, Problem, Row
from benchmarks.threads import seconds


def two_fits(contestant_name: str, problem_name: str) -> child.Answer:
    """Time the import of the classifier and its first and second fit."""
    contestant = discovery.contestants()[contestant_name]
    problem = discovery.problems()[problem_name]
    X, y = problem.load()
    return {
        "import": seconds(lambda: contestant.new(problem)),
        "first": seconds(lambda: contestant.new(problem).fit(X, y)),
        "second": seconds(lambda: contestant.new(problem).fit(X, y)),
    }


def bare_import(contestant_name: str, problem_name: str) -> child.Answer:
    """Time ``import adiabat`` where scikit-learn's own import is paid already."""
    import sklearn.svm  # noqa: F401

    return {"import": seconds(lambda: __import__("adiabat"))}


class _FitsTrial:
    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        contestant.new(problem)
        self.contestant, self.problem = contestant, problem
        self.cache = TemporaryDirectory()
        self.seen: child.Answer = {}

    def fit_twice(self, cache: str) -> child.Answer:
        environment = {"NUMBA_CACHE_DIR": cache}
        self.seen = child.run(two_fits, self.contestant, self.problem, environment)
        return self.seen

    def remark(self) -> str:
        """Show the three parts."""
        return ", ".join(f"{part} {value:.3g} s" for part, value in self.seen.items())


class FreshTrial(_FitsTrial):
    """Starts with an empty cache of compiled code."""

    def run(self) -> float:
        """Time the first fit of the first process."""
        with TemporaryDirectory() as empty:
            return self.fit_twice(empty)["first"]


class LaterTrial(_FitsTrial):
    """Keeps its cache between runs; the warm-up, which is not counted, fills it."""

    def run(self) -> float:
        """Time what the first fit costs beyond the second."""
        seen = self.fit_twice(self.cache.name)
        return seen["first"] - seen["second"]


class ImportTrial:
    """Imports the package in a new process."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        contestant.new(problem)
        self.contestant, self.problem = contestant, problem

    def run(self) -> float:
        """Time the import."""
        return child.run(bare_import, self.contestant, self.problem)["import"]

    def remark(self) -> str:
        """Say what is paid before."""
        return "after import sklearn.svm"


FRESH = Measure(
    name="first_fit_fresh_installation",
    unit="s",
    prepare=FreshTrial,
    rows=(Row("synthetic-1000x20-C1", Below(6, "s")),),
    rivals=(),
    warm_up=False,
    at_most=3,
)
LATER = Measure(
    name="first_fit_beyond_second",
    unit="s",
    prepare=LaterTrial,
    rows=(Row("synthetic-1000x20-C1", Below(0.6, "s")),),
    rivals=(),
)
IMPORT = Measure(
    name="import",
    unit="s",
    prepare=ImportTrial,
    rows=(Row("synthetic-1000x20-C1", Below(0.2, "s")),),
    rivals=(),
)
