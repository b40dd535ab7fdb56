"""The members of the margin: their factor, and what they answer to a move. Compiled.

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
    ENERGY,
    HALF,
    HALVED,
    HIGH,
    HIGH_PACE,
    LENGTH,
    LOOSE,
    LOW,
    LOW_PACE,
    LOWER,
    MEMBER,
    MEMBERS,
    MOVED,
    MOVING,
    ONES,
    PACE,
    PLACE,
    PULL,
    ROWS,
    SHIFT,
    THETA,
    TIED,
    TIES,
    UPPER,
)
from adiabat.compiled import compiled
from adiabat.margin_system import EPS, delete_line, solve_lower, solve_upper, turn_half

Array = NDArray[Any]

#: A difference below this part of its terms is zero.
_CANCELLED = 32.0 * EPS


@compiled
def solve_two_upper(factor: Array, size: int, x: Array, y: Array) -> None:
    """x <- L^-T x and y <- L^-T y, in one pass over the factor."""
    for i in range(size - 1, -1, -1):
        line = factor[i]
        x[i] /= line[i]
        y[i] /= line[i]
        s, t = x[i], y[i]
        for k in range(i):
            x[k] -= s * line[k]
            y[k] -= t * line[k]


@compiled
def drop_specks(step: Array, size: int) -> None:
    """Parts of a step that are rounding beside the others would send a member to and fro."""
    largest = 0.0
    for p in range(size):
        largest = max(largest, abs(step[p]))
    for p in range(size):
        if abs(step[p]) <= _CANCELLED * largest:
            step[p] = 0.0


@compiled
def finish_step(
    factor: Array, size: int, step: Array, ones: Array, imbalance: float, scalars: Array
) -> float:
    """From L^-1 e and L^-1 1 to d, written over the former, and the change of bias.

    K_SS d + 1 b = e and 1'd = imbalance. 1'A^-1 1 and 1'A^-1 e are inner products of the halves.
    """
    if scalars[LOOSE] == 0.0:
        solve_upper(factor, size, step)
        drop_specks(step, size)
        return 0.0
    square, mixed, part = 0.0, 0.0, scalars[SHIFT] * imbalance
    for p in range(size):
        square += ones[p] * ones[p]
        mixed += ones[p] * step[p]
    bias = (mixed + part * square - imbalance) / square
    if size == 1:  # one alone has no choice
        step[0] = imbalance
        return bias
    solve_two_upper(factor, size, step, ones)
    for p in range(size):
        other = (bias - part) * ones[p]
        # where the two cancel, what is left is rounding and would send a member astray
        cancelled = _CANCELLED * (abs(step[p]) + abs(other))
        step[p] -= other
        if abs(step[p]) <= cancelled:
            step[p] = 0.0
    drop_specks(step, size)
    return bias


@compiled
def bordered_step(
    factor: Array, size: int, error: Array, imbalance: float, scalars: Array
) -> float:
    """error <- d, and the change of bias, with K_SS d + 1 b = error and 1'd = imbalance."""
    ones = np.ones(size)
    solve_lower(factor, size, error)
    solve_lower(factor, size, ones)
    return finish_step(factor, size, error, ones, imbalance, scalars)


@compiled
def low_of(rows: Array, scalars: Array, row: int) -> float:
    """The lower bound at this place."""
    return rows[LOW, row] + scalars[PLACE] * rows[LOW_PACE, row]


@compiled
def high_of(rows: Array, scalars: Array, row: int) -> float:
    """The upper bound at this place."""
    return rows[HIGH, row] + scalars[PLACE] * rows[HIGH_PACE, row]


@compiled
def side_of(rows: Array, scalars: Array, row: int, theta: float) -> int:
    """What a row with this coefficient is that stands at a bound."""
    low, high = low_of(rows, scalars, row), high_of(rows, scalars, row)
    if low >= high:
        return ASIDE
    if theta <= low:
        return LOWER
    if theta >= high:
        return UPPER
    return ASIDE


@compiled
def pull(
    table: Array, slot: int, rows: Array, scalars: Array, counts: Array, row: int, pace: float
) -> None:
    """Let a row with a column change its pace by this much; no error changes here and now."""
    place = scalars[PLACE]
    scalars[HALVED] = 0.0
    scalars[PULL] += pace
    scalars[ENERGY] += pace * (2.0 * rows[DRIFT, row] + pace * table[row, slot])
    for i in range(counts[ROWS]):
        value = pace * table[i, slot]
        rows[DRIFT, i] += value
        rows[BASE, i] += place * value


