"""What an optimum would say of its rows without them: many ways, and the proof of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.holding_out import (
    LOST,
    examine,
    hold_out_each,
)
from adiabat.adiabatic.tableau import Tableau
from adiabat.kernels import expansion

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Coefficients of so many ways are kept at once, in numbers: they come back to be proved.
_KEPT = 4_000_000
#: A way that breaks an optimality condition, or the equality in parts of all coefficients, by
#: more than this is not believed.
_BAR, _UNBALANCED = 1e-9, 1e-12


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
    perturbations, evaluations : int
        Changes of category, and kernel values for the proofs.
    """

    values: Array
    proved: NDArray[np.bool_]
    violation: float
    perturbations: int
    evaluations: int


class Leaving:
    """Ways out of one optimum. Inside, rows stand in the tableau's order."""

    def __init__(self, tableau: Tableau) -> None:
        self.tableau, self.optimum = tableau, tableau.optimum
        n, case = len(tableau.order), tableau.optimum
        self.place = np.empty(n, dtype=np.int64)
        self.place[tableau.order] = np.arange(n)
        unit = np.sqrt(np.maximum(tableau.diagonal, np.finfo(np.float64).tiny))
        unit[tableau.members :] = 1.0 / unit[tableau.members :]
        parts = case.theta, tableau.error, case.low, case.high, case.target, case.ridge, unit
        self.case = np.array(parts)

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
        for first, last in self._batches(len(ways)):
            parts.append(self._batch(ways.part(first, last), drifts, hasty=hasty))
            heed(last)
        return _joined(parts)

    def _batches(self, count: int) -> Iterator[tuple[int, int]]:
        size = max(1, _KEPT // max(len(self.optimum), 1))
        for first in range(0, count, size):
            yield first, min(first + size, count)

    def _batch(self, ways: Ways, drifts: Array, *, hasty: bool) -> Answers:
        tableau = self.tableau
        thetas = np.empty((len(ways), len(self.optimum)))
        outcomes = np.empty((2, len(ways)), dtype=np.int64)
        hold_out_each(
            tableau.lines,
            tableau.members,
            self.case,
            drifts,
            ways.stretches,
            ways.rows,
            ways.firsts,
            int(hasty),
            thetas,
            outcomes,
        )
        return self._proved(ways, thetas, outcomes)

    def _proved(self, ways: Ways, thetas: Array, outcomes: Index) -> Answers:
        """Look at each way's end with kernel values that are computed anew."""
        case = self.optimum
        columns = np.flatnonzero(thetas.any(axis=0))
        weights = np.ascontiguousarray(thetas[:, columns].T)
        inner = expansion(case.kernel, case.prepared, case.prepared.take(columns), weights)
        figures = np.zeros((3, len(ways)))
        figures[0] = case.bias
        examine(
            self.case,
            ways.stretches,
            ways.rows,
            ways.firsts,
            int(case.loose),
            thetas,
            inner,
            figures,
        )
        bias, violation, lack = figures
        proved = (outcomes[0] != LOST) & (violation <= _BAR)
        proved &= lack <= _UNBALANCED * np.abs(thetas).sum(axis=1)
        way = np.repeat(np.arange(len(ways)), np.diff(ways.firsts))
        return Answers(
            inner[ways.rows, way] + bias[way],
            proved,
            float(violation[proved].max(initial=0.0)),
            int(outcomes[1].sum()),
            inner.shape[0] * len(columns),
        )


def _joined(parts: list[Answers]) -> Answers:
    """The answers of all batches."""
    return Answers(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0, dtype=bool), *(part.proved for part in parts)]),
        max((part.violation for part in parts), default=0.0),
        sum(part.perturbations for part in parts),
        sum(part.evaluations for part in parts),
    )
