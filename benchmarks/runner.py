"""Runs one row: all contestants side by side, in turns, so that drift hits everybody alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from benchmarks import threads
from benchmarks.declarations import Contestant, Measure, Problem, Row, Trial, UnavailableError

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Contest:
    """One row with everything that takes part in it."""

    measure: Measure
    row: Row
    problem: Problem
    contestants: tuple[Contestant, ...]

    @property
    def name(self) -> str:
        """Name the row by its measure and its problem."""
        return f"{self.measure.name}/{self.row.problem}"

    def wanted(self) -> str:
        """Say what the bar is."""
        return self.row.bar.wanted() if self.row.bar else ""


@dataclass(frozen=True)
class Entry:
    """What one contestant reached in one row."""

    contestant: str
    remark: str
    samples: list[float] = field(default_factory=list)
    value: float | None = None
    ratio: float | None = None
    ratio_spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Result:
    """One row of the table, our entry first."""

    name: str
    unit: str
    wanted: str
    verdict: str
    entries: list[Entry]


@dataclass
class _Side:
    """One contestant during the run; without a trial it is out, and ``remark`` says why."""

    contestant: Contestant
    trial: Trial | None = None
    samples: list[float] = field(default_factory=list)
    remark: str = ""

    def attempt(self, step: Callable[[], None]) -> None:
        """Let a contestant that fails drop out with a reason; the others go on."""
        try:
            step()
        except UnavailableError as error:
            self.trial, self.remark = None, str(error)
        except Exception as error:  # noqa: BLE001  (whatever it is, the others go on)
            message = " ".join(str(error).split())
            self.trial, self.remark = None, f"FAILED: {type(error).__name__}: {message}"

    def prepare(self, contest: Contest) -> None:
        """Get ready, which loads the libraries, and look at the thread pools they brought."""
        self.trial = contest.measure.prepare(self.contestant, contest.problem)
        threads.verify()

    def warm_up(self) -> None:
        """Run once without counting it."""
        if self.trial is not None:
            self.trial.run()

    def play(self) -> None:
        """Run once and count it."""
        if self.trial is not None:
            self.samples.append(self.trial.run())

    def conclude(self) -> None:
        """Ask what else was seen."""
        if self.trial is not None:
            self.remark = self.trial.remark()


def run(contest: Contest, repeats: int, progress: Progress) -> Result:
    """Measure every contestant and judge ours."""
    measure = contest.measure
    sides = [_Side(c) for c in contest.contestants if measure.admits(c)]
    for side in sides:
        progress(f"{side.contestant.name} prepares")
        side.attempt(partial(side.prepare, contest))
        if measure.warm_up:
            side.attempt(side.warm_up)
    for turn in range(min(repeats, measure.at_most or repeats)):
        for side in sides if turn % 2 == 0 else reversed(sides):
            progress(f"{side.contestant.name}, round {turn + 1}")
            side.attempt(side.play)
    for side in sides:
        side.attempt(side.conclude)
    return _summarise(contest, sides)


def _summarise(contest: Contest, sides: list[_Side]) -> Result:
    ours = next((side for side in sides if side.contestant.ours and side.trial), None)
    entries = [_entry(contest.measure, side, ours) for side in sides]
    verdict = _verdict(contest, entries, ours)
    return Result(contest.name, contest.measure.unit, contest.wanted(), verdict, entries)


def _entry(measure: Measure, side: _Side, ours: _Side | None) -> Entry:
    name = side.contestant.name
    if side.trial is None:
        return Entry(name, side.remark)
    value = measure.summary(side.samples)
    if ours is None or side is ours:
        return Entry(name, side.remark, side.samples, value)
    ratio = value / measure.summary(ours.samples)
    ratios = [theirs / own for theirs, own in zip(side.samples, ours.samples, strict=True)]
    return Entry(name, side.remark, side.samples, value, ratio, (min(ratios), max(ratios)))


def _verdict(contest: Contest, entries: list[Entry], ours: _Side | None) -> str:
    if contest.row.bar is None:
        return ""
    if ours is None:
        return "not judged"
    ratios = {entry.contestant: entry.ratio for entry in entries if entry.ratio is not None}
    return contest.row.bar.verdict(contest.measure.summary(ours.samples), ratios)
