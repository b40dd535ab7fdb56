"""Setting out and arriving, row by row: the plain loops of a change. Compiled.

The arrays are those of ``layout.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.layout import (
    ASIDE,
    BASE,
    BIAS,
    DRIFT,
    HIGH,
    HIGH_PACE,
    LEG,
    LOW,
    LOW_PACE,
    LOWER,
    MEMBERS,
    MOVING,
    PACE,
    PLACE,
    ROOT,
    ROWS,
    STRETCHING,
    THETA,
    TIED,
    UPPER,
)
from adiabat.adiabatic.margin import side_of, untie
from adiabat.adiabatic.path import error_and_rate
from adiabat.compiled import compiled
from adiabat.margin_system import EPS

Array = NDArray[Any]

#: Entries of ``figures``: the sum of all coefficients, and of their sizes; the largest
#: sqrt(K(x, x)); what rounding can do to an error, generously; how far the members are from their
#: bounds, the one furthest from both and the one nearest to any; the least pivot of the factor.
SUM, SIZE, REACH, ROUNDING, CLEAR, CLOSE, PIVOT = range(7)
#: Coefficients added up at once.
_BLOCK = 64


@compiled
def differing(rows: Array, row_of: Array, low: Array, high: Array, found: Array) -> int:
    """Which of the rows held have other bounds now; how many."""
    count = 0
    for at in range(row_of.shape[0]):
        row = row_of[at]
        if row >= 0 and (rows[LOW, row] != low[at] or rows[HIGH, row] != high[at]):
            found[count] = at
            count += 1
    return count


@compiled
def go_as_errors_want(
    table: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    scalars: Array,
    counts: Array,
    some: Array,
) -> None:
    """Rows that are no members take the side that their error wants, or that of their bound.

    Where there is neither, within the bounds and without an error, the row is a member of the
    margin as soon as anything moves, whichever side it takes.
    """
    for row in some:
        side = side_of(rows, scalars, row, rows[THETA, row])
        error = error_and_rate(table, rows, slots, scalars, counts, row)[0]
        if rows[LOW, row] < rows[HIGH, row] and (error != 0.0 or side == ASIDE):
            side = LOWER if error < 0.0 else UPPER
        kinds[row] = side


@compiled
def end_leg(rows: Array, kinds: Array, scalars: Array, counts: Array) -> None:
    """Everybody is where it was to go, and nothing is on its way any more."""
    for row in range(counts[ROWS]):
        pace, kind = rows[PACE, row], kinds[row]
        if pace != 0.0 and kind == TIED:
            kind = UPPER if pace == rows[HIGH_PACE, row] else LOWER
            kinds[row] = kind
        rows[LOW, row] += rows[LOW_PACE, row]
        rows[HIGH, row] += rows[HIGH_PACE, row]
        if kind == UPPER and rows[HIGH, row] < np.inf:
            rows[THETA, row] = rows[HIGH, row]
        elif kind == LOWER and rows[LOW, row] > -np.inf:
            rows[THETA, row] = rows[LOW, row]
        elif kind == ASIDE and pace != 0.0:
            rows[THETA, row] = 0.0
        rows[BASE, row] -= scalars[PLACE] * rows[DRIFT, row]
        rows[PACE, row] = rows[DRIFT, row] = rows[LOW_PACE, row] = rows[HIGH_PACE, row] = 0.0
    counts[MOVING] = counts[STRETCHING] = 0
    scalars[PLACE] = 0.0
    scalars[LEG] += 1.0
    untie(rows, kinds, scalars, counts)


@compiled
def tally(
    factor: Array, rows: Array, members: Array, scalars: Array, counts: Array, figures: Array
) -> None:
    """What there is to know of the coefficients."""
    figures[:] = 0.0
    for start in range(0, counts[ROWS], _BLOCK):
        total, size = 0.0, 0.0
        for row in range(start, min(start + _BLOCK, counts[ROWS])):
            total += rows[THETA, row]
            size += abs(rows[THETA, row])
            figures[ROUNDING] += abs(rows[THETA, row]) * rows[ROOT, row]
            figures[REACH] = max(figures[REACH], rows[ROOT, row])
        figures[SUM] += total
        figures[SIZE] += size
    scale = figures[ROUNDING] * figures[REACH] + abs(scalars[BIAS]) + 1.0
    figures[ROUNDING] = 16.0 * EPS * scale
    figures[CLOSE] = figures[PIVOT] = np.inf
    for p in range(counts[MEMBERS]):
        row = members[p]
        room = min(rows[THETA, row] - rows[LOW, row], rows[HIGH, row] - rows[THETA, row])
        figures[CLEAR] = max(figures[CLEAR], room)
        figures[CLOSE] = min(figures[CLOSE], room)
        figures[PIVOT] = min(figures[PIVOT], factor[p, p])
