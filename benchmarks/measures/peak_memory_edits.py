"""Peak resident memory of a process that fits once and makes 50 edits.

The value is a multiple of what no exact editing in float64 can do without: the data, and one
kernel column for each member of the margin.
"""

from __future__ import annotations

from benchmarks import child, discovery
from benchmarks.declarations import Contestant, Measure, Problem, Row
from benchmarks.edits import Edited
from benchmarks.measures.peak_memory import peak_gigabytes

EDITS = 50
FLOAT64 = 8


def edit_some(contestant_name: str, problem_name: str) -> child.Answer:
    """Fit and edit in this process, and look at its peak before and after."""
    contestant = discovery.contestants()[contestant_name]
    problem = discovery.problems()[problem_name]
    X, y = problem.load()
    contestant.new(problem).fit(X[:200], y[:200]).unlearn(0)
    before = peak_gigabytes()
    edited = Edited(contestant, problem)
    fitted = peak_gigabytes()
    edited.begin()
    for _ in range(EDITS // 2):
        edited.turn()
    members = len(edited.model.margin_)
    return {
        "before": before,
        "fitted": fitted,
        "peak": peak_gigabytes(),
        "columns": FLOAT64 * len(y) * members / 1e9,
        "data": X.nbytes / 1e9,
        "members": members,
    }


class EditedMemoryTrial:
    """Edits in a process of its own."""

    def __init__(self, contestant: Contestant, problem: Problem) -> None:
        contestant.new(problem)
        self.contestant, self.problem = contestant, problem
        self.seen: child.Answer = {}

    def run(self) -> float:
        """Start the process and read its peak."""
        self.seen = child.run(edit_some, self.contestant, self.problem)
        return self.seen["peak"] / (self.seen["columns"] + self.seen["data"])

    def remark(self) -> str:
        """Show the parts."""
        seen = self.seen
        parts = (
            f"peak {seen['peak']:.3g} GB",
            f"{seen['columns']:.3g} GB of columns for {seen['members']:.0f} members",
            f"{seen['data']:.2g} GB of data",
            f"{seen['before']:.2g} GB before the fit",
            f"{seen['fitted']:.3g} GB during it",
        )
        return ", ".join(parts)


PEAK_MEMORY_EDITS = Measure(
    name="peak_memory_edits",
    unit="x columns and data",
    prepare=EditedMemoryTrial,
    rows=(Row("synthetic-apart-20000x50-C1"),),
    rivals=(),
    warm_up=False,
    at_most=1,
)
