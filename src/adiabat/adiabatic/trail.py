"""A path of optima written down: where C goes, piece by piece.

On a piece every coefficient and the bias are linear in C. Members are written down at both ends;
all others are at a bound, which is zero or C times their weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.compiled import compiled

Array = NDArray[Any]

#: What a row can be on a piece.
RESERVE, MARGIN, ERROR = range(3)


@dataclass(frozen=True, eq=False)
class Piece:
    """From one change of category to the next.

    Attributes
    ----------
    start, end : float
        The range of C; an infinite end is that of a piece on which nothing changes.
    members : ndarray
        The rows between their bounds.
    at_start, at_end : ndarray
        Their signed coefficients.
    bias : tuple of float
        The bias at both ends.
    changed, became : ndarray
        Rows that are not what they were on the piece before, and what they are.
    """

    start: float
    end: float
    members: Array
    at_start: Array
    at_end: Array
    bias: tuple[float, float]
    changed: Array
    became: Array

    def share(self, C: float) -> float:
        """How much of the way along the piece is done at this C."""
        if self.end == self.start or np.isinf(self.end):
            return 0.0
        return min(max((C - self.start) / (self.end - self.start), 0.0), 1.0)

    def bias_at(self, C: float) -> float:
        share = self.share(C)
        return (1.0 - share) * self.bias[0] + share * self.bias[1]


@compiled
def fill(
    theta: Array,
    categories: Array,
    members: Array,
    at_start: Array,
    at_end: Array,
    share: float,
    C: float,
    signed: Array,
) -> None:
    """All coefficients: on the way between two ends, or at a bound."""
    for row in range(theta.shape[0]):
        theta[row] = C * signed[row] if categories[row] == ERROR else 0.0
    for p in range(members.shape[0]):
        bound = C * signed[members[p]]
        value = (1.0 - share) * at_start[p] + share * at_end[p]
        theta[members[p]] = min(max(value, min(bound, 0.0)), max(bound, 0.0))


@compiled
def spread_categories(
    spread: Array, place: Array, numbers: Array, where: Array, rows: Array, became: Array
) -> None:
    """What some rows are on each of some pieces, of what they were on the first one."""
    turn = 0
    for j in range(1, spread.shape[0]):
        spread[j] = spread[j - 1]
        while turn < where.shape[0] and where[turn] <= numbers[j]:
            spread[j, place[rows[turn]]] = became[turn]
            turn += 1


@compiled
def spread_coefficients(
    spread: Array,
    categories: Array,
    signed: Array,
    place: Array,
    numbers: Array,
    last: Array,
    members: Array,
    at: Array,
    shares: Array,
    C: Array,
) -> None:
    """The coefficients of some rows, each at its place, so far along some pieces."""
    for j in range(spread.shape[0]):
        k, share = numbers[j], shares[j]
        for p in range(signed.shape[0]):
            spread[j, p] = C[j] * signed[p] if categories[j, p] == ERROR else 0.0
        for m in range(last[k], last[k + 1]):
            p = place[members[m]]
            bound, value = C[j] * signed[p], (1.0 - share) * at[0, m] + share * at[1, m]
            spread[j, p] = min(max(value, min(bound, 0.0)), max(bound, 0.0))


@compiled
def from_bound(value: float, bound: float) -> float:
    """How far a coefficient is from both of its bounds."""
    return min(abs(value), abs(value - bound))


@compiled
def measure_gaps(
    signed: Array,
    last: Array,
    members: Array,
    at: Array,
    first: Array,
    turned: Array,
    C: Array,
    gaps: Array,
) -> None:
    """By how much coefficients differ where each piece but the first begins, at the most.

    Who is a member on one side only has to be at a bound there; who turned and is on neither has
    leapt from one bound to the other.
    """
    n = signed.shape[0]
    before, value_before, after = np.full(n, -1), np.empty(n), np.full(n, -1)
    for k in range(1, last.shape[0] - 1):
        worst = 0.0
        for m in range(last[k - 1], last[k]):
            before[members[m]], value_before[members[m]] = k, at[1, m]
        for m in range(last[k], last[k + 1]):
            row, value = members[m], at[0, m]
            after[row] = k
            if before[row] == k:
                worst = max(worst, abs(value - value_before[row]))
            else:
                worst = max(worst, from_bound(value, C[k] * signed[row]))
        for m in range(last[k - 1], last[k]):
            row = members[m]
            if after[row] != k:
                worst = max(worst, from_bound(at[1, m], C[k] * signed[row]))
        for t in range(first[k], first[k + 1]):
            row = turned[t]
            if before[row] != k and after[row] != k:
                worst = max(worst, abs(C[k] * signed[row]))
        gaps[k] = worst


@dataclass(frozen=True, eq=False)
class Stretch:
    """Some places of a trail, one after the other.

    Attributes
    ----------
    C, bias : ndarray
        C and the bias at each.
    active : ndarray
        The rows that are on the margin, or turn, at any of them.
    theta : ndarray
        A line for each place: the coefficients of those.
    free : ndarray
        Whether they are on the margin there.
    resting : ndarray
        The coefficients of all others for C = 1; they go with C.
    """

    C: Array
    bias: Array
    active: Array
    theta: Array
    free: Array
    resting: Array


class Trail:
    """All pieces of one machine's path, from its lowest C to its highest.

    Parameters
    ----------
    signed : ndarray
        Label times weight of each row: its bound is C times that.
    pieces : sequence of Piece
        In order of C. The first one tells of all rows what they are.
    perturbations, kernel_evaluations : int
        What it took.

    Attributes
    ----------
    C : ndarray
        Where pieces begin, and where the last one ends unless that goes on for ever.
    """

    def __init__(
        self, signed: Array, pieces: Sequence[Piece], perturbations: int, kernel_evaluations: int
    ) -> None:
        self.signed, self.pieces = signed, tuple(pieces)
        self.perturbations, self.kernel_evaluations = perturbations, kernel_evaluations
        last = self.pieces[-1]
        ends = [last.end] if last.start < last.end < np.inf else []
        self.C = np.array([piece.start for piece in self.pieces] + ends)

    def __len__(self) -> int:
        return len(self.signed)

    @property
    def is_endless(self) -> bool:
        """Whether nothing changes any more beyond the last C."""
        return bool(np.isinf(self.pieces[-1].end))

    @cached_property
    def _turns(self) -> tuple[Array, Array, Array]:
        """All that changed: on which piece, which row, to what."""
        counts = [len(piece.changed) for piece in self.pieces]
        where = np.repeat(np.arange(len(counts)), counts)
        rows = np.concatenate([piece.changed for piece in self.pieces])
        return where, rows, np.concatenate([piece.became for piece in self.pieces])

    def categories(self, number: int) -> Array:
        """What each row is on a piece."""
        where, rows, became = self._turns
        count = np.searchsorted(where, number, side="right")
        found = np.zeros(len(self), dtype=np.int8)
        found[rows[:count]] = became[:count]  # what came last stays
        return found

    @cached_property
    def _members(self) -> tuple[Array, Array, Array]:
        """All members of all pieces: where those of each end, who, and both coefficients."""
        last = np.cumsum([0, *(len(piece.members) for piece in self.pieces)])
        starts = np.concatenate([piece.at_start for piece in self.pieces])
        ends = np.concatenate([piece.at_end for piece in self.pieces])
        names = np.concatenate([piece.members for piece in self.pieces])
        return last, names, np.array([starts, ends])

    def _shares(self, numbers: Array, C: Array) -> tuple[Array, Array]:
        """How much of the way along each piece is done at each place, and the bias there."""
        pieces = [self.pieces[k] for k in numbers]
        shares = np.array([piece.share(c) for piece, c in zip(pieces, C.tolist(), strict=True)])
        bias = np.array([piece.bias for piece in pieces])
        return shares, (1.0 - shares) * bias[:, 0] + shares * bias[:, 1]

    def numbers(self, C: Array) -> Array:
        """Which piece each of some values of C is on; where two meet, the upper one."""
        found = np.searchsorted(self.C, C, side="right") - 1
        return np.clip(found, 0, len(self.pieces) - 1)

    def gaps(self) -> Array:
        """By how much coefficients or bias differ where a piece begins and the last one ends."""
        (where, rows, _), (last, members, at) = self._turns, self._members
        gaps, count = np.zeros(len(self.pieces)), np.arange(len(self.pieces) + 1)
        first = np.searchsorted(where, count)
        measure_gaps(self.signed, last, members, at, first, rows, self.C, gaps)
        bias = np.array([piece.bias for piece in self.pieces])
        gaps[1:] = np.maximum(gaps[1:], np.abs(bias[1:, 0] - bias[:-1, 1]))
        return gaps

    def stretch(self, C: Array, numbers: Array) -> Stretch:
        """What there is to know of some finite places on some pieces, in order of both."""
        (where, rows, became), (last, members, at) = self._turns, self._members
        first, final = int(numbers[0]), int(numbers[-1])
        turned = slice(*np.searchsorted(where, (first, final), side="right"))
        is_active = np.zeros(len(self), dtype=bool)
        is_active[members[last[first] : last[final + 1]]] = is_active[rows[turned]] = True
        active = np.flatnonzero(is_active)
        place = np.empty(len(self), dtype=np.int64)
        place[active] = np.arange(len(active))
        before = self.categories(first)
        categories = np.empty((len(C), len(active)), dtype=np.int64)
        categories[0] = before[active]
        spread_categories(categories, place, numbers, where[turned], rows[turned], became[turned])
        theta, own = np.empty(categories.shape), self.signed[active]
        shares, bias = self._shares(numbers, C)
        spread_coefficients(theta, categories, own, place, numbers, last, members, at, shares, C)
        resting = self.signed * (before == ERROR)
        resting[active] = 0.0
        return Stretch(C, bias, active, theta, categories == MARGIN, resting)

    def _filled(self, categories: Array, piece: Piece, C: float) -> Array:
        """All coefficients."""
        last = piece.start if np.isinf(piece.end) else C
        theta = np.empty(len(self))
        ends = piece.at_start, piece.at_end
        fill(theta, categories, piece.members, *ends, piece.share(C), last, self.signed)
        return theta

    def at(self, C: float) -> tuple[Array, float]:
        """Coefficients and bias at a C."""
        number = int(self.numbers(np.array([C]))[0])
        piece = self.pieces[number]
        return self._filled(self.categories(number), piece, C), piece.bias_at(C)

    def walk(self, places: Array) -> Iterator[tuple[Array, float, Array]]:
        """Coefficients, bias and members at each of many places, in order of C."""
        reached, categories = -1, np.zeros(len(self), dtype=np.int8)
        for C, number in zip(places, self.numbers(places).tolist(), strict=True):
            for passed in self.pieces[reached + 1 : number + 1]:
                categories[passed.changed] = passed.became
            reached, piece = number, self.pieces[number]
            yield self._filled(categories, piece, C), piece.bias_at(C), piece.members

    @cached_property
    def counts(self) -> Array:
        """Reserve, margin and error rows from each C on; the last line is that of the last."""
        categories = np.zeros(len(self), dtype=np.int8)
        counts = np.empty((len(self.C), 3), dtype=np.int64)
        for k, piece in enumerate(self.pieces):
            categories[piece.changed] = piece.became
            counts[k] = np.bincount(categories, minlength=3)
        counts[len(self.pieces) :] = counts[len(self.pieces) - 1]
        return counts

    @cached_property
    def turns(self) -> tuple[Array, Array, Array, Array]:
        """Each change of category: the C, the row, what it was and what it became."""
        categories = self.categories(0).copy()
        before = []
        for piece in self.pieces[1:]:
            before.append(categories[piece.changed])
            categories[piece.changed] = piece.became
        where, rows, became = self._turns
        later = where > 0
        were = np.concatenate([np.empty(0, dtype=np.int8), *before])
        return self.C[where[later]], rows[later], were, became[later]
