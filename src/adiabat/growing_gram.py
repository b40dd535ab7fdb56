"""Kernel values of rows that come and go, with whole columns kept for those who need them.

Like ``gram`` for a problem that stays, this is the one place where a living machine has its
kernel values kept, evicted and counted; a source of columns computes them, or has them from
others. Rows are known by numbers; when one is taken out, the last row takes its number. What is
taken out is overwritten, not only forgotten.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from adiabat.kernels import TILE_COLUMNS, TILE_ROWS, Kernel, Lines, expansion

Array = NDArray[Any]

#: Columns kept for rows that may come back, beyond those that are needed.
SPARE_COLUMNS = 32
#: Arrays above so many bytes are spoken of, and are asked for only where there is room for them.
NOTABLE = 64 << 20
#: Lines of a tile that are written together: where the table is transposed, they stay in the
#: cache meanwhile.
_STRIP = 32
#: What is foreseen where nothing is.
_NO_LINES = np.empty((0, 0))

_logger = logging.getLogger("adiabat")


def available_memory() -> int | None:
    """Bytes that the system can hand out; None where it is not Linux, which tells.

    Free pages alone would be too few: those that only cache files are given back.
    """
    told = Path("/proc/meminfo")
    found = re.search(r"MemAvailable: *(\d+) kB", told.read_text()) if told.exists() else None
    return int(found[1]) << 10 if found else None


def require_memory(rows: int, members: int, numbers: int, what: str = "kernel values") -> None:
    """Raise where so many numbers, for kernel columns or a factor, are more than there is.

    It is called before memory is taken: a system that promises more than it has would end the
    process later.
    """
    size = numbers * np.dtype(np.float64).itemsize
    if size <= NOTABLE:
        return
    _logger.info("a change with %d rows and %d members takes %d bytes", rows, members, size)
    free = available_memory()
    if free is not None and size > free:
        raise MemoryError(
            f"a change with {rows} rows and {members} members takes {size} bytes for "
            f"{what}, and {free} are available; wanted fewer rows, or more memory"
        )


def grown(array: Array, shape: tuple[int, ...]) -> Array:
    """The same values in a larger array, zeros beyond."""
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return larger


def with_room(size: int) -> int:
    """How much to reserve for so much, so that growth costs little per row."""
    return size + size // 8 + 16


class DenseLines:
    """An array whose lines come and go at amortised constant cost."""

    def __init__(self, values: Array) -> None:
        self.count = len(values)
        self._room = grown(values, (with_room(self.count), *values.shape[1:]))

    @property
    def values(self) -> Array:
        return self._room[: self.count]

    def append(self, values: Array) -> None:
        count = self.count + len(values)
        if count > len(self._room):
            self._room = grown(self.values, (with_room(count), *values.shape[1:]))
        self._room[self.count : count] = values
        self.count = count

    def remove(self, line: int) -> None:
        last = self.count - 1
        self._room[line] = self._room[last]
        self._room[last] = 0
        self.count = last


class SparseLines:
    """The same for a CSR matrix, which is made anew each time."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def append(self, values: Any) -> None:
        self.values = sparse.csr_matrix(sparse.vstack([self.values, values], format="csr"))

    def remove(self, line: int) -> None:
        keep = np.arange(self.values.shape[0])
        keep[line] = keep[-1]
        self.values = self.values[keep[:-1]]


class Shelf(Protocol):
    """Prepared rows that come and go."""

    @property
    def prepared(self) -> Any:
        """All of them, as their kernel takes them."""

    def append(self, prepared: Any) -> None:
        """One more row, or several."""

    def remove(self, row: int) -> None:
        """One row less; the last takes its place."""


class PartsShelf:
    """Rows that are made of arrays with a line for each."""

    def __init__(self, prepared: Any) -> None:
        self.prepared = prepared
        self._lines = {
            name: SparseLines(part) if sparse.issparse(part) else DenseLines(part)
            for name, part in prepared.parts().items()
        }
        self._show()

    def _show(self) -> None:
        parts = {name: lines.values for name, lines in self._lines.items()}
        self.prepared = replace(self.prepared, **parts)

    def append(self, prepared: Any) -> None:
        for name, part in prepared.parts().items():
            self._lines[name].append(part)
        self._show()

    def remove(self, row: int) -> None:
        for lines in self._lines.values():
            lines.remove(row)
        self._show()


