"""Leading rows out of an optimum, many times from the same one (004, section II.E). Compiled.

Each way begins at the same optimum, whose matrix (``tableau``) says what every row does to every
other. On the way to p = 1 rows change their category (004, Table I). Those that are now something
else than they were in the beginning are ``turned``: what they may do freely is what makes the
others' answers true,

    M_PP u_P = wanted_P - drift_P        v = drift + M_P u_P

where v is how fast f moves at rows that were at a bound and theta at rows that were members,
wanted is zero for those that joined the margin (their f stays) and their bound's pace for
those that left it, and drift is what all paces together would do if nobody had turned.

The bounds may move too: those of the two classes by a part of themselves, ``stretch``. The rows
stand in the tableau's order, members first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.compiled import compiled

Array = NDArray[Any]

#: What a row can be: led, or without a say; on the margin; at its upper or its lower bound.
ASIDE, MEMBER, UPPER, LOWER = range(4)
#: What a way comes to: its end; an answer that will not change any more, before; or nothing,
#: where the turned rows are dependent or too many.
ARRIVED, DECIDED, LOST = range(3)
#: Lines of ``case``, the optimum: coefficients, errors, bounds, targets, what is added to K(x, x),
#: and the unit in which the diagonal of the matrix is near 1.
THETA, ERROR, LOW, HIGH, TARGET, RIDGE, UNIT = range(7)
#: Lines of ``state``, on a way: the first four are the same, bounds as they were at p = 0; how fast
#: the bounds move; pace of coefficients that are no members'; drift; how fast members'
#: coefficients and the others' f move; and 1 for a row at its upper bound, -1 at its lower one.
LOW_PACE, HIGH_PACE, PACE, DRIFT, RATE, SIDE = range(4, 10)
_LINES_OF_STATE = 10
#: Entries of ``facts``: how many members there are, 1 where the bias is free, and 1 where a row
#: that leaves alone is asked for the sign of its f only.
MEMBERS, LOOSE, HASTY = range(3)
#: Lines of ``marks``: what each row is, and its place among the turned ones, or -1; these.
KIND, SPOT, TURNED = range(3)
#: Most rows that may be turned at once, and perturbations of one way.
MOST_TURNED, MOST_PERTURBATIONS = 64, 500
#: Lines of ``system`` behind its matrix: what the turned rows do, and what they were before a step.
MOVES, THETA_BEFORE, ERROR_BEFORE = range(MOST_TURNED, MOST_TURNED + 3)

#: Steps that differ by less than this are a tie.
_TIE = 1e-12
#: A pivot of the turned rows' system below this, in units of K(x, x), is none.
_LEAST_PIVOT = 1e-10
#: A rate below this part of its terms is rounding.
_NOISE = 1e-13
#: A member is clearly within its bounds by more than this part of all coefficients.
_CLEAR = 1e-12
#: A decision value this close to zero is not decided before the end.
_SURE = 1e-8
#: What rounding may do to a sum of terms, in units of the root of the sum of their squares.
_ROUNDINGS = 32.0 * float(np.finfo(np.float64).eps)
#: Rows that are looked at together; one by one only where any of them matters.
_BLOCK = 64


@compiled
def solve_in_place(matrix: Array, right: Array, size: int) -> float:
    """right <- matrix^-1 right by elimination with row exchanges; the least pivot."""
    least = np.inf
    for p in range(size):
        best = p
        for i in range(p + 1, size):
            if abs(matrix[i, p]) > abs(matrix[best, p]):
                best = i
        pivot = matrix[best, p]
        least = min(least, abs(pivot))
        if least <= _LEAST_PIVOT:
            return least
        for j in range(p, size):
            matrix[p, j], matrix[best, j] = matrix[best, j], matrix[p, j]
        right[p], right[best] = right[best], right[p]
        for i in range(p + 1, size):
            part = matrix[i, p] / pivot
            for j in range(p + 1, size):
                matrix[i, j] -= part * matrix[p, j]
            right[i] -= part * right[p]
    for p in range(size - 1, -1, -1):
        for j in range(p + 1, size):
            right[p] -= matrix[p, j] * right[j]
        right[p] /= matrix[p, p]
    return least


@compiled
def turn(marks: Array, count: int, row: int) -> int:
    """A row becomes something else than it was in the beginning, or that again; how many are."""
    at = marks[SPOT, row]
    if at < 0:
        marks[SPOT, row], marks[TURNED, count] = count, row
        return count + 1
    last = marks[TURNED, count - 1]
    marks[TURNED, at], marks[SPOT, last] = last, at
    marks[SPOT, row] = -1
    return count - 1


@compiled
def become(state: Array, marks: Array, row: int, kind: int) -> None:
    """A row is of this kind from now on."""
    marks[KIND, row] = kind
    state[SIDE, row] = 1.0 if kind == UPPER else -1.0 if kind == LOWER else 0.0


@compiled
def free_moves(
    lines: Array, members: int, case: Array, state: Array, marks: Array, count: int, system: Array
) -> bool:
    """What the turned rows do; False where they are dependent."""
    unit, moves, turned = case[UNIT], system[MOVES], marks[TURNED]
    for a in range(count):
        p = turned[a]
        wanted = state[PACE, p] if p < members else 0.0
        moves[a] = (wanted - state[DRIFT, p]) * unit[p]
        for b in range(count):
            system[a, b] = lines[turned[b], p] * unit[p] * unit[turned[b]]
    if count and solve_in_place(system, moves, count) <= _LEAST_PIVOT:
        return False
    for a in range(count):
        moves[a] *= unit[turned[a]]
    return True


@compiled
def set_rates(
    lines: Array, members: int, state: Array, marks: Array, count: int, system: Array
) -> None:
    """How fast everything moves: theta of members, f of all others."""
    n = state.shape[1]
    rate, drift, moves = state[RATE], state[DRIFT], system[MOVES]
    for j in range(n):
        rate[j] = drift[j]
    for a in range(count):
        line, move = lines[marks[TURNED, a]], moves[a]
        for j in range(n):
            rate[j] += move * line[j]
    for a in range(count):
        p = marks[TURNED, a]
        rate[p] = moves[a] if p < members else state[PACE, p] + moves[a]


@compiled
def is_rounding(
    lines: Array, state: Array, marks: Array, count: int, system: Array, row: int
) -> bool:
    """Whether how fast f moves at a row is no more than rounding."""
    size = abs(state[DRIFT, row])
    for a in range(count):
        size += abs(system[MOVES, a] * lines[marks[TURNED, a], row])
    return bool(abs(state[RATE, row]) <= _NOISE * size)


@compiled
def way_of_member(state: Array, row: int, place: float) -> float:
    """How far until a member's coefficient meets a bound (004, Table I)."""
    theta, rate, best = state[THETA, row], state[RATE, row], np.inf
    above, below = rate - state[HIGH_PACE, row], rate - state[LOW_PACE, row]
    if above > 0.0:
        high = state[HIGH, row] + place * state[HIGH_PACE, row]
        best = max((high - theta) / above, 0.0)
    if below < 0.0:
        low = state[LOW, row] + place * state[LOW_PACE, row]
        best = min(best, max((low - theta) / below, 0.0))
    return best


