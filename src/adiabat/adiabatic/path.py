"""Along the path of optima from one change of category to the next (004, section II). Compiled.

``follow`` has the loop; what can happen first, and after what step, is Table I of 004, one
function for each of its kinds of rows. Signed coefficients throughout: e = -y g. The arrays
are those of ``layout.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.layout import (
    ASIDE,
    BASE,
    BASE_BIAS,
    BEND,
    BIAS,
    BIAS_RATE,
    DONE,
    DRIFT,
    END,
    ENDLESS,
    ENERGY,
    EXCESS,
    HIGH_PACE,
    LEFT,
    LEG,
    LENGTH,
    LOOKS,
    LOOSE,
    LOW_PACE,
    LOWER,
    MEMBER,
    MEMBERS,
    MOVED,
    MOVING,
    NOISE,
    ORDER,
    PACE,
    PATIENT,
    PAUSED,
    PERTURBATIONS,
    PLACE,
    PLACE_RATE,
    PULL,
    RATE,
    REGULAR,
    ROOT,
    ROWS,
    SCALE,
    SEEN,
    SEEN_AT,
    SEEN_BEND,
    SEEN_BIAS,
    SEEN_LEG,
    SEEN_RATE,
    SEEN_TIME,
    SEEN_TURN,
    SPEED,
    SQUARE,
    STRETCHING,
    THETA,
    TIED,
    TIES,
    TIME,
    TURN,
    UPPER,
    USED,
    WAITING,
    WANTS_COLUMN,
    WANTS_ROOM,
)
from adiabat.adiabatic.margin import drifting_step, high_of, join, leave, low_of
from adiabat.compiled import compiled
from adiabat.margin_system import EPS

Array = NDArray[Any]

#: Steps that differ by less than this are a tie; a row goes from bound to bound in about 1.
_TIE = 1e-12
#: Rounding in the square of a speed, and in a sum of paces.
_CANCELLED = 1e-12
#: Rounding in the rate of a coefficient that keeps to its bound, and in the paces it answers.
_RIDING, _BALANCED = 32.0 * EPS, 32.0 * EPS


@compiled
def error_and_rate(
    table: Array, rows: Array, slots: Array, scalars: Array, counts: Array, row: int
) -> tuple[float, float]:
    """The error of a row now, and how fast K theta + b changes there (004, eq. 12)."""
    line, moved, rate = table[row], 0.0, 0.0
    for s in range(counts[USED]):
        moved += line[s] * slots[MOVED, s]
        rate += line[s] * slots[RATE, s]
    moved += scalars[PLACE] * rows[DRIFT, row] + (scalars[BIAS] - scalars[BASE_BIAS])
    rate += scalars[PLACE_RATE] * rows[DRIFT, row] + scalars[BIAS_RATE]
    return rows[BASE, row] - moved, rate


@compiled
def member_errors(
    table: Array, rows: Array, slots: Array, members: Array, scalars: Array, counts: Array
) -> Array:
    """The errors of the members, which should be zero."""
    errors = np.empty(counts[MEMBERS])
    for p in range(counts[MEMBERS]):
        errors[p] = error_and_rate(table, rows, slots, scalars, counts, members[p])[0]
    return errors


@compiled
def may_have_come(rows: Array, kind: int, scalars: Array, row: int, step: float) -> bool:
    """Whether a row can meet its margin within one more step, for all that was seen of it."""
    if kind not in (UPPER, LOWER):
        return True
    sense = 1.0 if kind == UPPER else -1.0
    seen, shift = sense * rows[SEEN, row], scalars[BIAS] - rows[SEEN_BIAS, row]
    far = (scalars[LENGTH] - rows[SEEN_AT, row] + step * scalars[SPEED]) * rows[ROOT, row]
    far += abs(shift) + step * abs(scalars[BIAS_RATE])
    slack = 1e-9 * far + 1e-9
    if seen > far + slack:
        return False
    if rows[SEEN_LEG, row] != scalars[LEG]:
        return True
    time = scalars[TIME] - rows[SEEN_TIME, row] + step
    bend = scalars[BEND] + step * scalars[TURN]
    aside = bend - rows[SEEN_BEND, row] - time * rows[SEEN_TURN, row] + 1e-12 * bend
    ahead = time * rows[SEEN_RATE, row] + shift + step * scalars[BIAS_RATE]
    return bool(seen <= sense * ahead + aside * rows[ROOT, row] + slack)


@compiled
def look(
    table: Array, rows: Array, slots: Array, scalars: Array, counts: Array, row: int
) -> tuple[float, float]:
    """The error of a row and its rate; it is seen."""
    counts[LOOKS] += 1
    error, rate = error_and_rate(table, rows, slots, scalars, counts, row)
    rows[SEEN, row] = error
    rows[SEEN_AT, row], rows[SEEN_BIAS, row] = scalars[LENGTH], scalars[BIAS]
    rows[SEEN_RATE, row], rows[SEEN_LEG, row] = rate - scalars[BIAS_RATE], scalars[LEG]
    rows[SEEN_TIME, row] = scalars[TIME]
    rows[SEEN_TURN, row], rows[SEEN_BEND, row] = scalars[TURN], scalars[BEND]
    return error, rate


@compiled
def astray(
    table: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    scalars: Array,
    counts: Array,
    lost: Array,
) -> float:
    """By how much any row at a bound wants to leave it, and for each row whether it does."""
    worst = 0.0
    for row in range(counts[ROWS]):
        kind = kinds[row]
        lost[row] = 0.0
        if kind in (ASIDE, MEMBER) or not may_have_come(rows, kind, scalars, row, 0.0):
            continue
        error = look(table, rows, slots, scalars, counts, row)[0]
        if rows[THETA, row] < high_of(rows, scalars, row):
            lost[row] = max(lost[row], error)
        if rows[THETA, row] > low_of(rows, scalars, row):
            lost[row] = max(lost[row], -error)
        worst = max(worst, lost[row])
    return worst


@compiled
def drop_rounding(rows: Array, members: Array, scalars: Array, counts: Array) -> None:
    """Paces that cancel to rounding balance each other: nothing has to move for them.

    The same holds for what is left of the way where that is rounding of the coefficients. A
    single member has to answer all that is left of the paces: where that is the pace of one of
    its bounds it keeps to it, or rounding would send it to and fro.
    """
    paces, pull = 0.0, 0.0
    for row in range(counts[ROWS]):
        paces += abs(rows[PACE, row])
        pull += rows[PACE, row]
    if counts[MEMBERS] > 0:
        for pace in (rows[LOW_PACE, members[0]], rows[HIGH_PACE, members[0]]):
            if abs(pull + pace) <= _BALANCED * paces:
                pull = -pace
        scalars[PULL] = pull
        return
    ahead = (scalars[END] - scalars[PLACE]) * abs(scalars[PULL])
    if abs(scalars[PULL]) <= _CANCELLED * paces or ahead <= _CANCELLED * scalars[SCALE]:
        scalars[PULL] = 0.0


@compiled
def turn(scalars: Array, counts: Array, energy: float, noise: float) -> None:
    """Note by how much the velocity of the weights has turned with the last change of category.

    Of two velocities that differ by one member more, w' with it is the nearest to the other one
    among all with its conditions, so that |dw'|^2 is the difference of their squares. After
    anything else a new leg begins, for which what was seen before says nothing of directions.
    """
    few = counts[MEMBERS] < 2 or scalars[EXCESS] != 0.0
    if few or counts[REGULAR] == 0 or scalars[SQUARE] < 0.0:
        scalars[LEG] += 1.0
        scalars[TIME] = scalars[TURN] = scalars[BEND] = 0.0
    else:
        scalars[TURN] += np.sqrt(abs(energy - scalars[SQUARE]) + noise + scalars[NOISE])
    scalars[SQUARE], scalars[NOISE] = (-1.0 if few else energy), noise
    counts[REGULAR] = 0


@compiled
def sensitivities(
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    members: Array,
    scalars: Array,
    counts: Array,
) -> None:
    """Rates of the members' coefficients, the bias, and the weights (004, eq. 12-18, 34-37).

    Without members the equality holds the rows on their way back, and the bias moves alone, to
    where the margin gets a member that can balance them; or, where that is agreed, the equality
    waits for the first member and is made good until the end of the path. It waits only once: a
    row that comes to the margin without the equality and leaves it at once with it would come
    and leave for ever.
    """
    size = counts[MEMBERS]
    for s in range(counts[USED]):
        slots[RATE, s] = 0.0
    if size <= 1:
        drop_rounding(rows, members, scalars, counts)
    total = scalars[PULL]
    if scalars[EXCESS] != 0.0:
        total += scalars[EXCESS] / (scalars[END] - scalars[PLACE])
    scalars[BIAS_RATE], scalars[PLACE_RATE] = 0.0, 1.0
    energy, rounding = scalars[ENERGY], 0.0
    unbalanced = size == 0 and scalars[LOOSE] == 1.0 and total != 0.0
    if unbalanced and (scalars[PATIENT] == 0.0 or counts[MOVING] == 0):
        scalars[BIAS_RATE], scalars[PLACE_RATE] = (1.0 if total > 0.0 else -1.0), 0.0
        energy = 0.0
    if size > 0:
        scalars[PATIENT] = 0.0
        answer, bias = drifting_step(factor, rows, members, scalars, counts, -total)
        work, sum_of_rates, noise = 0.0, 0.0, abs(energy)
        for p in range(size):
            slots[RATE, slot_of[members[p]]] = answer[p]
            work += answer[p] * rows[DRIFT, members[p]]
            noise += abs(answer[p] * rows[DRIFT, members[p]])
            sum_of_rates += answer[p]
        scalars[BIAS_RATE] = bias
        # |dw|^2 = d'K d + 2 d'drift + energy with K d = -drift - b on the members
        rounding = _CANCELLED * (noise + abs(bias * sum_of_rates))
        energy += work - bias * sum_of_rates + rounding
    energy = max(energy, 0.0)
    scalars[SPEED] = np.sqrt(energy)
    turn(scalars, counts, energy, rounding)


@compiled
def rank(rows: Array, row: int) -> float:
    """Who goes first in a tie: rows on their way, then in the order of learning."""
    return -1.0 if rows[PACE, row] != 0.0 else rows[ORDER, row]


@compiled
def comes_first(rows: Array, length: float, row: int, best: float, other: int) -> bool:
    """Whether a row is before another one on the path; no other is -1."""
    if other < 0:
        return bool(length <= best + _TIE)
    if length < best - _TIE:
        return True
    return bool(length <= best + _TIE and rank(rows, row) < rank(rows, other))


@compiled
def way(rows: Array, scalars: Array, row: int, rate: float, limit: float) -> float:
    """How far until a member's coefficient meets its bound, which may move itself.

    Infinity where that is clearly beyond a limit.
    """
    place, theta, best = scalars[PLACE_RATE], rows[THETA, row], np.inf
    above = rate - place * rows[HIGH_PACE, row]
    below = place * rows[LOW_PACE, row] - rate
    high, low = high_of(rows, scalars, row) - theta, theta - low_of(rows, scalars, row)
    if high <= limit * above and above > _RIDING * abs(rate):
        best = max(high / above, 0.0)
    if low <= limit * below and below > _RIDING * abs(rate):
        best = min(best, max(low / below, 0.0))
    return best


@compiled
def first_member(
    slot_of: Array, rows: Array, slots: Array, members: Array, scalars: Array, counts: Array
) -> tuple[float, int]:
    """Margin to reserve, margin to error (004, Table I): the step, and the member's position."""
    best, position, limit = np.inf, -1, np.inf
    for p in range(counts[MEMBERS]):
        row = members[p]
        length = way(rows, scalars, row, slots[RATE, slot_of[row]], limit)
        if length == np.inf:
            continue
        other = members[position] if position >= 0 else -1
        if comes_first(rows, length, row, best, other):
            best, position = length, p
            limit = best * (1.0 + _TIE) + 2.0 * _TIE
    return best, position