class MatrixShelf:
    """Rows that are lines of a given kernel matrix."""

    def __init__(self, prepared: Lines) -> None:
        self.count = len(prepared)
        self._dtype = prepared.dtype
        self._matrix = grown(prepared.values, (with_room(self.count),) * 2)

    @property
    def prepared(self) -> Lines:
        inside = self._matrix[: self.count, : self.count]
        return Lines(inside, np.arange(self.count), self._dtype)

    def append(self, prepared: Lines) -> None:
        old, count = self.count, self.count + len(prepared)
        if count > len(self._matrix):
            self._matrix = grown(self._matrix[:old, :old], (with_room(count),) * 2)
        self._matrix[old:count, :count] = prepared.values[:, :count]
        self._matrix[:old, old:count] = prepared.values[:, :old].T
        self.count = count

    def remove(self, row: int) -> None:
        last = self.count - 1
        self._matrix[row] = self._matrix[last]
        self._matrix[:, row] = self._matrix[:, last]
        self._matrix[last] = self._matrix[:, last] = 0.0
        self.count = last


def shelf_of(prepared: Any) -> Shelf:
    """A shelf for what a kernel has prepared."""
    return MatrixShelf(prepared) if isinstance(prepared, Lines) else PartsShelf(prepared)


class Columns(Protocol):
    """Where a living machine has the kernel values of its rows from."""

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""

    def column(self, row: int) -> Array:
        """The kernel values of one row with every row, in an array of its own."""

    def write(self, rows: Array, table: Array) -> None:
        """The same of several rows, as columns of a table."""

    def times(self, rows: Array, weights: Array) -> Array:
        """K[:, rows] @ weights."""

    def stocked(self, most: int) -> Columns:
        """The same, with at most so many columns at hand once they were asked for."""

    def plain(self) -> Columns:
        """The same without them."""

    def append(self, rows: Any) -> None:
        """Further rows."""

    def remove(self, row: int) -> None:
        """One row less; the last takes its number."""


class OwnColumns:
    """Kernel values of rows that nobody else has, computed whenever they are asked for.

    Attributes
    ----------
    evaluations : int
        Kernel values computed so far.
    """

    def __init__(self, kernel: Kernel, prepared: Any) -> None:
        self._kernel, self._shelf = kernel, shelf_of(prepared)
        self.evaluations = 0

    def column(self, row: int) -> Array:
        prepared = self._shelf.prepared
        self.evaluations += len(prepared)
        return self._kernel.block(prepared.take(slice(row, row + 1)), prepared)[0]

    def write(self, rows: Array, table: Array) -> None:
        prepared = self._shelf.prepared
        some = prepared.take(rows)
        for i in range(0, len(prepared), TILE_ROWS):
            lines = slice(i, min(i + TILE_ROWS, len(prepared)))
            part = prepared.take(lines)
            for j in range(0, len(rows), TILE_COLUMNS):
                columns = slice(j, min(j + TILE_COLUMNS, len(rows)))
                block = self._kernel.block(part, some.take(columns))
                for k in range(0, len(block), _STRIP):
                    strip = block[k : k + _STRIP]
                    table[i + k : i + k + len(strip), columns] = strip
        self.evaluations += len(prepared) * len(rows)

    def times(self, rows: Array, weights: Array) -> Array:
        prepared = self._shelf.prepared
        self.evaluations += len(prepared) * len(rows)
        return expansion(self._kernel, prepared, prepared.take(rows), weights)

    def stocked(self, most: int) -> Columns:
        return StockedColumns(self, len(self._shelf.prepared), most)

    def plain(self) -> Columns:
        return self

    def append(self, prepared: Any) -> None:
        self._shelf.append(prepared)

    def remove(self, row: int) -> None:
        self._shelf.remove(row)