@compiled
def any_meets_bound(state: Array, start: int, stop: int, place: float, length: float) -> bool:
    """Whether any of some rows, if they were members, would be beyond a bound after a step."""
    theta, rate, low, high = state[THETA], state[RATE], state[LOW], state[HIGH]
    low_pace, high_pace = state[LOW_PACE], state[HIGH_PACE]
    worst, then = -1.0, place + length
    for j in range(start, stop):
        moved = theta[j] + length * rate[j]
        worst = max(worst, moved - (high[j] + then * high_pace[j]))
        worst = max(worst, low[j] + then * low_pace[j] - moved)
    return bool(worst > 0.0)


@compiled
def first_member(
    state: Array, marks: Array, members: int, count: int, place: float, limit: float
) -> tuple[float, int]:
    """The member that meets a bound first, and when; -1 for none before ``limit``."""
    best, found = limit, -1
    for start in range(0, members, _BLOCK):
        stop = min(start + _BLOCK, members)
        if any_meets_bound(state, start, stop, place, best):
            for j in range(start, stop):
                length = way_of_member(state, j, place)
                if marks[KIND, j] == MEMBER and length < best - _TIE:
                    best, found = length, j
    for a in range(count):
        j = marks[TURNED, a]
        if j >= members and marks[KIND, j] == MEMBER:
            length = way_of_member(state, j, place)
            if length < best - _TIE:
                best, found = length, j
    return best, found


