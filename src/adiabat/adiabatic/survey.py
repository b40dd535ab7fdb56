"""A journey through C that is written down (004, section III.A)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.journey import Journey
from adiabat.adiabatic.layout import BIAS, MEMBER, PLACE, THETA
from adiabat.adiabatic.living import Living
from adiabat.adiabatic.trail import ERROR, MARGIN, RESERVE, Piece
from adiabat.growing_gram import require_memory
from adiabat.solution import BALANCE

Array = NDArray[Any]

#: Pieces shorter than this part of C are no more than a tie.
_POINT = 1e-13


class Survey(Journey):
    """The way of a living machine through C, with a look around at each change of category.

    Parameters
    ----------
    living : Living
        The machine, at its optimum.
    signed : ndarray
        Label times weight of each row: its bound is C times that.
    C : float
        Where it is.

    Attributes
    ----------
    pieces : list of Piece
        What was written down so far, but for the piece that is under way.
    flat : list of bool
        For each of them, whether no row is clearly between its bounds.
    """

    def __init__(self, living: Living, signed: Array, C: float) -> None:
        super().__init__(living)
        self.signed, self.C, self._goal = signed, C, C
        self.pieces: list[Piece] = []
        self.flat: list[bool] = []
        self._categories = np.full(living.n, -1, dtype=np.int8)
        self._stored = self._promised = 0
        self._reached = C
        self._open()

    def along(self, C: float) -> None:
        """Go to another C; all bounds with it."""
        rows = np.flatnonzero(self.signed)
        bounds = C * self.signed[rows]
        self._goal = C
        self.stretch(rows, np.minimum(bounds, 0.0), np.maximum(bounds, 0.0))
        self.travel()
        self._look()

    def finished(self) -> tuple[list[Piece], list[bool]]:
        """All pieces, with that under way as far as it goes."""
        if self._piece.end > self._reached or not self.pieces:
            self._keep(self._piece)
        return self.pieces, self.flat

    # -- while the loops are under way

    def _look_around(self) -> int:
        self._look()
        return 1

    def _follow(self, limit: int) -> None:
        super()._follow(limit)
        self._look()

    def _end_leg(self) -> None:
        """What may follow until the arrival is at this C."""
        self.C = self._goal
        super()._end_leg()

    @property
    def _here(self) -> float:
        """C at this place."""
        return float(self.C + self.living.scalars[PLACE] * (self._goal - self.C))

    def _look(self) -> None:
        """Note where the members are; other members are another piece."""
        living, C = self.living, self._here
        members = self._piece.members
        theta = living.rows[THETA, members].copy()
        left = living.kinds[members] != MEMBER  # those are at a bound, and go with it
        theta[left] = np.where(theta[left] != 0.0, C * self.signed[members[left]], 0.0)
        bias = self._piece.bias[0], float(living.scalars[BIAS])
        self._piece = replace(self._piece, end=C, at_end=theta, bias=bias)
        if not np.array_equal(members, np.sort(living.inside)):
            if C - self._piece.start > _POINT * C:
                self._keep(self._piece)
            self._open()

    def _open(self) -> None:
        """Begin a piece here; without a gap where the last one was no more than a point."""
        living, C = self.living, self._reached
        members = np.sort(living.inside)
        theta, bias = living.rows[THETA, members].copy(), float(living.scalars[BIAS])
        none = np.empty(0, dtype=np.int64)
        self._piece = Piece(C, C, members, theta, theta, (bias, bias), none, none)
        self._now = np.where(living.theta != 0.0, ERROR, RESERVE).astype(np.int8)
        self._now[members] = MARGIN

    def _keep(self, piece: Piece) -> None:
        """Put a piece to the others; it goes on with the last one where nobody has changed."""
        changed, flat = np.flatnonzero(self._now != self._categories), self._is_flat()
        piece = replace(piece, changed=changed, became=self._now[changed])
        self._categories, self._reached = self._now, piece.end
        if len(changed) or not self.pieces or flat != self.flat[-1]:
            self.pieces.append(piece)
            self.flat.append(flat)
            self._require_room(3 * len(piece.members))
            return
        last = self.pieces[-1]
        bias = last.bias[0], piece.bias[1]
        self.pieces[-1] = replace(last, end=piece.end, at_end=piece.at_end, bias=bias)

    def _is_flat(self) -> bool:
        """Whether nobody is clearly between the bounds, so that they leave an interval for b."""
        piece = self._piece
        middle = 0.5 * (piece.start + piece.end)
        caps = middle * np.abs(self.signed)
        size = np.abs(piece.theta_at(middle))
        room = np.minimum(size, caps[piece.members] - size).max(initial=0.0)
        total = caps[self._now == ERROR].sum() + size.sum()
        return bool(self.living.bias is None and room <= BALANCE * total)

    def _require_room(self, numbers: int) -> None:
        """Ask for as much memory again before what was asked for is used up."""
        self._stored += numbers
        if self._stored > self._promised:
            require_memory(self.living.n, self.living.size, self._stored)
            self._promised = 2 * self._stored