@compiled
def set_out(
    table: Array, slot: int, rows: Array, scalars: Array, counts: Array, row: int, pace: float
) -> None:
    """A row that is no member starts to move from where it is."""
    rows[PACE, row] = pace
    rows[THETA, row] -= scalars[PLACE] * pace
    counts[MOVING] += 1
    pull(table, slot, rows, scalars, counts, row, pace)


@compiled
def stop(table: Array, slot: int, rows: Array, scalars: Array, counts: Array, row: int) -> None:
    """A row that was on its way stays where it is."""
    pace = rows[PACE, row]
    if pace == 0.0:
        return
    rows[THETA, row] += scalars[PLACE] * pace
    rows[PACE, row] = 0.0
    counts[MOVING] -= 1
    pull(table, slot, rows, scalars, counts, row, -pace)
    if counts[MOVING] == 0:
        scalars[PULL] = 0.0


@compiled
def untie(rows: Array, kinds: Array, scalars: Array, counts: Array) -> None:
    """Tied rows may have become independent of the members."""
    if counts[TIES] == 0:
        return
    for row in range(counts[ROWS]):
        if kinds[row] == TIED:
            theta = rows[THETA, row] + scalars[PLACE] * rows[PACE, row]
            kinds[row] = side_of(rows, scalars, row, theta)
    counts[TIES] = 0


@compiled
def take_out(
    factor: Array,
    rows: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    position: int,
) -> int:
    """A member goes (004, eq. 20) and is a row aside; which."""
    size, row = counts[MEMBERS], members[position]
    kinds[row] = ASIDE
    turns = delete_line(factor, size, position)
    turn_half(factor[ONES], size, position, turns)
    turn_half(factor[HALF], size, position, turns)
    for p in range(position, size - 1):
        members[p] = members[p + 1]
    counts[MEMBERS] = size - 1
    untie(rows, kinds, scalars, counts)
    return int(row)


@compiled
def put(slot: int, rows: Array, slots: Array, row: int, theta: float) -> None:
    """Give a coefficient a value."""
    slots[MOVED, slot] += theta - rows[THETA, row]
    rows[THETA, row] = theta


@compiled
def leave(
    table: Array,
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    position: int,
) -> None:
    """A member that has met a bound stands there, and goes with it where it moves."""
    row = members[position]
    slot, low, high = slot_of[row], low_of(rows, scalars, row), high_of(rows, scalars, row)
    above = rows[THETA, row] - low > high - rows[THETA, row]
    put(slot, rows, slots, row, high if above else low)
    pace = rows[HIGH_PACE, row] if above else rows[LOW_PACE, row]
    take_out(factor, rows, kinds, members, scalars, counts, position)
    kinds[row] = UPPER if above else LOWER
    if pace != 0.0:
        set_out(table, slot, rows, scalars, counts, row, pace)
        rows[THETA, row] = rows[HIGH, row] if above else rows[LOW, row]  # to the last bit


@compiled
def halve(factor: Array, p: int, drift: float) -> None:
    """One more entry of L^-1 1 and L^-1 (-drift)."""
    line, one, moved = factor[p], 1.0, -drift
    for k in range(p):
        one -= line[k] * factor[ONES, k]
        moved -= line[k] * factor[HALF, k]
    factor[ONES, p] = one / line[p]
    factor[HALF, p] = moved / line[p]


@compiled
def drifting_step(
    factor: Array, rows: Array, members: Array, scalars: Array, counts: Array, imbalance: float
) -> tuple[Array, float]:
    """d and the change of bias with K_SS d + 1 b = -drift and 1'd = imbalance."""
    size = counts[MEMBERS]
    if scalars[HALVED] == 0.0:
        for p in range(size):
            halve(factor, p, rows[DRIFT, members[p]])
        scalars[HALVED] = 1.0
    step, ones = factor[HALF, :size].copy(), factor[ONES, :size].copy()
    return step, finish_step(factor, size, step, ones, imbalance, scalars)


