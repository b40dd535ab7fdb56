"""What is written down on a journey through C, at every change of category. Compiled.

A log has a line for each change: where every coefficient is, and who is a member. From it pieces
are made. The one under way lies open behind those that are finished; it ends where the members
are others, and is one of them if it is longer than a tie.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from adiabat.adiabatic.layout import (
    BIAS,
    LOGGED,
    MEMBER,
    MOST,
    PAUSED,
    PERTURBATIONS,
    PLACE,
    ROWS,
    THETA,
    USED,
    WAITING,
    WANTS_COLUMN,
    WANTS_PAPER,
    WANTS_ROOM,
)
from adiabat.adiabatic.path import follow
from adiabat.adiabatic.trail import ERROR, MARGIN, RESERVE
from adiabat.compiled import compiled
from adiabat.solution import BALANCE

Array = NDArray[Any]

#: Parts of a line of the log: coefficients, and behind them the place; who is a member, and
#: behind that the bias.
COEFFICIENTS, INSIDE = range(2)
#: Lines of ``ends``, with a column for each piece: the C and the bias where it begins and ends.
START, STOP, BIAS_START, BIAS_STOP = range(4)
#: Lines of ``marks``, with a column for each piece: where its members and its changes end in the
#: lists of all, and 1 where no row is clearly between its bounds. The first column is nobody's.
LAST_MEMBER, LAST_CHANGE, FLAT = range(3)
#: Lines of ``book``, with a column for each row: what it is, and what was last told of it.
CATEGORY, TOLD = range(2)
#: Entries of ``pen``: the C where the leg began and where it ends, and what the coefficients add
#: up to.
FROM, TO, TOTAL = range(3)
#: Entries of ``tallies``: pieces that are finished, and 1 where the bias is free.
PIECES, FREE = range(2)
#: Pieces shorter than this part of C are no more than a tie.
_POINT = 1e-13


@compiled
def log_line(rows: Array, kinds: Array, scalars: Array, counts: Array, log: Array) -> None:
    """One more line: how all stands here."""
    coefficients, inside = log[counts[LOGGED], COEFFICIENTS], log[counts[LOGGED], INSIDE]
    n = counts[ROWS]
    for row in range(n):
        coefficients[row] = rows[THETA, row]
        inside[row] = 1.0 if kinds[row] == MEMBER else 0.0
    coefficients[n], inside[n] = scalars[PLACE], scalars[BIAS]
    counts[LOGGED] += 1


@compiled
def take_column(table: Array, slot_of: Array, counts: Array, columns: Array) -> bool:
    """Keep the column of the row that waits in the next slot; False where there is none."""
    slot, row = counts[USED], counts[WAITING]
    if columns.shape[0] == 0 or slot >= table.shape[1]:
        return False
    for i in range(counts[ROWS]):
        table[i, slot] = columns[row, i]
    slot_of[row] = slot
    counts[USED] += 1
    return True


@compiled
def follow_noting(  # noqa: PLR0913, PLR0917
    table: Array,
    slot_of: Array,
    factor: Array,
    rows: Array,
    slots: Array,
    kinds: Array,
    members: Array,
    scalars: Array,
    counts: Array,
    log: Array,
    columns: Array,
) -> int:
    """Follow the path, with a line for each change of category.

    ``columns`` has those of all rows, or none.
    """
    while counts[LOGGED] < log.shape[0]:
        steps = 0 if counts[WAITING] >= 0 else 1  # who waits has only to join
        limit = min(counts[MOST], counts[PERTURBATIONS] + steps)
        state = follow(table, slot_of, factor, rows, slots, kinds, members, scalars, counts, limit)
        if state in (PAUSED, WANTS_ROOM):
            log_line(rows, kinds, scalars, counts, log)
        if state == WANTS_COLUMN and take_column(table, slot_of, counts, columns):
            continue
        if state != PAUSED or counts[PERTURBATIONS] >= counts[MOST]:
            return int(state)
    return WANTS_PAPER


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


@compiled
def is_flat(
    at_start: Array, at_stop: Array, members: Array, categories: Array, signed: Array, C: float
) -> bool:
    """Whether nobody is clearly between the bounds, so that they leave an interval for b."""
    widest, size = 0.0, 0.0
    for p in range(members.shape[0]):
        own = 0.5 * abs(at_start[p] + at_stop[p])
        widest = max(widest, min(own, C * abs(signed[members[p]]) - own))
        size += own
    for row in range(signed.shape[0]):
        if categories[row] == ERROR:
            size += C * abs(signed[row])
    return bool(widest <= BALANCE * size)


@compiled
def open_piece(line: Array, k: int, ends: Array, marks: Array, names: Array, at: Array) -> None:
    """Begin piece k here; it lies behind those that are finished."""
    last, n = marks[LAST_MEMBER, k], line.shape[1] - 1
    for row in range(n):
        if line[INSIDE, row] == 1.0:
            names[last] = row
            at[0, last] = at[1, last] = line[COEFFICIENTS, row]
            last += 1
    marks[LAST_MEMBER, k + 1] = last
    ends[STOP, k] = ends[START, k]
    ends[BIAS_START, k] = ends[BIAS_STOP, k] = line[INSIDE, n]


@compiled
def tell_changes(k: int, marks: Array, changes: Array, book: Array) -> bool:
    """Write down who is not what was last told of it; whether there is anybody."""
    first = last = marks[LAST_CHANGE, k]
    for row in range(book.shape[1]):
        if book[CATEGORY, row] != book[TOLD, row]:
            changes[0, last], changes[1, last] = row, book[CATEGORY, row]
            book[TOLD, row] = book[CATEGORY, row]
            last += 1
    marks[LAST_CHANGE, k + 1] = last
    return bool(last > first)


@compiled
def keep_piece(
    ends: Array,
    marks: Array,
    names: Array,
    at: Array,
    changes: Array,
    book: Array,
    signed: Array,
    pen: Array,
    tallies: Array,
) -> None:
    """Put the piece that ends here to the others; where nobody turned, the last one goes on."""
    k, categories = tallies[PIECES], book[CATEGORY]
    first, last = marks[LAST_MEMBER, k], marks[LAST_MEMBER, k + 1]
    who, at_start, at_stop = names[first:last], at[0, first:last], at[1, first:last]
    start, stop = ends[START, k], ends[STOP, k]
    changed, flat = tell_changes(k, marks, changes, book), False
    if tallies[FREE] == 1:
        flat = is_flat(at_start, at_stop, who, categories, signed, 0.5 * (start + stop))
        if last > first:
            take_out_rounding(at_start, who, categories, signed, start, pen[TOTAL])
            take_out_rounding(at_stop, who, categories, signed, stop, pen[TOTAL])
    marks[FLAT, k + 1] = 1 if flat else 0
    ends[START, k + 1] = stop
    if changed or k == 0 or marks[FLAT, k + 1] != marks[FLAT, k]:
        tallies[PIECES] = k + 1
        return
    before = first - (last - first)
    at[1, before:first] = at_stop
    ends[STOP, k - 1], ends[BIAS_STOP, k - 1] = stop, ends[BIAS_STOP, k]
    ends[START, k] = stop


@compiled
def come_to(
    line: Array,
    ends: Array,
    marks: Array,
    names: Array,
    at: Array,
    book: Array,
    signed: Array,
    pen: Array,
    tallies: Array,
) -> bool:
    """The open piece goes on to here; whether the members are others from here on."""
    k, n, left = tallies[PIECES], line.shape[1] - 1, 0
    C = pen[FROM] + line[COEFFICIENTS, n] * (pen[TO] - pen[FROM])
    for p in range(marks[LAST_MEMBER, k], marks[LAST_MEMBER, k + 1]):
        row = names[p]
        at[1, p] = line[COEFFICIENTS, row]
        if line[INSIDE, row] == 0.0:  # it is at a bound, and goes with it
            at[1, p] = C * signed[row] if at[1, p] != 0.0 else 0.0
            left += 1
    ends[STOP, k], ends[BIAS_STOP, k] = C, line[INSIDE, n]
    came = 0
    for row in range(n):
        if line[INSIDE, row] == 1.0 and book[CATEGORY, row] != MARGIN:
            came += 1
    return left > 0 or came > 0


@compiled
def write_down(
    log: Array,
    ends: Array,
    marks: Array,
    names: Array,
    at: Array,
    changes: Array,
    book: Array,
    signed: Array,
    pen: Array,
    tallies: Array,
) -> int:
    """Make pieces of lines of the log, as long as there is room; how many lines that were."""
    n = book.shape[1]
    for i in range(log.shape[0]):
        k, line = tallies[PIECES], log[i]
        names_left = names.shape[0] - marks[LAST_MEMBER, k + 1]
        if k + 3 > ends.shape[1] or min(names_left, changes.shape[1] - marks[LAST_CHANGE, k]) < n:
            return i
        if not come_to(line, ends, marks, names, at, book, signed, pen, tallies):
            continue
        if ends[STOP, k] - ends[START, k] > _POINT * ends[STOP, k]:
            keep_piece(ends, marks, names, at, changes, book, signed, pen, tallies)
        for row in range(n):
            if line[INSIDE, row] == 1.0:
                book[CATEGORY, row] = MARGIN
            elif book[CATEGORY, row] == MARGIN:
                book[CATEGORY, row] = ERROR if line[COEFFICIENTS, row] != 0.0 else RESERVE
        open_piece(line, tallies[PIECES], ends, marks, names, at)
    return int(log.shape[0])
