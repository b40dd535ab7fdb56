"""A journey through C that is written down (004, section III.A)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.journey import Journey
from adiabat.adiabatic.layout import BIAS, LOGGED, MOST, USED, WANTS_PAPER
from adiabat.adiabatic.living import Living
from adiabat.adiabatic.notes import (
    BIAS_START,
    FLAT,
    FROM,
    LAST_CHANGE,
    LAST_MEMBER,
    PIECES,
    START,
    STOP,
    TO,
    follow_noting,
    keep_piece,
    log_line,
    write_down,
)
from adiabat.adiabatic.trail import ERROR, RESERVE, Piece
from adiabat.growing_gram import grown, require_memory

Array = NDArray[Any]

#: Lines of the log, and the numbers that it has at most where rows are many.
_LINES, _NUMBERS = 128, 1_000_000
#: Pieces, and numbers for each row, for which there is room at first. Only what is used of it
#: takes memory.
_PIECES, _ROOM = 1024, 128


class Survey(Journey):
    """The way of a living machine through C, with a note of each change of category.

    Parameters
    ----------
    living : Living
        The machine, at its optimum.
    signed : ndarray
        Label times weight of each row: its bound is C times that.
    C : float
        Where it is.
    """

    def __init__(self, living: Living, signed: Array, C: float) -> None:
        super().__init__(living)
        n = living.n
        self.signed, self.C = signed, C
        self._log = np.empty((max(2, min(_LINES, _NUMBERS // (n + 1))), 2, n + 1))
        self._pen = np.array([C, C, living.total])
        self._tallies = np.array([0, living.bias is None], dtype=np.int64)
        categories = np.where(living.theta != 0.0, ERROR, RESERVE)
        categories[living.inside] = RESERVE  # it becomes a member with the first line
        self._book = np.array([categories, np.full(n, -1)])
        self._ends, self._marks = np.zeros((4, _PIECES)), np.zeros((3, _PIECES + 1), dtype=np.int64)
        self._at, self._names = np.zeros((2, _ROOM * n)), np.zeros(_ROOM * n, dtype=np.int64)
        self._changes = np.zeros((2, 2 * n), dtype=np.int64)
        self._ends[: STOP + 1] = C
        self._ends[BIAS_START:] = living.scalars[BIAS]
        self._look()

    def along(self, C: float) -> None:
        """Go to another C; all bounds with it."""
        rows = np.flatnonzero(self.signed)
        bounds = C * self.signed[rows]
        self._pen[TO] = C
        self.stretch(rows, np.minimum(bounds, 0.0), np.maximum(bounds, 0.0))
        self.travel()
        self._look()

    def finished(self) -> tuple[list[Piece], list[bool]]:
        """All pieces, with that under way as far as it goes.

        For each of them, whether no row is clearly between its bounds.
        """
        k = self._tallies[PIECES]
        if self._ends[STOP, k] > self._ends[START, k] or not k:
            keep_piece(*self._notes)
        count = int(self._tallies[PIECES])
        flat = self._marks[FLAT, 1 : count + 1] == 1
        return [self._piece(k) for k in range(count)], flat.tolist()

    def _piece(self, k: int) -> Piece:
        """A finished piece, out of the lists of all."""
        first, last = self._marks[LAST_MEMBER, k : k + 2].tolist()
        here, there = self._marks[LAST_CHANGE, k : k + 2].tolist()
        start, stop, bias_start, bias_stop = self._ends[:, k].tolist()
        return Piece(
            start,
            stop,
            self._names[first:last],
            self._at[0, first:last],
            self._at[1, first:last],
            (bias_start, bias_stop),
            self._changes[0, here:there],
            self._changes[1, here:there],
        )

    # -- while the loops are under way

    def _run(self, most: int) -> int:
        living, outcome = self.living, WANTS_PAPER
        counts = living.counts
        counts[MOST] = most
        while outcome == WANTS_PAPER:
            outcome = int(follow_noting(*living.state, self._log, living.gram.foreseen))
            if counts[LOGGED] == len(self._log):
                self._write()
        living.gram.own_slots(int(counts[USED]))
        return outcome

    def _follow(self, limit: int) -> None:
        self._look()
        super()._follow(limit)
        self._look()

    def _end_leg(self) -> None:
        """What may follow until the arrival is at this C."""
        self.C = self._pen[FROM] = self._pen[TO]
        super()._end_leg()

    # -- what is written

    def _look(self) -> None:
        """Note how all stands now."""
        _, _, _, rows, _, kinds, _, scalars, counts = self.living.state
        log_line(rows, kinds, scalars, counts, self._log)
        self._write()

    @property
    def _notes(self) -> tuple[Array, ...]:
        lists = self._ends, self._marks, self._names, self._at, self._changes
        return (*lists, self._book, self.signed, self._pen, self._tallies)

    def _write(self) -> None:
        """Make pieces of all lines of the log."""
        counts, done = self.living.counts, 0
        count = int(counts[LOGGED])
        while done < count:
            done += int(write_down(self._log[done:count], *self._notes))
            if done < count:
                self._make_room()
        counts[LOGGED] = 0

    def _make_room(self) -> None:
        """Room for twice as much."""
        n, pieces = self.living.n, 2 * self._ends.shape[1]
        members, changes = 2 * len(self._names) + n, 2 * self._changes.shape[1] + n
        require_memory(n, self.living.size, 7 * pieces + 3 * members + 2 * changes)
        self._ends, self._marks = (
            grown(self._ends, (4, pieces)),
            grown(self._marks, (3, pieces + 1)),
        )
        self._names, self._at = grown(self._names, (members,)), grown(self._at, (2, members))
        self._changes = grown(self._changes, (2, changes))
