"""The proof of a trail: at every C that stands in it, from kernel values computed anew.

Between two of them coefficients, bias and so all errors are linear in C and the categories stay,
so that no condition is violated by more than at the ends. Where two pieces meet, that is looked at
from above, and from below as well where they do not meet to rounding.

Most rows keep to zero, or to C times their weight, at many places in a row. There only the others
take part in a product for each place: K theta = K_A theta_A + C h, where h is one vector for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.keeper import Demand
from adiabat.adiabatic.trail import Stretch, Trail
from adiabat.compiled import compiled
from adiabat.errors import SolverError
from adiabat.kernels import TILE_ROWS
from adiabat.margin_system import EPS

Array = NDArray[Any]

#: Places that are looked at together, and numbers of coefficients for which kernel values are
#: computed once.
_PLACES, _NUMBERS = 64, 4_000_000
#: The bars of ``certificate.py``.
_FLOOR, _ROUNDINGS = 1e-9, 64.0
#: Pieces meet where coefficients and bias differ by no more than this part of the largest bound.
_MEETING = 64.0 * EPS


def proved(trail: Trail, demand: Demand) -> Array:
    """The largest violation of an optimality condition at each C of a trail.

    Raises
    ------
    SolverError
        Where it is more than rounding can cause.
    """
    return _Proof(trail, demand).violations()


@compiled
def worst_at_rest(
    values: Array, C: Array, bias: Array, rest: Array, target: Array, senses: Array, worst: Array
) -> None:
    """K theta of a tile of rows, and by how much those at rest break their condition.

    Reserve rows want no error of their side's sign, error rows none of the other.
    """
    for j in range(values.shape[0]):
        line, most = values[j], worst[j]
        for i in range(values.shape[1]):
            line[i] += C[j] * rest[i] + bias[j]
            most = max(most, senses[i] * (target[i] - line[i]))
        worst[j] = most


@compiled
def worst_active(
    values: Array,
    C: Array,
    theta: Array,
    free: Array,
    mine: Array,
    lines: Array,
    target: Array,
    signed: Array,
    worst: Array,
) -> None:
    """By how much the active rows of a tile break their condition (004, eq. 4), at each place."""
    for j in range(values.shape[0]):
        for k in range(mine.shape[0]):
            p, i = mine[k], lines[k]
            error = target[i] - values[j, i]
            if free[j, p] or (theta[j, p] != 0.0 and theta[j, p] != C[j] * signed[i]):
                worst[j] = max(worst[j], abs(error))
            else:
                sense = 1.0 if signed[i] > 0.0 else -1.0 if signed[i] < 0.0 else 0.0
                worst[j] = max(worst[j], sense * error if theta[j, p] == 0.0 else -sense * error)


class _Proof:
    """What is proved of a trail, stretch by stretch."""

    def __init__(self, trail: Trail, demand: Demand) -> None:
        self.trail, self.demand = trail, demand
        every = np.arange(len(trail))
        self.prepared = demand.some(every, every)[0]
        self.worst = np.zeros(len(trail.C))

    def violations(self) -> Array:
        """The violation at each place, none of them beyond its bar."""
        trail = self.trail
        self._look_at(trail.C, trail.numbers(trail.C), self.worst)
        largest = trail.C[: len(trail.pieces)] * np.abs(trail.signed).max(initial=0.0)
        apart = np.flatnonzero(trail.gaps() > _MEETING * np.maximum(largest, 1.0))
        if len(apart):
            below = np.zeros(len(apart))
            self._look_at(trail.C[apart], apart - 1, below)
            self.worst[apart] = np.maximum(self.worst[apart], below)
        return self.worst

    def _look_at(self, places: Array, numbers: Array, worst: Array) -> None:
        """Note the violation at each of some places on some pieces, in order of both."""
        some: list[Stretch] = []
        first = 0
        for start in range(0, len(places), _PLACES):
            part = slice(start, start + _PLACES)
            some.append(self.trail.stretch(places[part], numbers[part]))
            self._require_equality(some[-1])
            if sum(one.theta.size for one in some) > _NUMBERS:
                self._check(some, worst[first:])
                some, first = [], start + _PLACES
        if some:
            self._check(some, worst[first:])

    def _require_equality(self, stretch: Stretch) -> None:
        """The coefficients add up to what they have to."""
        if self.demand.bias is not None:
            return
        resting = stretch.resting
        totals = stretch.theta.sum(axis=1) + stretch.C * resting.sum()
        sums = np.abs(stretch.theta).sum(axis=1) + stretch.C * np.abs(resting).sum()
        bars = _ROUNDINGS * EPS * np.maximum(sums, 1.0)
        self._require(np.abs(totals - self.demand.total), bars, stretch.C, "the equality")

    def _check(self, some: list[Stretch], found: Array) -> None:
        """The optimality conditions of all rows, in tiles whose kernel values serve them all."""
        parts = [found[_PLACES * k :][: len(one.C)] for k, one in enumerate(some)]
        for lines, support, values in self._tiles(some):
            at_rest = np.array([one.resting[support] for one in some]) @ values
            for one, rest, worst in zip(some, at_rest, parts, strict=True):
                sums = one.theta @ _lines_of(values, support, one.active)
                self._look(one, lines, sums, rest, worst)
        for one, worst in zip(some, parts, strict=True):
            if (worst > _FLOOR).any():
                bars = _FLOOR + _ROUNDINGS * EPS * self._magnitudes(one)
                self._require(worst, bars, one.C, "an optimality condition")

    def _tiles(self, some: list[Stretch]) -> Iterator[tuple[slice, Array, Array]]:
        """Some rows at a time: which, who has a say in their decision values, kernel values anew.

        There is a line for each of those who have a say.
        """
        wanted = np.zeros(len(self.trail), dtype=bool)
        for one in some:
            wanted[one.active] = True
            wanted |= one.resting != 0.0
        support = np.flatnonzero(wanted)
        others = self.prepared.take(support)
        for i in range(0, len(self.trail), TILE_ROWS):
            lines = slice(i, min(i + TILE_ROWS, len(self.trail)))
            block = self.demand.kernel.block(self.prepared.take(lines), others)
            yield lines, support, np.ascontiguousarray(np.asarray(block).T)

    def _look(self, one: Stretch, lines: slice, values: Array, rest: Array, worst: Array) -> None:
        """Note by how much the worst of some rows breaks its condition at each place."""
        signed, target = self.trail.signed[lines], self.demand.target[lines]
        senses = np.where(one.resting[lines] == 0.0, 1.0, -1.0) * np.sign(signed)
        mine = np.flatnonzero((one.active >= lines.start) & (one.active < lines.stop))
        own = one.active[mine] - lines.start
        senses[own] = 0.0
        worst_at_rest(values, one.C, one.bias, rest, target, senses, worst)
        worst_active(values, one.C, one.theta, one.free, mine, own, target, signed, worst)

    def _magnitudes(self, one: Stretch) -> Array:
        """What the sums of the decision values are made of."""
        largest, sizes, resting = np.zeros(len(one.C)), np.abs(one.theta), np.abs(one.resting)
        for _, support, values in self._tiles([one]):
            sums = np.abs(values)
            parts = sizes @ _lines_of(sums, support, one.active)
            parts += np.outer(one.C, resting[support] @ sums)
            np.maximum(largest, parts.max(axis=1), out=largest)
        return largest + np.abs(one.bias)

    def _require(self, found: Array, bars: Array, C: Array, condition: str) -> None:
        """Raise at the first place where something is beyond its bar."""
        beyond = np.flatnonzero(~(found <= bars))
        if len(beyond):
            at = beyond[0]
            raise SolverError(
                f"C: at {C[at]:g} the path violates {condition} by {found[at]:.3g}; wanted "
                f"{bars[at]:.3g} at most"
            )


def _lines_of(values: Array, support: Array, rows: Array) -> Array:
    """The kernel values of some of those that have a line."""
    return values[np.searchsorted(support, rows)]