@compiled
def is_noise(
    table: Array, rows: Array, slots: Array, scalars: Array, counts: Array, row: int, rate: float
) -> bool:
    """Whether a rate is no more than rounding: then the row depends on the members."""
    size = abs(scalars[BIAS_RATE]) + abs(scalars[PLACE_RATE] * rows[DRIFT, row])
    for s in range(counts[USED]):
        size += abs(table[row, s] * slots[RATE, s])
    return bool(abs(rate) <= 256.0 * EPS * size)


@compiled
def returns_at_once(kinds: Array, counts: Array, row: int, length: float) -> bool:
    """Whether the member that has just left would come back; then it is tied where it is.

    A coefficient that has to leave its bounds and an error that has to leave zero the other way
    contradict each other (004, eq. 19-20, where the pivot is positive): both are rounding.
    """
    if row != counts[LEFT] or length > _TIE:
        return False
    kinds[row] = TIED
    counts[TIES] += 1
    return True


@compiled
def leeway(rows: Array, kinds: Array, scalars: Array, step: float, left: Array) -> None:
    """``may_have_come`` for all rows at once: not where something is left for a row.

    Rows that are neither upper nor lower have nothing to meet.
    """
    bend = scalars[BEND] + step * scalars[TURN]
    for row in range(left.shape[0]):
        sense = 1.0 if kinds[row] == UPPER else -1.0 if kinds[row] == LOWER else 0.0
        shift, root = scalars[BIAS] - rows[SEEN_BIAS, row], rows[ROOT, row]
        far = (scalars[LENGTH] - rows[SEEN_AT, row] + step * scalars[SPEED]) * root
        far += abs(shift) + step * abs(scalars[BIAS_RATE])
        slack = 1e-9 * far + 1e-9
        time = scalars[TIME] - rows[SEEN_TIME, row] + step
        aside = bend - rows[SEEN_BEND, row] - time * rows[SEEN_TURN, row] + 1e-12 * bend
        ahead = time * rows[SEEN_RATE, row] + shift + step * scalars[BIAS_RATE]
        known = sense * ahead + aside * root
        if rows[SEEN_LEG, row] == scalars[LEG]:
            far = min(far, known)
        left[row] = sense * rows[SEEN, row] - far - slack if sense != 0.0 else 1.0


