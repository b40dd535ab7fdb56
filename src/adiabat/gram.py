"""The one place where kernel values are computed, kept, evicted and counted."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.kernels import TILE_COLUMNS, TILE_ROWS, Kernel, Rows, expansion

Array = NDArray[Any]

#: Outside this range of K(x, x) float32 columns are kept divided by the largest one.
_SINGLE_RANGE = (1e-12, 1e12)


#: Columns may take this many bytes, or be this many times those of one request, before the
#: oldest go: memory that nobody has touched yet can cost more than to compute a column again.
_FREE_OF_CARE, _REQUESTS = 1 << 27, 3
#: Rows and columns of what is computed at once of a whole matrix.
_PIECE = 128


class ColumnStore:
    """Kernel columns in float32 within a budget of bytes; the one unused longest goes first."""

    def __init__(self, n: int, budget: int) -> None:
        self.capacity = int(min(n, max(2, budget // max(4 * n, 1))))
        self.values = np.empty((self.capacity, n), dtype=np.float32)
        self._slot = np.full(n, -1, dtype=np.int64)
        self._owner = np.full(self.capacity, -1, dtype=np.int64)
        self._used_at = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self._open = min(self.capacity, _FREE_OF_CARE // max(4 * n, 1))

    def missing(self, index: Array) -> Array:
        return index[self._slot[index] < 0]

    def slots(self, index: Array) -> Array:
        """Where these columns stand; they are now the most recently used."""
        slots = self._slot[index]
        self._clock += 1
        self._used_at[slots] = self._clock
        return slots

    def make_room(self, index: Array, keep: Array) -> Array:
        """Slots for new columns, none of them taken from the columns in ``keep``."""
        held = self._slot[keep]
        self._open = min(self.capacity, max(self._open, _REQUESTS * len(keep)))
        age = self._used_at[: self._open].copy()
        age[held[held >= 0]] = np.iinfo(np.int64).max
        slots = np.argpartition(age, len(index) - 1)[: len(index)]
        previous = self._owner[slots]
        self._slot[previous[previous >= 0]] = -1
        self._owner[slots] = index
        self._slot[index] = slots
        return slots


class Gram:
    """Kernel values between the rows of a problem, with an optional ridge on the diagonal.

    Columns for the decomposition are kept in float32 within a budget; everything that
    enters a final answer is computed in float64 when it is needed.

    Attributes
    ----------
    evaluations : int
        Kernel values computed so far.
    diagonal : ndarray
        K(x, x) plus the ridge, in float64.
    scale : float
        What the float32 columns have been divided by.
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, *, ridge: Array | None = None, budget: int = 1 << 30
    ) -> None:
        self.kernel = kernel
        self.rows = rows
        self.ridge = np.zeros(len(rows)) if ridge is None else ridge
        self.diagonal = kernel.diagonal(rows) + self.ridge
        self.evaluations = len(rows)
        self.budget = budget
        largest = float(np.max(np.abs(self.diagonal), initial=0.0))
        extreme = largest > 0 and not _SINGLE_RANGE[0] < largest < _SINGLE_RANGE[1]
        self.scale = largest if extreme else 1.0
        self._double = kernel.prepare(rows, np.float64)
        self._fill_from = self._double if extreme else kernel.prepare(rows, np.float32)
        self._columns: ColumnStore | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> ColumnStore:
        if self._columns is None:
            self._columns = ColumnStore(len(self), self.budget)
        return self._columns

    def hold(self, index: Array) -> Array:
        """Slots of ``columns.values`` that hold these columns, computed where missing."""
        columns = self.columns
        missing = columns.missing(index)
        if len(missing):
            self._fill(missing, columns.make_room(missing, keep=index))
        return columns.slots(index)

    def _fill(self, index: Array, slots: Array) -> None:
        target, source = self.columns.values, self._fill_from
        part = source.take(index)
        for i in range(0, len(index), TILE_ROWS):
            some = part.take(slice(i, i + TILE_ROWS))
            into = slots[i : i + TILE_ROWS]
            for j in range(0, len(self), TILE_COLUMNS):
                columns = slice(j, j + TILE_COLUMNS)
                values = self.kernel.block(some, source.take(columns))
                target[into, columns] = values if self.scale == 1.0 else values / self.scale
        target[slots, index] += (self.ridge[index] / self.scale).astype(np.float32)
        self.evaluations += len(index) * len(self)

    def release_columns(self) -> None:
        """Give the memory of the float32 columns back."""
        self._columns = None

    def among(self, rows: Array) -> Array:
        """K between all of these rows as in the columns: in float32, over ``scale``."""
        part = self._fill_from.take(rows)
        values = self.kernel.block(part, part)
        values = (values if self.scale == 1.0 else values / self.scale).astype(
            np.float32, copy=False
        )
        values.flat[:: len(rows) + 1] += (self.ridge[rows] / self.scale).astype(np.float32)
        self.evaluations += values.size
        return values

    def block(self, a: Array, b: Array) -> Array:
        """K between the rows at ``a`` and at ``b`` in float64."""
        values = self.kernel.block(self._double.take(a), self._double.take(b))
        if self.ridge.any():
            values += np.where(a[:, None] == b[None, :], self.ridge[b], 0.0)
        self.evaluations += values.size
        return values

    def times(self, support: Array, weights: Array, rows: Array | None = None) -> Array:
        """K[rows, support] @ weights in float64, in tiles; all rows where none are named."""
        return self._summed(self._double, support, weights, rows)

    def times_single(self, support: Array, weights: Array, rows: Array) -> Array:
        """The same from kernel values as precise as those of the columns."""
        weights = weights.astype(np.float32) if self.scale == 1.0 else weights
        return self._summed(self._fill_from, support, weights, rows)

    def _summed(self, prepared: Any, support: Array, weights: Array, rows: Array | None) -> Array:
        rows = np.arange(len(self)) if rows is None else rows
        result = expansion(self.kernel, prepared.take(rows), prepared.take(support), weights)
        if self.ridge.any():
            spread = np.zeros(len(self))
            spread[support] = self.ridge[support] * weights
            result += spread[rows]
        self.evaluations += len(rows) * len(support)
        return result

    def magnitude(self, weights: Array) -> float:
        """max_i sum_j |K_ij weights_j|: what rounding in K @ weights is measured against."""
        support = np.flatnonzero(weights)
        size, largest = np.abs(weights[support]), 0.0
        for i in range(0, len(self), TILE_ROWS):
            rows = np.arange(i, min(i + TILE_ROWS, len(self)))
            sums = np.abs(self.block(rows, support)) @ size
            largest = max(largest, float(sums.max(initial=0.0)))
        return largest


