"""What an optimum would say of its rows without them: many ways, and the proof of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.holding_out import hold_out_each, misfit
from adiabat.adiabatic.living import LostError
from adiabat.adiabatic.tableau import Tableau

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Ways between two looks at Python, for an interrupt to get through.
_TOGETHER = 256
#: A way at whose end an optimality condition is broken by more than this, beyond rounding, is not
#: believed.
_BAR = 1e-9


@dataclass(frozen=True, eq=False)
class Ways:
    """Who leaves together, way by way.

    Attributes
    ----------
    rows, firsts : ndarray
        rows[firsts[c]:firsts[c + 1]] leave in way c.
    stretches : ndarray
        By which part of themselves the bounds of rows with a negative and with a positive target
        move in each way.
    """

    rows: Index
    firsts: Index
    stretches: Array

    @classmethod
    def of(cls, groups: list[Index]) -> Ways:
        """Ways on which no bound moves."""
        sizes = [len(group) for group in groups]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *groups])
        return cls(rows, np.append(0, np.cumsum(sizes, dtype=np.int64)), np.zeros((len(sizes), 2)))

    def __len__(self) -> int:
        return len(self.firsts) - 1

    def part(self, first: int, last: int) -> Ways:
        """Some of them."""
        ends = self.firsts[first : last + 1]
        rows = self.rows[ends[0] : ends[-1]]
        return Ways(rows, ends - ends[0], self.stretches[first:last])

    def at(self, place: Index) -> Ways:
        """The same with other numbers for the rows."""
        return Ways(place[self.rows], self.firsts, self.stretches)


@dataclass(frozen=True, eq=False)
class Answers:
    """What came of ways.

    Attributes
    ----------
    values : ndarray
        f of each row that left, by the optimum of the others; where only a sign was asked, by
        some optimum on the way that has the same.
    proved : ndarray of bool
        For each way, whether that was an optimum to the bar. The others have no answer.
    violation : float
        The largest violation of an optimality condition among those proved.
    perturbations : int
        Changes of category.
    """

    values: Array
    proved: NDArray[np.bool_]
    violation: float
    perturbations: int


class Leaving:
    """Ways out of one optimum. Inside, rows stand in the tableau's order.

    Raises
    ------
    LostError
        Where the tableau's errors are not those of the coefficients.
    """

    def __init__(self, tableau: Tableau) -> None:
        self.tableau, self.optimum = tableau, tableau.optimum
        n, case = len(tableau.order), tableau.optimum
        self.place = np.empty(n, dtype=np.int64)
        self.place[tableau.order] = np.arange(n)
        unit = np.sqrt(np.maximum(tableau.diagonal, np.finfo(np.float64).tiny))
        unit[tableau.members :] = 1.0 / unit[tableau.members :]
        parts = case.theta, tableau.error, case.low, case.high, case.target, case.ridge, unit
        self.case = np.array(parts)
        apart, rounding = misfit(self.case, tableau.probes, self.case)
        if apart > _BAR + rounding:
            raise LostError(f"the errors are {apart:.3g} off those of the coefficients")

    def decisions(self) -> Array:
        """f of every row by the optimum of all."""
        case = self.optimum
        values = case.target - self.tableau.error - case.ridge * case.theta
        return values[self.place]

    def own_drifts(self) -> Array:
        """What the coefficients at their bounds do to everybody, for each of the two classes."""
        case, members = self.optimum, self.tableau.members
        drifts = np.zeros((2, len(case)))
        for k, own in enumerate((case.target < 0, case.target > 0)):
            rows = members + np.flatnonzero((own & (case.theta != 0.0))[members:])
            drifts[k] = case.theta[rows] @ self.tableau.lines[rows]
        return drifts

    def answers(self, ways: Ways, *, hasty: bool, heed: Callable[[int], None]) -> Answers:
        """Lead everybody out; ``hasty`` where a row that leaves alone is asked for a sign only."""
        drifts = self.own_drifts() if ways.stretches.any() else np.zeros((2, len(self.optimum)))
        parts, ways = [], ways.at(self.place)
        for first in range(0, len(ways), _TOGETHER):
            last = min(first + _TOGETHER, len(ways))
            parts.append(self._batch(ways.part(first, last), drifts, hasty=hasty))
            heed(last)
        return _joined(parts)

    def _batch(self, ways: Ways, drifts: Array, *, hasty: bool) -> Answers:
        tableau, case = self.tableau, self.optimum
        values, figures = np.empty(len(ways.rows)), np.empty((3, len(ways)))
        facts = np.array([tableau.members, case.loose, hasty], dtype=np.int64)
        hold_out_each(
            tableau.lines,
            facts,
            self.case,
            drifts,
            tableau.probes,
            ways.stretches,
            ways.rows,
            ways.firsts,
            values,
            figures,
        )
        proved = figures[0] <= _BAR + figures[1]
        worst = float(figures[0, proved].max(initial=0.0))
        return Answers(values, proved, worst, int(figures[2].sum()))


def _joined(parts: list[Answers]) -> Answers:
    """The answers of all batches."""
    return Answers(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, dtype=bool), *(part.proved for part in parts)]),
        max((part.violation for part in parts), default=0.0),
        sum(part.perturbations for part in parts),
    )