@compiled
def likely_first(rows: Array, kinds: Array, scalars: Array, left: Array) -> int:
    """Of the rows with nothing left, the one that comes soonest if it goes on as it was seen."""
    best, found = np.inf, -1
    for row in range(left.shape[0]):
        if left[row] > 0.0 or rows[SEEN_LEG, row] != scalars[LEG]:
            continue
        sense = 1.0 if kinds[row] == UPPER else -1.0
        gone = (scalars[TIME] - rows[SEEN_TIME, row]) * rows[SEEN_RATE, row]
        ahead = rows[SEEN, row] - gone - (scalars[BIAS] - rows[SEEN_BIAS, row])
        rate = sense * (rows[SEEN_RATE, row] + scalars[BIAS_RATE])
        if rate > 0.0 and sense * ahead < best * rate:
            best, found = sense * ahead / rate, row
    return found


@compiled
def first_outsider(
    table: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    scalars: Array,
    counts: Array,
    limit: float,
) -> tuple[float, int]:
    """Error, reserve or unlearned to margin (004, Table I): the step, and the row or -1.

    The one that is likely to be the first is looked at first, so that few others have to be.
    """
    best, found, n = limit, -1, counts[ROWS]
    left = np.zeros(n)
    leeway(rows, kinds, scalars, limit if limit < np.inf else 0.0, left)
    likely = likely_first(rows, kinds, scalars, left)
    for k in range(-1, n):
        row = likely if k < 0 else k
        if row < 0 or (k == likely and k >= 0) or kinds[row] not in (UPPER, LOWER):
            continue
        kind = kinds[row]
        if limit < np.inf and left[row] > 0.0:
            continue
        if best < limit and not may_have_come(rows, kind, scalars, row, best):
            continue
        error, rate = look(table, rows, slots, scalars, counts, row)
        if kind == LOWER:
            error, rate = -error, -rate
        if rate <= 0.0:  # its error grows, or stays
            continue
        length = max(error, 0.0) / rate
        first = comes_first(rows, length, row, best, found)
        if first and not (
            is_noise(table, rows, slots, scalars, counts, row, rate)
            or returns_at_once(kinds, counts, row, length)
        ):
            best, found = length, row
    return best, found