@compiled
def any_reaches_margin(state: Array, start: int, stop: int, length: float) -> bool:
    """Whether any of some rows at their bounds would have passed its margin after a step."""
    side, rate, error, worst = state[SIDE], state[RATE], state[ERROR], 0.0
    for j in range(start, stop):
        worst = max(worst, side[j] * (length * rate[j] - error[j]))
    return bool(worst > 0.0)


@compiled
def first_outsider(
    lines: Array,
    members: int,
    state: Array,
    marks: Array,
    count: int,
    system: Array,
    limit: float,
) -> tuple[float, int]:
    """The row at a bound whose error is zero first, and when; -1 for none before ``limit``."""
    n, best, found = state.shape[1], limit, -1
    for start in range(members, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        if any_reaches_margin(state, start, stop, best):
            for j in range(start, stop):
                gap, rate = state[SIDE, j] * state[ERROR, j], state[SIDE, j] * state[RATE, j]
                if rate <= 0.0 or gap >= (best - _TIE) * rate:
                    continue
                if not is_rounding(lines, state, marks, count, system, j):
                    best, found = max(gap, 0.0) / rate, j
    for a in range(count):
        j = marks[TURNED, a]
        gap, rate = state[SIDE, j] * state[ERROR, j], state[SIDE, j] * state[RATE, j]
        if j < members and rate > 0.0 and gap < (best - _TIE) * rate:
            best, found = max(gap, 0.0) / rate, j
    return best, found


@compiled
def advance(
    state: Array, marks: Array, members: int, count: int, system: Array, length: float
) -> None:
    """Take a step."""
    theta, error, rate, pace = state[THETA], state[ERROR], state[RATE], state[PACE]
    turned, before = marks[TURNED], system[THETA_BEFORE:]
    for a in range(count):
        before[0, a], before[1, a] = theta[turned[a]], error[turned[a]]
    for j in range(members):
        theta[j] += length * rate[j]
    for j in range(members, state.shape[1]):
        theta[j] += length * pace[j]
        error[j] -= length * rate[j]
    for a in range(count):
        j = turned[a]
        if marks[KIND, j] == MEMBER:
            theta[j], error[j] = before[0, a] + length * rate[j], 0.0
        else:
            theta[j] = before[0, a] + length * pace[j]
            error[j] = before[1, a] - length * rate[j]


@compiled
def change_pace(lines: Array, members: int, state: Array, row: int, pace: float) -> None:
    """A row is led at another pace; the others hear of it where it was no member at first."""
    change = pace - state[PACE, row]
    state[PACE, row] = pace
    if row < members or change == 0.0:
        return
    for j in range(state.shape[1]):
        state[DRIFT, j] += change * lines[row, j]


@compiled
def stand(lines: Array, members: int, state: Array, marks: Array, row: int, place: float) -> None:
    """A member that has met a bound stands there, and goes with it."""
    low = state[LOW, row] + place * state[LOW_PACE, row]
    high = state[HIGH, row] + place * state[HIGH_PACE, row]
    above = state[THETA, row] - low > high - state[THETA, row]
    become(state, marks, row, UPPER if above else LOWER)
    state[THETA, row] = high if above else low
    state[ERROR, row] = 0.0
    change_pace(lines, members, state, row, state[HIGH_PACE if above else LOW_PACE, row])


@compiled
def is_decided(case: Array, state: Array, row: int, ahead: float, by_member: float) -> bool:
    """Whether the sign of f at a row will not change any more while it is led out alone.

    With a its coefficient, y f is the slope of a convex function of a, what all others make of
    it: on the way to a = 0 it can only fall. And it cannot fall by more than
    d^2 gamma / (2 (d - a)), with gamma its present slope, where the members may go on as they do
    for a length d > a (``docs/maths.md``); 2 a is the best d. ``by_member`` is no more than that.
    """
    f = case[TARGET, row] - state[ERROR, row]
    sign, size = (1.0 if state[PACE, row] < 0.0 else -1.0), abs(state[PACE, row])
    if sign * f < case[RIDGE, row] * size * ahead - _SURE:
        return True
    fall = max(-sign * state[RATE, row], 0.0) * by_member * by_member
    return bool(by_member > ahead and sign * f > _SURE + fall / (2.0 * (by_member - ahead)))


@compiled
def part_of(case: Array, stretch: Array, row: int) -> float:
    """Which part of themselves the bounds of a row are at the end of a way."""
    return 1.0 + (stretch[1] if case[TARGET, row] > 0.0 else stretch[0])


@compiled
def begin(
    members: int, case: Array, own_drifts: Array, stretch: Array, state: Array, marks: Array
) -> None:
    """Be at the optimum, with bounds that will move by a part of themselves."""
    for j in range(state.shape[1]):
        theta, low, high = case[THETA, j], case[LOW, j], case[HIGH, j]
        state[THETA, j], state[ERROR, j] = theta, case[ERROR, j]
        state[LOW, j], state[HIGH, j] = low, high
        state[LOW_PACE, j] = state[HIGH_PACE, j] = state[PACE, j] = 0.0
        state[DRIFT, j] = stretch[0] * own_drifts[0, j] + stretch[1] * own_drifts[1, j]
        marks[SPOT, j] = -1
        move = part_of(case, stretch, j) - 1.0
        if move != 0.0:  # infinite bounds do not move
            state[LOW_PACE, j], state[HIGH_PACE, j] = move * low, move * high
        if j < members:
            become(state, marks, j, MEMBER)
        elif low >= high:
            become(state, marks, j, ASIDE)
        elif theta >= high:
            become(state, marks, j, UPPER)
            state[PACE, j] = state[HIGH_PACE, j]
        else:
            become(state, marks, j, LOWER)
            state[PACE, j] = state[LOW_PACE, j]


@compiled
def hold_out(
    lines: Array,
    members: int,
    case: Array,
    state: Array,
    marks: Array,
    system: Array,
    leaving: Array,
    alone: int,
) -> tuple[int, int]:
    """Lead some rows out; what came of it, and after how many perturbations.

    ``alone`` is the only row that leaves where nothing but the sign of its f is asked, else -1.
    """
    count, place = 0, 0.0
    for row in leaving:
        become(state, marks, row, ASIDE)
        change_pace(lines, members, state, row, -state[THETA, row])
        if row < members:
            count = turn(marks, count, row)
    for perturbations in range(MOST_PERTURBATIONS):
        if not free_moves(lines, members, case, state, marks, count, system):
            return LOST, perturbations
        set_rates(lines, members, state, marks, count, system)
        ahead = 1.0 - place
        by_member, member = first_member(state, marks, members, count, place, 2.0 * ahead)
        if alone >= 0 and is_decided(case, state, alone, ahead, by_member):
            return DECIDED, perturbations
        limit = min(by_member, ahead)
        length, row = first_outsider(lines, members, state, marks, count, system, limit)
        advance(state, marks, members, count, system, length)
        place += length
        if row >= 0:
            become(state, marks, row, MEMBER)
            state[ERROR, row] = 0.0
        elif ahead <= by_member + _TIE:
            return ARRIVED, perturbations + 1
        else:
            row = member
            stand(lines, members, state, marks, row, place)
        if count == MOST_TURNED:
            return LOST, perturbations
        count = turn(marks, count, row)
    return LOST, MOST_PERTURBATIONS


@compiled
def settle(case: Array, stretch: Array, state: Array, marks: Array, leaving: Array) -> None:
    """At the end of a way rows stand where they belong, whatever rounding says."""
    theta = state[THETA]
    for j in range(theta.shape[0]):
        if marks[KIND, j] == UPPER:
            theta[j] = part_of(case, stretch, j) * case[HIGH, j]
        elif marks[KIND, j] == LOWER:
            theta[j] = part_of(case, stretch, j) * case[LOW, j]
    for row in leaving:
        theta[row] = 0.0


@compiled
def broken(case: Array, stretch: Array, state: Array, marks: Array, loose: int) -> float:
    """The largest violation of an optimality condition, by the errors of the way.

    It is infinite where the coefficients do not add up, or no member is clearly within its
    bounds: there the bias is the middle of an interval, which is not looked for here.
    """
    worst, total, size, room = 0.0, 0.0, 0.0, 0.0
    for j in range(state.shape[1]):
        theta, kind = state[THETA, j], marks[KIND, j]
        total += theta
        size += abs(theta)
        worst = max(worst, -state[SIDE, j] * state[ERROR, j])
        if kind == MEMBER:
            part = part_of(case, stretch, j)
            room = max(room, min(theta - part * case[LOW, j], part * case[HIGH, j] - theta))
    settled = room > _CLEAR * size and abs(total) <= _CLEAR * size
    return worst if loose == 0 or settled else np.inf


@compiled
def misfit(case: Array, probes: Array, state: Array) -> tuple[float, float]:
    """How far the errors of a way are from those of its coefficients, as directions r show it.

    r'(target - error) = r'K theta + b r'1; probes have r, and then K r and b r'1. Beside it, what
    rounding alone can do.
    """
    worst, rounding, n = 0.0, 0.0, state.shape[1]
    for k in range(probes.shape[1]):
        known, noise = -probes[1, k, n], 0.0
        for j in range(n):
            left = probes[0, k, j] * (case[TARGET, j] - state[ERROR, j])
            right = probes[1, k, j] * state[THETA, j]
            known += left - right
            noise += left * left + right * right
        worst, rounding = max(worst, abs(known)), max(rounding, _ROUNDINGS * np.sqrt(noise))
    return worst, rounding


@compiled
def hold_out_each(
    lines: Array,
    facts: Array,
    case: Array,
    own_drifts: Array,
    probes: Array,
    stretches: Array,
    rows: Array,
    firsts: Array,
    values: Array,
    figures: Array,
) -> None:
    """Every way in its turn: rows[firsts[c]:firsts[c + 1]] leave in way c.

    ``values`` get f of each row that leaves; ``figures`` the violation, infinite where nothing
    came of the way, what rounding has in it, and how many perturbations there were.
    """
    n, members = lines.shape[0], facts[MEMBERS]
    state = np.empty((_LINES_OF_STATE, n))
    marks = np.empty((3, max(n, MOST_TURNED)), dtype=np.int64)
    system = np.empty((MOST_TURNED + 3, MOST_TURNED))
    for c in range(firsts.shape[0] - 1):
        begin(members, case, own_drifts, stretches[c], state, marks)
        leaving = rows[firsts[c] : firsts[c + 1]]
        alone = leaving[0] if facts[HASTY] == 1 and len(leaving) == 1 else -1
        outcome, perturbations = hold_out(
            lines, members, case, state, marks, system, leaving, alone
        )
        figures[0, c], figures[1, c], figures[2, c] = np.inf, 0.0, perturbations
        if outcome == LOST:
            continue
        if outcome == ARRIVED:
            settle(case, stretches[c], state, marks, leaving)
        figures[0, c] = broken(case, stretches[c], state, marks, facts[LOOSE])
        apart, figures[1, c] = misfit(case, probes, state)
        figures[0, c] += apart
        for k in range(firsts[c], firsts[c + 1]):
            row = rows[k]
            own = case[RIDGE, row] * state[THETA, row]
            values[k] = case[TARGET, row] - state[ERROR, row] - own