@compiled
def append_member(
    table: Array,
    slot: int,
    factor: Array,
    rows: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    row: int,
) -> bool:
    """A row becomes a member (004, eq. 19); False where it depends on those there are.

    Then the factor's next line holds the coefficients of the dependence.
    """
    size = counts[MEMBERS]
    line = factor[size]
    for p in range(size):
        line[p] = table[members[p], slot] + scalars[SHIFT]
    solve_lower(factor, size, line)
    diagonal = table[row, slot] + scalars[SHIFT]
    pivot = diagonal
    for p in range(size):
        pivot -= line[p] * line[p]
    if pivot <= 8.0 * EPS * max(size, 8) * diagonal:
        solve_upper(factor, size, line)
        return False
    line[size] = np.sqrt(pivot)
    halve(factor, size, rows[DRIFT, row])
    members[size] = row
    kinds[row] = MEMBER
    counts[MEMBERS] = size + 1
    return True


@compiled
def way_to_bound(rows: Array, scalars: Array, row: int, rate: float) -> float:
    """How far a coefficient can go at this rate while the bounds stay."""
    if rate > 0.0:
        return max((high_of(rows, scalars, row) - rows[THETA, row]) / rate, 0.0)
    if rate < 0.0:
        return max((low_of(rows, scalars, row) - rows[THETA, row]) / rate, 0.0)
    return np.inf


@compiled
def slide(
    table: Array,
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    row: int,
) -> None:
    """Along the null direction of a dependent row until a coefficient meets its bound.

    The row gives its part to the members, which changes no error. Where one of them meets its
    bound before the row has nothing left, it makes room for the row.
    """
    size = counts[MEMBERS]
    weights = factor[size].copy()
    sense = -1.0 if rows[THETA, row] > 0.0 else 1.0
    least, blocking = way_to_bound(rows, scalars, row, sense), -1
    for p in range(size):
        length = way_to_bound(rows, scalars, members[p], -sense * weights[p])
        if length < least:
            least, blocking = length, p
    for p in range(size):
        member = members[p]
        theta = rows[THETA, member] - sense * weights[p] * least
        put(slot_of[member], rows, slots, member, theta)
    theta = rows[THETA, row] + sense * least
    if blocking < 0:
        bound = low_of(rows, scalars, row) if sense < 0.0 else high_of(rows, scalars, row)
        put(slot_of[row], rows, slots, row, bound)
        return
    put(slot_of[row], rows, slots, row, theta)
    leave(table, slot_of, factor, rows, slots, kinds, members, scalars, counts, blocking)


@compiled
def join(
    table: Array,
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    row: int,
) -> None:
    """A row with an error of zero becomes a member, in exchange for one where it must.

    A dependent row at a bound stays there: its error is zero as long as the members stay.
    """
    slot = slot_of[row]
    while not append_member(table, slot, factor, rows, kinds, members, scalars, counts, row):
        theta = rows[THETA, row] + scalars[PLACE] * rows[PACE, row]
        if theta <= low_of(rows, scalars, row) or theta >= high_of(rows, scalars, row):
            kinds[row] = TIED
            counts[TIES] += 1
            return
        stop(table, slot, rows, scalars, counts, row)
        slide(table, slot_of, factor, rows, slots, kinds, members, scalars, counts, row)
    stop(table, slot, rows, scalars, counts, row)


@compiled
def refine(
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    error: Array,
    imbalance: float,
) -> int:
    """Take errors of the members out of their coefficients, as far as their bounds allow.

    Which member has met its bound first; -1 where none has.
    """
    size, wanted = counts[MEMBERS], error.copy()
    bias = bordered_step(factor, size, error, imbalance, scalars)
    length, blocking, energy, noise = 1.0, -1, -bias * imbalance, abs(bias * imbalance)
    for p in range(size):
        energy += error[p] * wanted[p]  # |dw|^2 = d'K d with K d = e - b
        noise += abs(error[p] * wanted[p])
        room = way_to_bound(rows, scalars, members[p], error[p])
        if room < length:
            length, blocking = room, p
    scalars[BIAS] += length * bias
    scalars[LENGTH] += length * np.sqrt(max(energy, 0.0) + _CANCELLED * noise)
    for p in range(size):
        row = members[p]
        theta = rows[THETA, row] + length * error[p]
        if p == blocking:
            theta = high_of(rows, scalars, row) if error[p] > 0.0 else low_of(rows, scalars, row)
        put(slot_of[row], rows, slots, row, theta)
    return blocking