class StockedColumns:
    """Another source's columns, whole and at hand, as many as there is room for.

    They are for sums over many rows, while no row comes or goes.
    """

    def __init__(self, source: Columns, rows: int, most: int) -> None:
        self._source = source
        self._lines = np.empty((min(most, rows), rows))
        self._place = np.full(rows, -1, dtype=np.int64)
        self._count = 0

    @property
    def evaluations(self) -> int:
        return self._source.evaluations

    def column(self, row: int) -> Array:
        place = self._place[row]
        return self._source.column(row) if place < 0 else self._lines[place].copy()

    def write(self, rows: Array, table: Array) -> None:
        self._source.write(rows, table)

    def times(self, rows: Array, weights: Array) -> Array:
        self._lay_in(rows)
        place = self._place[rows]
        held, spread = place >= 0, np.zeros(self._count)
        spread[place[held]] = weights[held]
        result = spread @ self._lines[: self._count]
        if not held.all():
            result += self._source.times(rows[~held], weights[~held])
        return result

    def all_lines(self) -> Array:
        """All columns, in the order of their rows; none was asked for before."""
        self._lay_in(np.arange(len(self._place)))
        return self._lines

    def _lay_in(self, rows: Array) -> None:
        """Have the columns of some rows at hand, as far as there is room."""
        new = rows[self._place[rows] < 0][: len(self._lines) - self._count]
        old, self._count = self._count, self._count + len(new)
        self._place[new] = np.arange(old, self._count)
        if len(new):
            self._source.write(new, self._lines[old : self._count].T)

    def stocked(self, most: int) -> Columns:  # noqa: ARG002
        return self

    def plain(self) -> Columns:
        return self._source

    def append(self, rows: Any) -> None:
        self._source.append(rows)

    def remove(self, row: int) -> None:
        self._source.remove(row)