class WholeGram(Gram):
    """Kernel values of few rows, each pair of them computed once and in float64.

    It serves problems that are solved from nearby, where a solver comes back to the same rows.
    """

    @cached_property
    def matrix(self) -> Array:
        """All kernel values; those below the diagonal are those above it."""
        matrix, source = np.empty((len(self), len(self))), self._double
        for i in range(0, len(self), _PIECE):
            part = source.take(slice(i, i + _PIECE))
            for j in range(i, len(self), _PIECE):
                values = self.kernel.block(part, source.take(slice(j, j + _PIECE)))
                matrix[i : i + _PIECE, j : j + _PIECE] = values
                matrix[j : j + _PIECE, i : i + _PIECE] = values.T
                self.evaluations += values.size
        matrix.flat[:: len(self) + 1] += self.ridge
        return matrix

    @cached_property
    def single(self) -> Array:
        """The same in float32, over ``scale``."""
        return (self.matrix if self.scale == 1.0 else self.matrix / self.scale).astype(np.float32)

    def _fill(self, index: Array, slots: Array) -> None:
        self.columns.values[slots] = self.single[index]

    def among(self, rows: Array) -> Array:
        return self.single.take(rows, axis=0).take(rows, axis=1)

    def block(self, a: Array, b: Array) -> Array:
        return self.matrix.take(a, axis=0).take(b, axis=1)

    def _summed(
        self,
        prepared: Any,  # noqa: ARG002
        support: Array,
        weights: Array,
        rows: Array | None,
    ) -> Array:
        spread = np.zeros(len(self))
        spread[support] = weights
        if rows is None or 2 * len(rows) > len(self):  # to copy lines would cost more
            return (self.matrix @ spread)[slice(None) if rows is None else rows]
        return self.matrix[rows] @ spread
