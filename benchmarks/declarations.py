"""What the three folders declare: problems, contestants, measures, and the bars to meet."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Data = tuple[NDArray[np.float64], NDArray[Any]]


class UnavailableError(Exception):
    """A contestant or a data set is not here; the text is the reason shown in the table."""


@dataclass(frozen=True)
class Problem:
    """Data and the settings every contestant is given for them."""

    name: str
    load: Callable[[], Data]
    settings: Mapping[str, Any]


def _silent(model: Any) -> str:
    return ""


@dataclass(frozen=True)
class Contestant:
    """A classifier; ``make`` imports it, so that an absent one costs nothing."""

    name: str
    distribution: str
    make: Callable[..., Any]
    ours: bool = False
    describe: Callable[[Any], str] = _silent

    def new(self, problem: Problem) -> Any:
        """Build an unfitted classifier for a problem."""
        try:
            return self.make(**problem.settings)
        except ImportError as error:
            raise UnavailableError(f"not installed ({error})") from error


class Trial(Protocol):
    """One contestant on one problem, ready to be measured again and again."""

    def run(self) -> float:
        """Measure once."""

    def remark(self) -> str:
        """Say what else was seen in the last run."""


class Bar(Protocol):
    """What a row is wanted to reach."""

    def wanted(self) -> str:
        """Say it in words."""

    def verdict(self, value: float, ratios: Mapping[str, float]) -> str:
        """Judge our value and the ratios rival / ours, by name of the rival."""


@dataclass(frozen=True)
class TimesBetter:
    """At least ``times`` better than a rival, and the aim beyond."""

    rival: str
    times: float
    aim: float | None = None

    def wanted(self) -> str:
        """Say it in words."""
        beyond = f", aim {self.aim:g}" if self.aim else ""
        return f"{self.rival} / ours >= {self.times:g}{beyond}"

    def verdict(self, value: float, ratios: Mapping[str, float]) -> str:
        """Judge the ratio to the rival."""
        if self.rival not in ratios:
            return "not judged"
        if self.aim and ratios[self.rival] >= self.aim:
            return "met, aim too"
        return "met" if ratios[self.rival] >= self.times else "MISSED"


@dataclass(frozen=True)
class Below:
    """Our own value stays below a limit."""

    limit: float
    unit: str

    def wanted(self) -> str:
        """Say it in words."""
        return f"< {self.limit:g} {self.unit}"

    def verdict(self, value: float, ratios: Mapping[str, float]) -> str:
        """Judge our value alone."""
        return "met" if value < self.limit else "MISSED"


@dataclass(frozen=True)
class Row:
    """One line of the table: a problem, by name, and the bar if there is one."""

    problem: str
    bar: Bar | None = None


@dataclass(frozen=True)
class Measure:
    """Something to measure, less being better, and the problems it is measured on.

    ``summary`` turns the repeats into the one value that is judged. ``at_most`` bounds the
    repeats of a measure that is slow or cannot vary. ``rivals`` names those who take part beside
    us; None is all of them, and nobody is named where only our own value says something.
    """

    name: str
    unit: str
    prepare: Callable[[Contestant, Problem], Trial]
    rows: Sequence[Row]
    rivals: Sequence[str] | None = None
    warm_up: bool = True
    at_most: int | None = None
    summary: Callable[[Sequence[float]], float] = field(default=statistics.median)

    def admits(self, contestant: Contestant) -> bool:
        """Tell whether a contestant takes part."""
        return contestant.ours or self.rivals is None or contestant.name in self.rivals
