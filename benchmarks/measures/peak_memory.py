"""Peak resident memory of a process that makes the data and fits once."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import child, discovery
from benchmarks.declarations import Below, Contestant, Measure, Problem, Row
from benchmarks.threads import seconds

STATUS = Path("/proc/self/status")


def peak_gigabytes() -> float:
    """Peak resident memory of this process.

    Linux hands ``ru_maxrss`` of the parent down to a child that is spawned from it, so the
    high-water mark of the address space itself is preferred where there is one.
    """
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9


def fit_once(contestant_name: str, problem_name: str) -> child.Answer:
    """Fit in this process and look at its peak."""
    problem = discovery.problems()[problem_name]
    model = discovery.contestants()[contestant_name].new(problem)
    X, y = problem.load()
    elapsed = seconds(lambda: model.fit(X, y))
    return {"gigabytes": peak_gigabytes(), "seconds": elapsed}


class MemoryTrial:
    """Fits in a process of its own."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        contestant.new(problem)
        self.contestant, self.problem = contestant, problem
        self.seen: child.Answer = {}

    def run(self) -> float:
        """Start the process and read its peak."""
        self.seen = child.run(fit_once, self.contestant, self.problem)
        return self.seen["gigabytes"]

    def remark(self) -> str:
        """Say how long the fit took."""
        return f"fit in {self.seen['seconds']:.3g} s"


PEAK_MEMORY = Measure(
    name="peak_memory",
    unit="GB",
    prepare=MemoryTrial,
    rows=(Row("synthetic-50000x50-C1", Below(1.5, "GB")),),
    warm_up=False,
    at_most=1,
)