class GrowingGram:
    """Kernel values, with an optional ridge on the diagonal, of rows that come and go.

    Attributes
    ----------
    table : ndarray
        A line for each row and a column for each slot: the kept columns.
    slot_of : ndarray
        The slot in which the column of a row is kept, or -1.
    foreseen : ndarray
        A line for each row with all its kernel values, or no line.
    """

    def __init__(self, source: Columns, ridge: Array, columns: int) -> None:
        self._source = source
        self._ridge = DenseLines(ridge)
        rows, slots = with_room(len(ridge)), columns + columns // 4 + SPARE_COLUMNS
        # the members' factor comes with it
        require_memory(len(ridge), columns, rows * slots + with_room(columns) ** 2)
        self.table = np.zeros((rows, slots))
        self.slot_of = np.full(rows, -1, dtype=np.int64)
        self._owner = np.full(self.table.shape[1], -1, dtype=np.int64)
        self.used = 0
        self.foreseen = _NO_LINES

    def __len__(self) -> int:
        return self._ridge.count

    @property
    def ridge(self) -> Array:
        return self._ridge.values

    @property
    def evaluations(self) -> int:
        """Kernel values computed so far."""
        return self._source.evaluations

    # -- values

    def column(self, row: int) -> Array:
        """The kernel values of one row with every row."""
        values = self._source.column(row)
        values[row] += self.ridge[row]
        return values

    def times(self, rows: Array, weights: Array) -> Array:
        """K[:, rows] @ weights, from kept columns where they are there."""
        slots = self.slot_of[rows]
        kept, others = slots >= 0, rows[slots < 0]
        result = np.zeros(len(self))
        if kept.any():
            result += self.table[: len(self), slots[kept]] @ weights[kept]
        if len(others):
            result += self.expanded(others, weights[~kept])
        return result

    def expanded(self, rows: Array, weights: Array) -> Array:
        """The same, whatever columns are kept."""
        result = self._source.times(rows, weights)
        np.add.at(result, rows, self.ridge[rows] * weights)
        return result

    # -- a stock of columns

    def lay_up(self, budget: int) -> None:
        """From now on have columns at hand, in so many bytes, until ``clear``.

        They are for sums over many rows; what a path reads is in ``table``, whose slots in use
        every look at an error goes through.
        """
        free = available_memory()
        budget = budget if free is None else min(budget, free // 2)
        column = max(len(self), 1) * np.dtype(np.float64).itemsize
        self._source = self._source.stocked(int(budget // column))

    def foresee(self) -> None:
        """Compute all values at once: many columns will be asked for, while the rows stay."""
        require_memory(len(self), len(self), len(self) ** 2)
        self._source = stock = StockedColumns(self._source, len(self), len(self))
        lines = stock.all_lines()
        self.foreseen = _NO_LINES if self.ridge.any() else lines

    def clear(self) -> None:
        """Have no stock any more. It has to be gone before rows come or go."""
        self._source, self.foreseen = self._source.plain(), _NO_LINES

    # -- kept columns

    def keep(self, row: int, column: Array) -> None:
        """Keep the column of a row. There has to be a free slot."""
        free = np.flatnonzero(self._owner[: self.used] < 0)
        slot = int(free[0]) if len(free) else self.used
        self.table[: len(self), slot] = column
        self._owner[slot], self.slot_of[row] = row, slot
        self.used = max(self.used, slot + 1)

    def own_slots(self, used: int) -> None:
        """Note who has taken the slots up to here, since the last that were noted."""
        if used > self.used:
            rows = np.flatnonzero(self.slot_of >= self.used)
            self._owner[self.slot_of[rows]] = rows
            self.used = used

    def keep_all(self, rows: Array) -> None:
        """Keep the columns of some rows; no column is kept yet."""
        self._source.write(rows, self.table[: len(self)])
        slots = np.arange(len(rows))
        self.table[rows, slots] += self.ridge[rows]
        self._owner[slots], self.slot_of[rows] = rows, slots
        self.used = len(rows)

    @property
    def is_full(self) -> bool:
        return self.used == self.table.shape[1] and bool((self._owner >= 0).all())

    def make_room(self, needed: Array) -> None:
        """Give up the columns of all rows but these; larger room where that leaves little."""
        slots = self.slot_of[needed]
        slots = slots[slots >= 0]
        owners, count = self._owner[slots], len(slots)
        columns = self.table.shape[1]
        if count + SPARE_COLUMNS // 2 > columns:
            columns = count + count // 4 + SPARE_COLUMNS
            require_memory(len(self), count, len(self.slot_of) * columns)
        room = self.table
        if columns > room.shape[1]:
            room = np.zeros((len(self.slot_of), columns))
        for i in range(0, len(self), TILE_ROWS):  # fresh memory for all at once would cost more
            lines = slice(i, min(i + TILE_ROWS, len(self)))
            room[lines, :count] = self.table[lines].take(slots, axis=1)
        room[: len(self), count:] = 0.0
        self.table = room
        self.slot_of[: len(self)] = -1
        self._owner = np.full(columns, -1, dtype=np.int64)
        self._owner[:count], self.slot_of[owners] = owners, np.arange(count)
        self.used = count

    # -- rows

    def append(self, some: Any, ridge: Array) -> None:
        """Take rows in, as their source takes them; the kept columns get their values with them."""
        old, rows = len(self), with_room(len(self) + len(ridge))
        if old + len(ridge) > len(self.slot_of):
            require_memory(old + len(ridge), self.used, rows * self.table.shape[1])
        self._source.append(some)
        self._ridge.append(ridge)
        if len(self) > len(self.slot_of):
            self.table = grown(self.table[:old], (rows, self.table.shape[1]))
            self.slot_of = np.concatenate([self.slot_of, np.full(rows - len(self.slot_of), -1)])

    def fill(self, row: int, column: Array) -> None:
        """Put a row's kernel values into the kept columns."""
        owners = self._owner[: self.used]
        self.table[row, : self.used] = np.where(owners >= 0, column[owners], 0.0)

    def drop_column(self, row: int) -> None:
        """Give up the column of a row and overwrite it."""
        slot = int(self.slot_of[row])
        if slot >= 0:
            self.table[:, slot] = 0.0
            self._owner[slot] = self.slot_of[row] = -1

    def remove(self, row: int) -> None:
        """Take a row out; the last one takes its number."""
        self.drop_column(row)
        last = len(self) - 1
        self._source.remove(row)
        self._ridge.remove(row)
        self.table[row] = self.table[last]
        self.table[last] = 0.0
        slot = int(self.slot_of[last])
        self.slot_of[row], self.slot_of[last] = slot, -1
        if slot >= 0:
            self._owner[slot] = row
        if row == last:
            self.slot_of[row] = -1
