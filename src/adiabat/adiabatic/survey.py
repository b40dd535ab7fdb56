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
from adiabat.compiled import compiled
from adiabat.growing_gram import require_memory
from adiabat.solution import BALANCE

Array = NDArray[Any]

#: Pieces shorter than this part of C are no more than a tie.
_POINT = 1e-13
#: Members that are looked at before all are.
_FIRST = 8


@compiled
def take_out_rounding(
    theta: Array, members: Array, categories: Array, signed: Array, C: float, total: float
) -> None:
    """Put members within their bounds, and on them all where none is clearly between; mend the sum.

    What is left of the sum goes to the member that is furthest from its bounds.
    """
    left, size, most, widest = total, 0.0, 0, -1.0
    for row in range(signed.shape[0]):
        if categories[row] == ERROR:
            left -= C * signed[row]
            size += C * abs(signed[row])
    for p in range(members.shape[0]):
        bound = C * signed[members[p]]
        theta[p] = min(max(theta[p], min(bound, 0.0)), max(bound, 0.0))
        left -= theta[p]
        size += abs(theta[p])
        room = min(abs(theta[p]), abs(bound - theta[p]))
        if room > widest:
            most, widest = p, room
    if widest > BALANCE * size:
        theta[most] += left
        return
    for p in range(members.shape[0]):
        bound = C * signed[members[p]]
        theta[p] = bound if abs(theta[p]) > 0.5 * abs(bound) else 0.0


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
        self.signed, self._weight, self.C, self._goal = signed, np.abs(signed), C, C
        self._all_weight = float(self._weight.sum())
        self.pieces: list[Piece] = []
        self.flat: list[bool] = []
        self._stored = self._promised = 0
        self._told = np.full(living.n, -1, dtype=np.int8)
        self._categories = np.where(living.theta != 0.0, ERROR, RESERVE).astype(np.int8)
        self._categories[living.inside] = MARGIN
        self._turned = set(range(living.n))
        self._start = C
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
        if self._end > self._start or not self.pieces:
            self._keep()
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
        living, C, members = self.living, self._here, self._members
        theta = living.rows[THETA, members]
        left = np.flatnonzero(living.kinds[members] != MEMBER)
        gone = members[left]  # those are at a bound, and go with it
        at_bound = theta[left] != 0.0
        theta[left] = np.where(at_bound, C * self.signed[gone], 0.0)
        self._end, self._at_end, self._bias_end = C, theta, float(living.scalars[BIAS])
        if not len(left) and living.size == len(members):
            return
        if C - self._start > _POINT * C:
            self._keep()
        self._categories[gone] = np.where(at_bound, ERROR, RESERVE)
        came = living.inside[self._categories[living.inside] != MARGIN]
        self._categories[came] = MARGIN
        self._turned.update(gone.tolist(), came.tolist())
        self._open()

    def _open(self) -> None:
        """Begin a piece here."""
        living = self.living
        self._members, self._end = living.inside.copy(), self._start
        self._at_start = self._at_end = living.rows[THETA, self._members]
        self._bias_start = self._bias_end = float(living.scalars[BIAS])

    def _keep(self) -> None:
        """Put the piece that ends here to the others; where nobody turned, the last one goes on.

        The next one begins here, without a gap where one was no more than a point.
        """
        turned, flat = np.array(sorted(self._turned), dtype=np.int64), self._is_flat()
        changed = turned[self._categories[turned] != self._told[turned]]
        self._turned = set()
        self._told[changed] = became = self._categories[changed]
        start, self._start = self._start, self._end
        if len(changed) or not self.pieces or flat != self.flat[-1]:
            biases = self._bias_start, self._bias_end
            ends = self._balanced(start, self._at_start), self._balanced(self._end, self._at_end)
            piece = Piece(start, self._end, self._members, *ends, biases, changed, became)
            self.pieces.append(piece)
            self.flat.append(flat)
            self._require_room(3 * len(self._members))
            return
        last = self.pieces[-1]
        at_end = np.empty_like(self._at_end)
        ending = self._balanced(self._end, self._at_end)
        at_end[np.argsort(last.members)] = ending[np.argsort(self._members)]
        bias = last.bias[0], self._bias_end
        self.pieces[-1] = replace(last, end=self._end, at_end=at_end, bias=bias)

    def _balanced(self, C: float, theta: Array) -> Array:
        """The same coefficients, but for what rounding has left beyond bounds and in their sum.

        The member furthest from its bounds takes it.
        """
        if self.living.bias is None and len(theta):
            total = self.living.total
            take_out_rounding(theta, self._members, self._categories, self.signed, C, total)
        return theta

    def _is_flat(self) -> bool:
        """Whether nobody is clearly between the bounds, so that they leave an interval for b."""
        if self.living.bias is not None:
            return False
        C, most = 0.5 * (self._start + self._end), BALANCE * self._end * self._all_weight
        for some in (slice(_FIRST), slice(None)):  # the first few tell, nearly always
            size = 0.5 * np.abs(self._at_start[some] + self._at_end[some])
            room = np.minimum(size, C * self._weight[self._members[some]] - size)
            if (room > most).any():
                return False
        total = C * self._weight[self._categories == ERROR].sum() + size.sum()
        return bool((room <= BALANCE * total).all())

    def _require_room(self, numbers: int) -> None:
        """Ask for as much memory again before what was asked for is used up."""
        self._stored += numbers
        if self._stored > self._promised:
            require_memory(self.living.n, self.living.size, self._stored)
            self._promised = 2 * self._stored
