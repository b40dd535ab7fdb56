"""Kernel values that several living machines share: each is computed once, and kept if it can be.

With more than two classes every row is in several machines. Each has a table of its own for what
its path reads; what goes into the tables comes from here. The columns of rows that were asked for
are kept, as far as they are known, within a budget of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.growing_gram import DenseLines, grown, require_memory, shelf_of, with_room
from adiabat.kernels import TILE_COLUMNS, TILE_ROWS, Kernel

Array = NDArray[Any]

#: Bytes of a kernel value and of whether it is known.
_BYTES = 9


class SharedGram:
    """Kernel values of rows that come and go, for all who know the rows' names.

    A name is a number that stays with a row as long as that is held; then another can have it.
    Inside, rows stand on lines without gaps: when one is removed, the last takes its line.

    Parameters
    ----------
    kernel : Kernel
        What similarity is.
    prepared : object
        The first rows, as the kernel has prepared them; their names are 0, 1, 2, ...
    diagonal : ndarray
        K(x, x) of each.
    budget : int
        Bytes for columns that are kept; the one unused longest goes first.

    Attributes
    ----------
    table, known : ndarray
        The kept columns, each a line here, and which of their values are known; others are zero.
    """

    def __init__(self, kernel: Kernel, prepared: Any, diagonal: Array, budget: int) -> None:
        self._kernel, self._budget = kernel, budget
        self._shelf, self._diagonal = shelf_of(prepared), DenseLines(diagonal)
        count, room = len(diagonal), with_room(len(diagonal))
        self._line_of, self._name_on = np.arange(count), np.arange(count)
        self.table = np.zeros((0, room))
        self.known = np.zeros((0, room), dtype=bool)
        self._slot_of = np.full(room, -1, dtype=np.int64)
        self._is_new = np.zeros(room, dtype=bool)
        self._owner = np.empty(0, dtype=np.int64)
        self._used_at = np.empty(0, dtype=np.int64)
        self._clock = 0

    def __len__(self) -> int:
        return self._diagonal.count

    @property
    def capacity(self) -> int:
        """How many columns may be kept."""
        return max(1, self._budget // (_BYTES * len(self._slot_of)))

    @property
    def names(self) -> Array:
        """The rows' names, line by line."""
        return self._name_on

    def diagonal(self, names: Array) -> Array:
        """K(x, x)."""
        return self._diagonal.values[self._line_of[names]]

    # -- values

    def values(self, owners: Array, others: Array) -> tuple[Array, int]:
        """K of some rows, one line for each, with others; how many values had to be computed.

        There are no more owners at once than columns may be kept.
        """
        owners, others = self._line_of[owners], self._line_of[others]
        if len(owners) == 1:
            return self._column(int(owners[0]), others)
        at = self._places(self._opened(owners), others)
        known, computed = self.known.take(at), 0
        for some, part in () if known.all() else _rectangles(~known):
            self._compute(owners[some], others[part])
            computed += len(some) * len(part)
        return self.table.take(at), computed

    def _column(self, owner: int, others: Array) -> tuple[Array, int]:
        """The same for one row, mostly known. A new row is first asked for all at once."""
        slot = int(self._opened(np.array([owner]))[0])
        computed = 0
        if self._is_new[owner]:
            prepared = self._shelf.prepared
            own = self._kernel.block(prepared.take(slice(owner, owner + 1)), prepared)
            self._note(np.array([owner]), np.arange(len(self)), own)
            computed = len(self)
        known = self.known[slot, others]
        if not known.all():
            part = others[~known]
            self._compute(np.array([owner]), part)
            computed += len(part)
        return self.table[slot, others][None, :], computed

    def _compute(self, owners: Array, others: Array) -> None:
        prepared = self._shelf.prepared
        some = prepared.take(owners)
        for j in range(0, len(others), TILE_COLUMNS):
            part = others[j : j + TILE_COLUMNS]
            self._note(owners, part, self._kernel.block(some, prepared.take(part)))

    def _note(self, owners: Array, others: Array, block: Array) -> None:
        """Keep values in the columns of both rows, where they have one."""
        self._is_new[owners] = False
        kept = np.flatnonzero(self._slot_of[others] >= 0)
        self._write(self._slot_of[others[kept]], owners, block[:, kept].T)
        self._write(self._slot_of[owners], others, block)

    def _write(self, slots: Array, lines: Array, values: Array) -> None:
        at = self._places(slots, lines)
        self.table.reshape(-1)[at], self.known.reshape(-1)[at] = values, True

    def _places(self, slots: Array, lines: Array) -> Array:
        """Where values stand in the arrays: one number is read faster than two."""
        return slots[:, None] * self.table.shape[1] + lines[None, :]

    # -- columns

    def _opened(self, owners: Array) -> Array:
        """Slots for the columns of some rows, with all that the others' columns know of them."""
        new = owners[self._slot_of[owners] < 0]
        if len(new):
            new = np.unique(new) if len(new) > 1 else new
            self._make_room(len(new), owners)
            kept = np.flatnonzero(self._owner >= 0)
            free = np.flatnonzero(self._owner < 0)[: len(new)]
            at, same = self._places(free, self._owner[kept]), self._places(kept, new).T
            for array in (self.table, self.known):
                array.reshape(-1)[at] = array.take(same)
            self._owner[free], self._slot_of[new] = new, free
        self._clock += 1
        slots = self._slot_of[owners]
        self._used_at[slots] = self._clock
        return slots

    def _make_room(self, count: int, needed: Array) -> None:
        """Free slots for so many columns, none of them taken from those that are needed."""
        taken = int(np.count_nonzero(self._owner >= 0))
        if len(self._owner) < min(taken + count, self.capacity):
            self._resize(min(self.capacity, with_room(taken + taken // 2 + count)))
        over = taken + count - len(self._owner)
        if over > 0:
            age = np.where(self._owner >= 0, self._used_at, self._clock + 1)
            held = self._slot_of[needed]
            age[held[held >= 0]] = self._clock + 1
            self._empty(np.argsort(age, kind="stable")[:over])

    def _empty(self, slots: Array) -> None:
        """Give up columns and overwrite them."""
        self._slot_of[self._owner[slots]] = -1
        self._owner[slots] = -1
        self.table[slots], self.known[slots] = 0.0, False

    def _resize(self, slots: int) -> None:
        """Room for so many columns of as many rows as there may be; the latest stay."""
        kept = np.flatnonzero(self._owner >= 0)
        kept = kept[np.argsort(-self._used_at[kept], kind="stable")][:slots]
        old, room = self.known.shape[1], len(self._slot_of)
        require_memory(len(self), slots, slots * room * _BYTES // 8)
        values, known = np.zeros((slots, room)), np.zeros((slots, room), dtype=bool)
        values[: len(kept), :old], known[: len(kept), :old] = self.table[kept], self.known[kept]
        owner, used_at = np.full(slots, -1, dtype=np.int64), np.zeros(slots, dtype=np.int64)
        owner[: len(kept)], used_at[: len(kept)] = self._owner[kept], self._used_at[kept]
        self.table, self.known, self._owner, self._used_at = values, known, owner, used_at
        self._slot_of[:] = -1
        self._slot_of[owner[: len(kept)]] = np.arange(len(kept))

    # -- rows

    def append(self, prepared: Any, diagonal: Array) -> Array:
        """Take rows in; their names."""
        old = len(self)
        self._shelf.append(prepared)
        self._diagonal.append(diagonal)
        lines = np.arange(old, len(self))
        if len(self) > len(self._slot_of):
            room = with_room(len(self))
            self._slot_of = np.concatenate([self._slot_of, np.full(room - len(self._slot_of), -1)])
            self._is_new = grown(self._is_new, (room,))
            self._resize(min(len(self._owner), self.capacity))
        self._is_new[lines] = True
        free = np.flatnonzero(self._line_of < 0)[: len(lines)]
        more = np.arange(len(lines) - len(free)) + len(self._line_of)
        names = np.concatenate([free, more])
        self._line_of = np.concatenate([self._line_of, more])
        self._line_of[names] = lines
        self._name_on = np.concatenate([self._name_on, names])
        return names

    def remove(self, names: Array) -> None:
        """Take rows out; no value of them is left."""
        for name in names:
            self._remove(int(name))

    def _remove(self, name: int) -> None:
        line, last = int(self._line_of[name]), len(self) - 1
        slot = int(self._slot_of[line])
        if slot >= 0:
            self._empty(np.array([slot]))
        self._shelf.remove(line)
        self._diagonal.remove(line)
        for array in (self.table, self.known):
            array[:, line] = array[:, last]
            array[:, last] = 0
        self._is_new[line], self._is_new[last] = self._is_new[last], False
        slot = int(self._slot_of[last])
        self._slot_of[line], self._slot_of[last] = slot, -1
        if slot >= 0:
            self._owner[slot] = line
        self._line_of[self._name_on[last]] = line
        self._name_on[line] = self._name_on[last]
        self._name_on = self._name_on[:last].copy()
        self._line_of[name] = -1


def _rectangles(missing: Array) -> Iterator[tuple[Array, Array]]:
    """Lines that lack the same, and what they lack."""
    alike: dict[bytes, list[int]] = {}
    for line, pattern in enumerate(np.packbits(missing, axis=1)):
        alike.setdefault(pattern.tobytes(), []).append(line)
    for lines in alike.values():
        part = np.flatnonzero(missing[lines[0]])
        if len(part):
            yield np.array(lines), part


class SharedColumns:
    """The part of one machine in what several share.

    Attributes
    ----------
    evaluations : int
        Kernel values that were computed because this machine was the first to need them.
    """

    def __init__(self, shared: SharedGram, names: Array) -> None:
        self._shared, self._names = shared, DenseLines(names)
        self.evaluations = 0

    def column(self, row: int) -> Array:
        return self._values(np.array([row]))[0]

    def write(self, rows: Array, table: Array) -> None:
        for some in self._portions(rows):
            table[:, some] = self._values(rows[some]).T

    def times(self, rows: Array, weights: Array) -> Array:
        result = np.zeros(self._names.count)
        for some in self._portions(rows):
            result += weights[some] @ self._values(rows[some])
        return result

    def stocked(self, most: int) -> SharedColumns:  # noqa: ARG002
        return self  # what is shared is kept anyway

    def plain(self) -> SharedColumns:
        return self

    def append(self, names: Array) -> None:
        self._names.append(names)

    def remove(self, row: int) -> None:
        self._names.remove(row)

    def _portions(self, rows: Array) -> Iterator[slice]:
        """As many rows at a time as can be asked for."""
        most = min(TILE_ROWS, self._shared.capacity)
        return (slice(i, min(i + most, len(rows))) for i in range(0, len(rows), most))

    def _values(self, rows: Array) -> Array:
        names = self._names.values
        values, computed = self._shared.values(names[rows], names)
        self.evaluations += computed
        return values