@compiled
def advance(
    slot_of: Array,
    rows: Array,
    slots: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    length: float,
) -> None:
    """Take the step."""
    for p in range(counts[MEMBERS]):
        rows[THETA, members[p]] += length * slots[RATE, slot_of[members[p]]]
    for s in range(counts[USED]):
        slots[MOVED, s] += length * slots[RATE, s]
    scalars[BIAS] += length * scalars[BIAS_RATE]
    scalars[LENGTH] += length * scalars[SPEED]
    scalars[TIME] += length
    scalars[BEND] += length * scalars[TURN]
    step = length * scalars[PLACE_RATE]
    left = scalars[END] - scalars[PLACE]
    if counts[MEMBERS] == 0:
        scalars[EXCESS] += step * scalars[PULL] * scalars[LOOSE]
    elif scalars[EXCESS] != 0.0 and left < np.inf:
        scalars[EXCESS] *= max(left - step, 0.0) / left
    scalars[PLACE] += step


@compiled
def nothing_moves(scalars: Array, counts: Array) -> bool:
    """Whether no row, no bound and no debt to the equality is left to be led to its end.

    A path without an end leaves the debt to the next one.
    """
    owing = scalars[EXCESS] != 0.0 and scalars[END] < np.inf
    return bool(counts[MOVING] == 0 and counts[STRETCHING] == 0 and not owing)


