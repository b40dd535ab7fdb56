"""A solved problem that can be changed: its rows, its members, and what it knows of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from adiabat.adiabatic.layout import (
    ASIDE,
    BASE,
    BASE_BIAS,
    BEND,
    BIAS,
    BIAS_RATE,
    END,
    ENERGY,
    HALVED,
    HIGH,
    LENGTH,
    LOOKS,
    LOOSE,
    LOW,
    LOWER,
    MEMBER,
    MEMBERS,
    MOVED,
    NOISE,
    ORDER,
    PERTURBATIONS,
    PLACE_RATE,
    PULL,
    RATE,
    ROOT,
    ROWS,
    SCALE,
    SEEN,
    SEEN_AT,
    SEEN_BIAS,
    SEEN_LEG,
    SEEN_RATE,
    SHIFT,
    SPEED,
    SQUARE,
    THETA,
    TIME,
    TURN,
    UPPER,
    USED,
    WAITING,
)
from adiabat.adiabatic.margin import join, take_out
from adiabat.errors import AdiabatError
from adiabat.growing_gram import GrowingGram, grown, require_memory, with_room
from adiabat.margin_system import factor_in_panels

Array = NDArray[Any]

#: Lines of kernel values that are summed at once in the widest type.
_LINES = 128
_ROW_LINES, _SCALARS, _COUNTS = 18, 22, 13
#: A new factor with a pivot below this part of the largest is built row by row, with care.
_REGULAR = 1e-6


class LostError(AdiabatError):
    """The path could not be followed to its end; the problem has to be solved instead."""


def new_factor(room: int) -> Array:
    """A line for each of so many members, and two more."""
    return np.zeros((room + 2, room))


@dataclass(frozen=True, eq=False)
class Standing:
    """What the problem says of rows: target, bounds and K(x, x)."""

    target: Array
    low: Array
    high: Array
    diagonal: Array

    def __len__(self) -> int:
        return len(self.target)


class Living:
    """The optimum of a problem, in the form in which it can be moved.

    Attributes
    ----------
    gram : GrowingGram
        Kernel values of the rows; numbers of rows are the same here and there.
    state : tuple of ndarray
        What the compiled loops work on, in the order in which they take it.
    bias : float or None
        The bias where it is fixed beforehand.
    total : float
        What the coefficients add up to where it is free.
    """

    def __init__(
        self,
        gram: GrowingGram,
        standing: Standing,
        theta: Array,
        bias: float,
        *,
        members: Array,
        fixed_bias: float | None,
        total: float = 0.0,
    ) -> None:
        n = len(theta)
        self.gram, self.bias, self.total = gram, fixed_bias, total
        self.rows = np.zeros((_ROW_LINES, with_room(n)))
        self.kinds = np.zeros(with_room(n), dtype=np.int64)
        self.scalars, self.counts = np.zeros(_SCALARS), np.zeros(_COUNTS, dtype=np.int64)
        self.counts[WAITING], self.scalars[END] = -1, 1.0
        self.scalars[BIAS], self.scalars[LOOSE] = bias, float(fixed_bias is None)
        if fixed_bias is None:
            typical = float(np.abs(standing.diagonal).mean()) if n else 1.0
            # a power of two: the mean of a few values would tell one by the others
            self.scalars[SHIFT] = 2.0 ** np.ceil(np.log2(max(typical, np.finfo(float).tiny)))
        self.target, self.learned = np.empty(0), 0
        self._stand(standing)
        self.rows[THETA, :n] = theta
        self.slots = np.zeros((2, gram.table.shape[1]))
        self.members = np.zeros(with_room(len(members)), dtype=np.int64)
        self.factor = new_factor(with_room(len(members)))
        gram.keep_all(members)
        self.counts[USED] = gram.used
        self.renew()
        self.kinds[:n] = self.sides(np.arange(n))
        self._found(members)

    # -- sizes and arrays

    @property
    def n(self) -> int:
        return int(self.counts[ROWS])

    @property
    def size(self) -> int:
        """How many members there are."""
        return int(self.counts[MEMBERS])

    @property
    def inside(self) -> Array:
        """The members."""
        return self.members[: self.size]

    @property
    def perturbations(self) -> int:
        return int(self.counts[PERTURBATIONS])

    @property
    def looks(self) -> int:
        return int(self.counts[LOOKS])

    @property
    def theta(self) -> Array:
        """The coefficient of each row, between changes."""
        return self.rows[THETA, : self.n]

    @property
    def state(self) -> tuple[Array, ...]:
        gram = self.gram
        return (
            gram.table,
            gram.slot_of,
            self.factor,
            self.rows,
            self.slots,
            self.kinds,
            self.members,
            self.scalars,
            self.counts,
        )

    def make_factor_room(self) -> None:
        """Room for more members."""
        old = len(self.members)
        room = with_room(old + old // 4)
        require_memory(self.n, self.size, room**2)
        factor = new_factor(room)
        factor[:old, :old] = self.factor[:old]
        self.factor, self.members = factor, grown(self.members, (room,))
        self.scalars[HALVED] = 0.0

    # -- members

    def _found(self, free: Array) -> None:
        """The first members: at one stroke where the system is regular, else one by one."""
        matrix = self.gram.table[np.ix_(free, self.gram.slot_of[free])] + self.scalars[SHIFT]
        if not len(free) or not self._take_factor(matrix):
            self.counts[MEMBERS] = 0
            for row in free:
                self.join(int(row))
            return
        self.members[: len(free)] = free
        self.kinds[free] = MEMBER
        self.counts[MEMBERS] = len(free)

    def _take_factor(self, matrix: Array) -> bool:
        """Factor a matrix at once; False where it is close to singular."""
        size = len(matrix)
        try:
            factor_in_panels(matrix)
        except LinAlgError:
            return False
        pivots = matrix.diagonal()
        if pivots.min() <= _REGULAR * pivots.max():
            return False
        self.factor[:size, :size] = np.tril(matrix)
        self.scalars[HALVED] = 0.0
        return True

    def refactor(self) -> None:
        """Make the factor anew from the kernel values of the members."""
        inside = self.inside.copy()
        self.kinds[inside] = ASIDE
        self._found(inside)

    def join(self, row: int) -> None:
        """Make a row with an error of zero a member, or what stands in for it."""
        if self.size + 1 >= len(self.members):
            self.make_factor_room()
        self.want_column(row)
        join(*self.state, row)

    def release(self, row: int) -> None:
        """Take a row out of the members, where it is one; whatever follows is led."""
        if self.kinds[row] == MEMBER:
            position = int(np.flatnonzero(self.inside == row)[0])
            arrays = self.factor, self.rows, self.kinds, self.members, self.scalars, self.counts
            take_out(*arrays, position)
        self.kinds[row] = ASIDE

    def sides(self, rows: Array) -> Array:
        """What rows are that stand at a bound."""
        theta, low, high = self.rows[THETA, rows], self.rows[LOW, rows], self.rows[HIGH, rows]
        sides = np.where(theta <= low, LOWER, np.where(theta >= high, UPPER, ASIDE))
        return np.where(low >= high, ASIDE, sides)

    # -- columns

    def want_column(self, row: int) -> None:
        """Have the column of a row kept."""
        if self.gram.slot_of[row] < 0:
            self.keep_column(row, self.gram.column(row))

    def keep_column(self, row: int, column: Array) -> None:
        """Keep a column, in the place of one that is not needed where room is short."""
        gram = self.gram
        if gram.is_full:
            self.rebase()
            gram.make_room(self.inside)
            if gram.table.shape[1] > self.slots.shape[1]:
                self.slots = np.zeros((2, gram.table.shape[1]))
        gram.keep(row, column)
        self.counts[USED] = gram.used

    # -- errors

    def errors(self, rows: Array | None = None) -> Array:
        """Errors of rows now, between changes; of all where none are named."""
        n, used = self.n, self.gram.used
        rows = np.arange(n) if rows is None else rows
        lines = self.gram.table[:n, :used] if len(rows) == n else self.gram.table[rows, :used]
        moved = lines @ self.slots[MOVED, :used]
        return self.rows[BASE, rows] - moved - (self.scalars[BIAS] - self.scalars[BASE_BIAS])

    def sum_outside(self) -> Array:
        """What the rows that are no members have in K theta: all, less what the members have."""
        members, used = self.inside, self.gram.used
        weights = np.zeros(used)
        weights[self.gram.slot_of[members]] = self.theta[members]
        known = self.target - self.errors() - self.scalars[BIAS]
        return np.asarray(known - self.gram.table[: self.n, :used] @ weights)

    def wide_errors(self) -> tuple[Array, float]:
        """Errors of the members, and what the equality lacks, summed in the widest type."""
        support = np.flatnonzero(self.theta)
        weights = self.theta[support].astype(np.longdouble)
        columns = self.gram.slot_of[self.inside]
        inner = np.zeros(self.size, dtype=np.longdouble)
        for i in range(0, len(support), _LINES):
            lines = self.gram.table[np.ix_(support[i : i + _LINES], columns)]
            inner += weights[i : i + _LINES] @ lines
        errors = self.target[self.inside] - inner - self.scalars[BIAS]
        imbalance = self.total - weights.sum() if self.bias is None else 0.0
        return errors.astype(np.float64), float(imbalance)

    def rebase(self) -> None:
        """Put all that has moved into the bases, also in the middle of a path."""
        n, used = self.n, self.gram.used
        moved = self.slots[MOVED, :used]
        if moved.any():
            self.rows[BASE, :n] -= self.gram.table[:n, :used] @ moved
        self.rows[BASE, :n] -= self.scalars[BIAS] - self.scalars[BASE_BIAS]
        self.scalars[BASE_BIAS] = self.scalars[BIAS]
        self.slots[MOVED] = 0.0

    def renew(self) -> None:
        """Compute every error from kernel values alone; those of members are there."""
        gram, n = self.gram, self.n
        support = np.flatnonzero(self.theta)
        own = gram.times(support, self.theta[support])
        self.rows[BASE, :n] = self.target - own - self.scalars[BIAS]
        self.slots[MOVED] = 0.0
        self.scalars[BASE_BIAS] = self.scalars[BIAS]
        self.see(self.rows[BASE, :n])

    def see(self, errors: Array) -> None:
        """Note the errors of all rows as seen here and now."""
        n = self.n
        self.rows[SEEN, :n] = errors
        self.rows[SEEN_RATE, :n] = self.rows[SEEN_LEG, :n] = 0.0
        self.rows[SEEN_AT, :n], self.rows[SEEN_BIAS, :n] = self.scalars[LENGTH], self.scalars[BIAS]

    def is_traced(self, rows: Array) -> bool:
        """Whether errors would tell of these rows after they went."""
        slots = self.gram.slot_of[rows]
        moved = self.slots[MOVED, slots[slots >= 0]]
        return bool(self.rows[THETA, rows].any() or moved.any())

    def note_anew(self) -> None:
        """Note the errors as they are, and nothing of how they came about.

        The base of a member's error, and what the others have moved since, would be the kernel
        values of the rows that went, to the last bit.
        """
        self.rebase()
        self.see(self.rows[BASE, : self.n])

    def forget_the_way(self) -> None:
        """Keep none of the rates and sums of the last path."""
        self.slots[RATE] = 0.0
        self.scalars[[PULL, ENERGY, SPEED, BIAS_RATE, PLACE_RATE, SCALE]] = 0.0
        self.scalars[[TIME, TURN, BEND, SQUARE, NOISE]] = 0.0

    # -- rows

    def hold(self, some: Any, standing: Standing, ridge: Array) -> Array:
        """Take rows in, with coefficients of zero; their numbers."""
        old = self.n
        self.gram.append(some, ridge)
        self._stand(standing)
        new = np.arange(old, self.n)
        for row in new:
            self._acquaint(int(row))
        self.kinds[new] = ASIDE
        return new

    def _stand(self, standing: Standing) -> None:
        """Note what the problem says of more rows."""
        old, n = self.n, self.n + len(standing)
        if n > self.rows.shape[1]:
            self.rows = grown(self.rows, (_ROW_LINES, with_room(n)))
            self.kinds = grown(self.kinds, (with_room(n),))
        self.counts[ROWS] = n
        self.target = np.concatenate([self.target, standing.target])
        self.rows[:, old:n] = 0.0
        self.rows[LOW, old:n], self.rows[HIGH, old:n] = standing.low, standing.high
        self.rows[ROOT, old:n] = np.sqrt(np.abs(standing.diagonal))
        self.rows[ORDER, old:n] = self.learned + np.arange(len(standing))
        self.learned += len(standing)

    def _acquaint(self, row: int) -> None:
        """Compute the error of a new row; keep its column where it is going to move."""
        gram = self.gram
        column = gram.column(row)
        gram.fill(row, column)
        error = self.target[row] - column @ self.theta - self.scalars[BIAS]
        moved = gram.table[row, : gram.used] @ self.slots[MOVED, : gram.used]
        self.rows[BASE, row] = error + moved + self.scalars[BIAS] - self.scalars[BASE_BIAS]
        self.rows[SEEN, row], self.rows[SEEN_BIAS, row] = error, self.scalars[BIAS]
        self.rows[SEEN_AT, row] = self.scalars[LENGTH]
        if error * (1.0 if self.rows[HIGH, row] > 0.0 else -1.0) > 0.0:
            self.keep_column(row, column)

    def drop(self, row: int) -> None:
        """Take a row out that has no coefficient; no value of it is left."""
        if self.kinds[row] == MEMBER or self.rows[THETA, row] != 0.0:
            raise LostError("a row with a coefficient cannot be dropped")
        slot, last = int(self.gram.slot_of[row]), self.n - 1
        if slot >= 0:
            moved = self.slots[MOVED, slot]
            self.rows[BASE, : self.n] -= self.gram.table[: self.n, slot] * moved
            self.slots[:, slot] = 0.0
        self.gram.remove(row)
        if row != last:
            self.rows[:, row], self.kinds[row] = self.rows[:, last], self.kinds[last]
            self.target[row] = self.target[last]
            self.inside[self.inside == last] = row
        self.target = self.target[:last].copy()
        self.rows[:, last], self.kinds[last] = 0.0, ASIDE
        self.factor[self.size :] = 0.0
        self.counts[ROWS] = last
