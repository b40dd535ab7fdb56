"""A living machine in the words of its owner: rows by their position, and what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.arrival import differing
from adiabat.adiabatic.journey import Journey
from adiabat.adiabatic.layout import BIAS, EXCESS, HIGH, LOW, ROOT, THETA
from adiabat.adiabatic.living import Living, LostError, Standing
from adiabat.growing_gram import Columns, GrowingGram, OwnColumns
from adiabat.kernels import Kernel, Rows, is_given, made_ready
from adiabat.shared_gram import SharedColumns, SharedGram
from adiabat.solution import BALANCE, LEAST_MARGIN, squared_length

Array = NDArray[Any]

#: What stands in the place of an old position where a row is new.
NEW = -1


@dataclass(frozen=True, eq=False)
class Demand:
    """What a machine is asked: its rows and kernel, and what the problem says of each row.

    Attributes
    ----------
    kernel : Kernel
        What similarity is.
    rows : Rows
        The examples.
    target, low, high : ndarray
        Target and bounds of the signed coefficient of each.
    ridge : ndarray
        What is added to K(x, x).
    bias : float or None
        The bias where it is fixed beforehand.
    total : float
        What the coefficients add up to where it is free; the same in every demand of a machine.
    """

    kernel: Kernel
    rows: Rows
    target: Array
    low: Array
    high: Array
    ridge: Array
    bias: float | None = None
    total: float = 0.0

    def __len__(self) -> int:
        return len(self.target)

    def some(self, index: Array, columns: Array) -> tuple[Any, Standing]:
        """Some rows as their source takes them, and what the problem says of them.

        Lines of a kernel matrix have these columns.
        """
        prepared, diagonal = made_ready(self.kernel, self.rows, index, columns)
        return prepared, self.standing(index, diagonal)

    def standing(self, index: Array, diagonal: Array) -> Standing:
        """What the problem says of some rows with this K(x, x)."""
        low, high, target = self.low[index], self.high[index], self.target[index]
        return Standing(target, low, high, diagonal + self.ridge[index])

    def source(self, prepared: Any) -> Columns:
        """Where the machine of these rows has its kernel values from."""
        return OwnColumns(self.kernel, prepared)


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedDemand(Demand):
    """The same where several machines share their kernel values.

    Attributes
    ----------
    rows : Rows
        The names of the examples in what is shared.
    shared : SharedGram
        What is shared.
    """

    shared: SharedGram

    def some(self, index: Array, columns: Array) -> tuple[Any, Standing]:  # noqa: ARG002
        names = self.rows.values[index]
        return names, self.standing(index, self.shared.diagonal(names))

    def source(self, prepared: Any) -> Columns:
        return SharedColumns(self.shared, prepared)


class Keeper:
    """The living machine of a demand, and where each of its rows is kept.

    Parameters
    ----------
    demand : Demand
        What the machine was asked.
    theta, bias : ndarray, float
        Its answer: signed coefficients and bias of the optimum.
    members : ndarray, optional
        The rows on the margin, where that is not all that are strictly within their bounds.
    budget : int, default=0
        Bytes for kernel columns that are kept beside those of the members.
    """

    def __init__(
        self,
        demand: Demand,
        theta: Array,
        bias: float,
        *,
        members: Array | None = None,
        budget: int = 0,
    ) -> None:
        everyone = np.arange(len(demand))
        if members is None:
            members = np.flatnonzero((theta > demand.low) & (theta < demand.high))
        prepared, standing = demand.some(everyone, everyone)
        gram = GrowingGram(demand.source(prepared), demand.ridge, len(members))
        if budget:
            gram.lay_up(budget)
        self.living = Living(
            gram,
            standing,
            theta,
            bias,
            members=members,
            fixed_bias=demand.bias,
            total=demand.total,
        )
        self.journey = Journey(self.living)
        self.row_of = everyone

    @classmethod
    def perturbed(cls, demand: Demand, theta: Array, bias: float, budget: int) -> Keeper:
        """The living machine of a demand, led there from the optimum of one of another kernel.

        All errors are computed with the new kernel, and nobody is a member. Rows at a bound
        where their error wants them stay there; all others are unlearned and go where theirs
        wants them (004, Table II and eq. 27), at first without regard to the equality, which is
        made good as soon as there is a member (eq. 31-37).

        Raises
        ------
        LostError
            Where the way could not be found.
        """
        start = np.clip(theta, demand.low, demand.high)
        keeper = cls(demand, start, bias, members=np.empty(0, dtype=np.int64), budget=budget)
        living, journey = keeper.living, keeper.journey
        excess = float(start.sum()) - demand.total if demand.bias is None else 0.0
        if abs(excess) > BALANCE * float(np.abs(start).sum()):
            living.scalars[EXCESS] = excess
        journey.settle(keeper.row_of)
        journey.patient = True
        journey.travel()
        journey.patient = False
        living.gram.clear()
        keeper._require_margin()
        return keeper

    @property
    def answer(self) -> tuple[Array, float]:
        """Signed coefficients and bias."""
        living = self.living
        return living.rows[THETA, self.row_of], float(living.scalars[BIAS])

    @property
    def kernel_evaluations(self) -> int:
        """Kernel values computed so far."""
        return self.living.gram.evaluations

    @property
    def perturbations(self) -> int:
        """Changes of category on all paths so far."""
        return self.living.perturbations

    @property
    def refactorisations(self) -> int:
        """Factors of the margin system that did not serve any more so far."""
        return self.journey.refactorisations

    def change(self, demand: Demand, origin: Array) -> tuple[Array, float]:
        """Coefficients and bias of the optimum of another demand, of the same kernel.

        ``origin`` names for each of its rows the position it had in the last demand, or NEW
        where the row, its label or its ridge is another.

        Raises
        ------
        LostError
            Where the way could not be found. The machine is of no use any more.
        """
        kept = origin[origin != NEW]
        gone = self.row_of[:0]
        if len(kept) < len(self.row_of):
            gone = np.delete(self.row_of, kept)
        row_of = np.append(self.row_of, NEW)[origin]
        traced = self.living.is_traced(gone)
        self._rebound(demand, row_of)
        self.journey.lead_out(gone)
        if len(gone) and is_given(demand.kernel) and (row_of == NEW).any():
            # nobody has told the values of those who go with those who come: they never meet
            self.journey.travel()
            row_of, gone = self._dropped(gone, row_of), gone[:0]
        self._hold(demand, row_of)
        self.journey.travel()
        self.row_of = self._dropped(gone, row_of)
        if traced:
            self.living.note_anew()
        self._require_margin()
        return self.answer

    def _rebound(self, demand: Demand, row_of: Array) -> None:
        """Tell the rows that stay of their other bounds."""
        found, values = np.empty_like(row_of), self.living.rows
        count = differing(values, row_of, demand.low, demand.high, found)
        if not count:
            return
        other = found[:count]
        rows, low, high = row_of[other], demand.low[other], demand.high[other]
        widths = values[HIGH, rows] - values[LOW, rows], high - low
        if all(((width > 0.0) & (width < np.inf)).all() for width in widths):
            self.journey.stretch(rows, low, high)
        else:
            self.journey.rebound(rows, low, high)

    def _hold(self, demand: Demand, row_of: Array) -> None:
        """Take in what is new."""
        new = np.flatnonzero(row_of == NEW)
        if not len(new):
            return
        columns = self._columns(row_of) if is_given(demand.kernel) else new
        rows = self.living.hold(*demand.some(new, columns), demand.ridge[new])
        row_of[new] = rows
        self.journey.settle(rows)

    def _columns(self, row_of: Array) -> Array:
        """The position of each row that is kept here, new ones last."""
        position = np.zeros(self.living.n, dtype=np.int64)
        kept = np.flatnonzero(row_of != NEW)
        position[row_of[kept]] = kept
        return np.concatenate([position, np.flatnonzero(row_of == NEW)])

    def _dropped(self, gone: Array, row_of: Array) -> Array:
        """Let rows go; where the others are kept afterwards."""
        for row in np.sort(gone)[::-1]:
            row_of[row_of == self.living.n - 1] = row
            self.living.drop(int(row))
        if len(gone):
            self.living.forget_the_way()
            self.journey.figures[:] = 0.0
        return row_of

    def _require_margin(self) -> None:
        """A hard margin that is none is for the solver to speak of."""
        living = self.living
        if not np.isinf(living.rows[HIGH, : living.n]).any() or living.gram.ridge.any():
            return
        points = living.target - living.scalars[BIAS]
        squared = squared_length(living.theta, living.errors(), points)
        reach = float(living.rows[ROOT, : living.n].max(initial=0.0))
        if np.sqrt(max(squared, 0.0)) * LEAST_MARGIN * reach > 1.0:
            raise LostError("there is no margin")
