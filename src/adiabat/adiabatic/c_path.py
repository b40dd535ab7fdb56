"""The whole path of a machine between two values of C, with the bias that goes with it.

The bias is the middle of all that are optimal. With a row between its bounds there is only one;
where every row stands at a bound there is an interval, whose ends are the largest and the least
of some lines in C (docs/maths.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.keeper import Demand, Keeper
from adiabat.adiabatic.living import Living, LostError
from adiabat.adiabatic.survey import Survey
from adiabat.adiabatic.trail import ERROR, MARGIN, RESERVE, Piece, Trail
from adiabat.errors import SolverError

Array = NDArray[Any]

#: Changes of category between two arrivals, which take rounding out; by what factor C grows from
#: one to the next at most, and at least.
_CHANGES, _LARGEST, _LEAST = 60, 16.0, 1.001
#: Changes of category after which every error is computed from nothing.
_RENEWAL = 300
#: Rows of which all kernel values are computed at once, because most will be wanted.
_FEW_ROWS = 2000

#: Told of C and of the changes of category so far.
Report = Callable[[float, int], None]


def path_of(
    demand: Demand,
    theta: Array,
    bias: float,
    signed: Array,
    ends: tuple[float, float],
    tell: Report,
) -> Trail:
    """Follow the optimum from the lowest C, where it is known, to the highest.

    Parameters
    ----------
    demand : Demand
        What the machine is asked at the lowest C.
    theta, bias : ndarray, float
        Its answer.
    signed : ndarray
        Label times weight of each row: its bound is C times that.
    ends : tuple of float
        The lowest and the highest C, both finite.
    tell : callable
        Is told of C and of the changes so far, now and then.

    Raises
    ------
    SolverError
        Where the path could not be followed.
    """
    lowest, highest = ends
    living = Keeper(demand, theta, bias).living
    if living.n <= _FEW_ROWS:
        living.gram.foresee()
    survey = Survey(living, signed, lowest)
    try:
        _climb(survey, highest, tell)
    except LostError as error:
        raise SolverError(
            f"C_max: {highest:g}; the path of the optimum was lost at C = {survey.C:g} ({error}); "
            "wanted a range that ends before"
        ) from error
    pieces = _levelled(*survey.finished(), living, signed)
    return Trail(signed, pieces, living.perturbations, living.gram.evaluations)


def _climb(survey: Survey, highest: float, tell: Report) -> None:
    """Leg by leg, each so long that rounding has no time to gather."""
    living, factor, renewed = survey.living, 2.0, 0
    while highest > survey.C:
        before = living.perturbations
        survey.along(min(factor * survey.C, highest))
        changes = living.perturbations - before
        factor = float(np.clip(factor ** (_CHANGES / max(changes, 1)), _LEAST, _LARGEST))
        tell(survey.C, living.perturbations)
        if living.perturbations - renewed > _RENEWAL:
            living.renew()
            renewed = living.perturbations


# -- where no row is between its bounds


def _levelled(
    pieces: Sequence[Piece], flat: Sequence[bool], living: Living, signed: Array
) -> list[Piece]:
    """The same pieces, with the middle bias where it is free in an interval."""
    if not any(flat):
        return list(pieces)
    trail = Trail(signed, pieces, 0, 0)
    told: list[tuple[Piece, Array]] = []
    for is_flat, group in groupby(range(len(pieces)), key=flat.__getitem__):
        numbers = list(group)
        if not is_flat:
            told += [(pieces[k], trail.categories(k)) for k in numbers]
            continue
        settled = [_at_bounds(trail.categories(k), pieces[k], signed) for k in numbers]
        for _, same in groupby(range(len(numbers)), key=lambda k: settled[k].tobytes()):
            at = list(same)
            first, last = pieces[numbers[at[0]]], pieces[numbers[at[-1]]]
            middle = _middle(living, settled[at[0]], signed, first.start, last.end)
            told += [(piece, settled[at[0]]) for piece in middle]
    return _turned(told)


def _turned(told: Sequence[tuple[Piece, Array]]) -> list[Piece]:
    """Pieces that tell which rows are not what they were on the piece before."""
    before, pieces = np.full(len(told[0][1]), -1, dtype=np.int8), []
    for piece, categories in told:
        changed = np.flatnonzero(categories != before)
        pieces.append(replace(piece, changed=changed, became=categories[changed]))
        before = categories
    return pieces


def _at_bounds(categories: Array, piece: Piece, signed: Array) -> Array:
    """Members that keep to a bound are what belongs there."""
    middle = 0.5 * (piece.start + piece.end)
    size = 0.5 * np.abs(piece.at_start + piece.at_end)
    far = size > 0.5 * middle * np.abs(signed[piece.members])
    categories = categories.copy()
    categories[piece.members] = np.where(far, ERROR, RESERVE)
    return categories


def _middle(
    living: Living, categories: Array, signed: Array, start: float, end: float
) -> list[Piece]:
    """The middle of the interval of biases, from bend to bend of either end of it.

    K theta is C times what it is for C = 1. A row on the wrong side of its margin, or beyond it,
    has its say as long as b does not pass target - K theta.
    """
    rows = np.flatnonzero(categories == ERROR)
    slopes, target = -living.gram.times(rows, signed[rows]), living.target
    positive, counts = signed > 0.0, signed != 0.0
    above = counts & (positive == (categories == RESERVE))  # b has to be above their points
    ends = []
    for side, sign in ((above, 1.0), (counts & ~above, -1.0)):
        if side.any():
            ends.append((sign * target[side], sign * slopes[side], sign))
    knots = np.unique(np.concatenate([_bends(a, b, start, end) for a, b, _ in ends]))
    values = [sign * (a[:, None] + np.outer(b, knots)).max(axis=0) for a, b, sign in ends]
    bias = np.mean(values, axis=0)
    none, nothing = np.empty(0, dtype=np.int64), np.empty(0)
    steps = range(max(len(knots) - 1, 1))
    upper = knots[1:] if len(knots) > 1 else knots
    last = bias[1:] if len(knots) > 1 else bias
    return [
        Piece(knots[k], upper[k], none, nothing, nothing, (bias[k], last[k]), none, none)
        for k in steps
    ]


def _bends(intercepts: Array, slopes: Array, start: float, end: float) -> Array:
    """Where the largest of some lines is another one than before; both ends of the range too."""
    knots, at = [start], start
    values = intercepts + slopes * at
    now = int(np.lexsort((slopes, values))[-1])
    while True:
        steeper = np.flatnonzero(slopes > slopes[now])
        if not len(steeper):
            break
        gaps = (intercepts[now] - intercepts[steeper]) + (slopes[now] - slopes[steeper]) * at
        ways = np.maximum(gaps, 0.0) / (slopes[steeper] - slopes[now])
        way = float(ways.min())
        if at + way >= end:
            break
        nearest = steeper[ways == way]
        now, at = int(nearest[np.argmax(slopes[nearest])]), at + way
        knots.append(at)
    return np.unique([*knots, end])


# -- where nothing changes any more


def without_bounds(trail: Trail) -> Trail:
    """The same trail, ending where no row needs its bound any more: from there nothing changes."""
    categories, number = trail.categories(len(trail.pieces) - 1), len(trail.pieces) - 1
    if (categories == ERROR).any():
        piece = trail.pieces[-1]
        final = _standstill(piece, categories, trail.signed)
        pieces = [*trail.pieces, final]
    else:
        while number and not (trail.categories(number - 1) == ERROR).any():
            number -= 1
        piece = trail.pieces[number]
        pieces = [*trail.pieces[:number], replace(piece, end=np.inf, at_end=piece.at_start)]
    return Trail(trail.signed, pieces, trail.perturbations, trail.kernel_evaluations)


def _standstill(piece: Piece, categories: Array, signed: Array) -> Piece:
    """What stays where rows at a bound need no more than that, though nobody made them leave it."""
    members = np.flatnonzero(categories != RESERVE)
    theta = piece.end * signed
    theta[piece.members] = piece.at_end
    changed = np.flatnonzero(categories == ERROR)
    bias = piece.bias[1], piece.bias[1]
    became = np.full(len(changed), MARGIN, dtype=np.int8)
    at = theta[members]
    return Piece(piece.end, np.inf, members, at, at, bias, changed, became)