@compiled
def follow(
    table: Array,
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    most: int,
) -> int:
    """From one change of category to the next until the end of the path."""
    while True:
        row = counts[WAITING]
        if row >= 0:
            counts[WAITING], size = -1, counts[MEMBERS]
            join(table, slot_of, factor, rows, slots, kinds, members, scalars, counts, row)
            counts[REGULAR] = 1 if counts[MEMBERS] == size + 1 else 0
        if nothing_moves(scalars, counts):
            return DONE
        if counts[MEMBERS] + 1 >= members.shape[0]:
            return WANTS_ROOM
        if counts[PERTURBATIONS] >= most:
            return PAUSED
        sensitivities(slot_of, factor, rows, slots, members, scalars, counts)
        by_member, position = first_member(slot_of, rows, slots, members, scalars, counts)
        to_end = scalars[END] - scalars[PLACE] if scalars[PLACE_RATE] > 0.0 else np.inf
        limit = min(by_member, to_end)
        by_row, row = first_outsider(table, rows, slots, kinds, scalars, counts, limit)
        length = min(limit, by_row)
        if np.isinf(length):
            return ENDLESS
        counts[PERTURBATIONS] += 1
        if to_end <= length + _TIE:
            advance(slot_of, rows, slots, members, scalars, counts, to_end)
            return DONE
        member = members[position] if position >= 0 else -1
        if row >= 0 and comes_first(rows, by_row, row, by_member, member):
            advance(slot_of, rows, slots, members, scalars, counts, by_row)
            counts[WAITING], counts[LEFT] = row, -1
            if slot_of[row] < 0:
                return WANTS_COLUMN
        else:
            advance(slot_of, rows, slots, members, scalars, counts, by_member)
            counts[LEFT] = members[position]
            leave(table, slot_of, factor, rows, slots, kinds, members, scalars, counts, position)
            counts[REGULAR] = 1
