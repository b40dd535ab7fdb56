"""How the state of a living machine lies in plain arrays, which is all that compiled loops take.

A change leads from one optimum to the next along a path of optima. The place on it is p, from 0
to its end, which is 1 or, where a coefficient has no bound to go to, infinity. What moves with
p at a given pace is stored as it was at p = 0.

The error of a row is its base, less what the members' coefficients, the rows on their way and
the bias have moved since that was noted:

    error = base - table[row] . moved - p drift - (bias - base bias).

It is computed for rows only that may have come near their margin, because
|df(x)| <= |dw| sqrt(K(x, x)) + |db| since they were last seen, and where the way has gone on
regularly since, also |df(x) - db - t u| <= |dw - t w'| sqrt(K(x, x)), where w' and u are how fast
the weights and w.phi(x) moved then, and t is how long ago that is. By how much w' has turned
since is known from one change of category to the next.

``table`` has a line for each row and a column for each slot, ``factor`` a line for each member
and, at its end, two more: L^-1 1 and L^-1 (-drift), which grow and shrink with the members.
"""

from __future__ import annotations

#: Lines of ``rows``, with a column for each row: its coefficient and how fast that moves (but
#: for members, whose coefficient is the present one); its bounds and how fast they move; the
#: base of its error, and how fast rows on their way move K theta there; sqrt(K(x, x)); when it
#: was learned; its error when it was last seen, and the length of the path and the bias then.
(
    THETA,
    PACE,
    LOW,
    LOW_PACE,
    HIGH,
    HIGH_PACE,
    BASE,
    DRIFT,
    ROOT,
    ORDER,
    SEEN,
    SEEN_AT,
    SEEN_BIAS,
    SEEN_RATE,
    SEEN_LEG,
    SEEN_TIME,
    SEEN_TURN,
    SEEN_BEND,
) = range(18)
#: Lines of ``slots``: how fast the coefficient moves, and how far it has since the base.
RATE, MOVED = range(2)
#: What a row can be. Aside: whatever its error is, it stays where it is or goes where it is led.
#: Upper: at its upper bound or on the way up to it, its error is not negative. Lower: the
#: counterpart. Tied: at a bound with an error of zero that stays zero while the members stay.
ASIDE, MEMBER, UPPER, LOWER, TIED = range(5)
#: Entries of ``scalars``: the bias, and the one that belongs to the bases; the length of the
#: path that the weights have come; c of the margin system; 1 where the bias is free; the place
#: on the path and its end; how fast place, bias and weights move in this step; the sum of the
#: paces of the rows on their way, and the square of how fast these alone move the weights; what
#: sum(theta) is too large by; 1 where a lack of members lets it grow, and is made good later; the
#: sizes of all coefficients where the change began, and of what was added on the way; 1 where the
#: last lines of the factor are true. Then the number of the leg, on which it is known by how much
#: w' has turned; how long that lasts; the sum of all |dw'| on it, and what that adds up to over
#: time, which is as much as w can be beside a straight line; |w'|^2 as it was before this step, or
#: -1, and its rounding.
(
    BIAS,
    BASE_BIAS,
    LENGTH,
    SHIFT,
    LOOSE,
    PLACE,
    END,
    PLACE_RATE,
    BIAS_RATE,
    SPEED,
    PULL,
    ENERGY,
    EXCESS,
    PATIENT,
    SCALE,
    HALVED,
    LEG,
    TIME,
    TURN,
    BEND,
    SQUARE,
    NOISE,
) = range(22)
#: Entries of ``counts``: rows, slots in use, members, rows on their way, rows whose bounds move,
#: perturbations, the row that waits for its column (or -1), tied rows, looks at errors, the
#: member that was the last to leave, and 1 where since the last step one member has come or gone
#: and nothing else has happened. Where notes are taken, the perturbations until the next look at
#: Python, and the lines that are written.
(
    ROWS,
    USED,
    MEMBERS,
    MOVING,
    STRETCHING,
    PERTURBATIONS,
    WAITING,
    TIES,
    LOOKS,
    LEFT,
    REGULAR,
    MOST,
    LOGGED,
) = range(13)

#: The last two lines of ``factor``.
ONES, HALF = -2, -1
#: What ``follow`` comes back with, and where notes are taken.
DONE, WANTS_COLUMN, WANTS_ROOM, ENDLESS, PAUSED, WANTS_PAPER = range(6)
