"""One change of a living machine: who sets out, the way, and the arrival.

What changes is said by the parts that rows take: some are led out to a coefficient of zero,
some get other bounds, some go where their error wants them. All of it together is one path, on
which every row that is not on its way keeps its optimality condition (004, sections II.B to
II.E and III).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adiabat.adiabatic.layout import (
    ASIDE,
    BIAS,
    DONE,
    DRIFT,
    END,
    ENDLESS,
    ENERGY,
    EXCESS,
    HIGH,
    HIGH_PACE,
    LOOSE,
    LOW,
    LOW_PACE,
    LOWER,
    MEMBER,
    MOVED,
    MOVING,
    PACE,
    PATIENT,
    PULL,
    ROOT,
    SCALE,
    STRETCHING,
    THETA,
    TIED,
    UPPER,
    WAITING,
    WANTS_COLUMN,
    WANTS_ROOM,
)
from adiabat.adiabatic.living import Living, LostError
from adiabat.adiabatic.margin import refine, untie
from adiabat.adiabatic.path import astray, follow, member_errors
from adiabat.margin_system import EPS
from adiabat.solution import BALANCE, minimising_biases

Array = NDArray[Any]

#: Perturbations of one path before the solver takes over, beyond some for each row.
_MOST, _MOST_PER_ROW = 1000, 20
#: Entries that are read between two looks at Python, for an interrupt to get through.
_BREATH = 1e8
#: Corrections of the members' coefficients after a path, each with a hope of this part.
_CORRECTIONS, _HOPE = 4, 0.25
#: Errors that need no correction, and errors that need no new factor, in units of rounding.
_CLEAN, _ENOUGH = 0.125, 8.0
#: A row at a bound that wants to leave it by more than this sets out again, so many times.
_MISSED, _RETURNS = 1e-10, 3
#: Rounding that moves decision values by less needs no wider sums; members times rows up to
#: which they are affordable, and how often members are corrected by them.
_SHARP, _WIDE, _WIDE_CORRECTIONS = 4e-9, 4_000_000, 2
#: Changes after which every error is computed from nothing.
_RENEWAL = 1000


class Journey:
    """The way of a living machine from change to change.

    Parameters
    ----------
    living : Living
        The machine.
    patient : bool
        Where nothing can balance the rows on their way, whether the equality waits for the
        first member (004, second start of section II.C, and section III.B) or the bias moves
        alone until there is one.

    Attributes
    ----------
    changes, refactorisations : int
        Paths that were followed, and factors that did not serve any more.
    """

    def __init__(self, living: Living, *, patient: bool = False) -> None:
        self.living = living
        living.scalars[PATIENT] = float(patient)
        self.changes = self.refactorisations = 0
        self._setting_out: list[Array] = []
        self._bounds_to_be: list[tuple[Array, Array, Array]] = []

    # -- the parts that rows take

    def lead_out(self, rows: Array) -> None:
        """Coefficients go to zero, whatever the errors."""
        for row in rows:
            self.living.release(int(row))
        self.living.rows[LOW, rows] = self.living.rows[HIGH, rows] = 0.0
        self._setting_out.append(rows)

    def rebound(self, rows: Array, low: Array, high: Array) -> None:
        """Rows get other bounds and go with those at which they stand.

        Wider bounds are there at once. Narrower ones come from where the coefficient is.
        """
        living, values = self.living, self.living.rows
        for row in rows[low >= high]:
            living.release(int(row))
        theta, kinds = values[THETA, rows], living.kinds[rows]
        values[LOW, rows], values[HIGH, rows] = np.minimum(low, theta), np.maximum(high, theta)
        values[LOW_PACE, rows] = np.where(theta < low, low - theta, 0.0)
        values[HIGH_PACE, rows] = np.where(theta > high, high - theta, 0.0)
        living.counts[STRETCHING] += int(np.count_nonzero((theta < low) | (theta > high)))
        self._bounds_to_be.append((rows, low, high))
        self._setting_out.append(rows[kinds != MEMBER])
        self._go_as_errors_want(rows[(kinds == ASIDE) & (low < high)])

    def settle(self, rows: Array) -> None:
        """Rows that are no members go where their errors want them, or stay at their bound."""
        self._go_as_errors_want(rows)
        self._setting_out.append(rows)

    def _go_as_errors_want(self, rows: Array) -> None:
        living = self.living
        if not len(rows):
            return
        error, sides = living.errors(rows), living.sides(rows)
        sides[error > 0.0], sides[error < 0.0] = UPPER, LOWER
        weightless = living.rows[LOW, rows] >= living.rows[HIGH, rows]
        living.kinds[rows] = np.where(weightless, ASIDE, sides)

    def goals(self, rows: Array) -> Array:
        """Where rows that are no members belong: the bound of their side, or zero."""
        living = self.living
        kinds = living.kinds[rows]
        low = living.rows[LOW, rows] + living.rows[LOW_PACE, rows]
        high = living.rows[HIGH, rows] + living.rows[HIGH_PACE, rows]
        return np.where(kinds == UPPER, high, np.where(kinds == LOWER, low, 0.0))

    # -- the way

    def travel(self) -> None:
        """Go the whole way, and arrive at the optimum.

        Raises
        ------
        LostError
            Where the path has no end or does not lead to the optimum.
        """
        self.living.scalars[SCALE] = float(np.abs(self.living.theta).sum())
        self._all_legs()
        self._arrive()

    def _all_legs(self) -> None:
        """First those who know where they go, then those who go until their error is zero."""
        rows, goals = self._set_out()
        endless = np.isinf(goals)
        while endless.any() and not endless.all():
            waiting = rows[endless]
            self.living.kinds[waiting] = ASIDE
            self._leg(rows[~endless], goals[~endless], 1.0)
            self.settle(waiting)
            rows, goals = self._set_out()
            endless = np.isinf(goals)
        self._leg(rows, goals, np.inf if endless.any() else 1.0)

    def _set_out(self) -> tuple[Array, Array]:
        """Who is to move, and where to."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self._setting_out])
        self._setting_out = []
        return rows, self.goals(rows)

    def _paces(self, rows: Array, goals: Array) -> Array:
        """Goals are reached at p = 1; without bounds a typical coefficient is gone in p = 1."""
        if np.isfinite(goals).all():
            return np.asarray(goals - self.living.rows[THETA, rows])
        roots = self.living.rows[ROOT, : self.living.n]
        return np.asarray(np.sign(goals) / max(float(np.mean(roots**2)), 1e-300))

    def _leg(self, rows: Array, goals: Array, end: float) -> None:
        """One path from p = 0 to its end."""
        living = self.living
        pace = self._paces(rows, goals)
        moving = (pace != 0.0) & (living.kinds[rows] != MEMBER)
        rows, pace = rows[moving], pace[moving]
        living.rows[PACE, rows] = pace
        drift = living.gram.times(rows, pace)
        living.rows[DRIFT, : living.n] = drift
        living.scalars[PULL], living.scalars[ENERGY] = pace.sum(), pace @ drift[rows]
        living.scalars[SCALE] += float(np.abs(pace).sum())
        living.counts[MOVING], living.scalars[END] = len(rows), end
        self._follow(living.perturbations + _MOST + _MOST_PER_ROW * (len(rows) + living.size))
        self._end_leg()
        if living.scalars[EXCESS] != 0.0:
            self._leg(rows[:0], goals[:0], 1.0)

    def _follow(self, limit: int) -> None:
        """Follow the path, with a column for each new member."""
        living = self.living
        outcome = ENDLESS
        while outcome != DONE:
            reading = living.size**2 + living.n * (1 + living.gram.used // 4)
            most = min(limit, living.perturbations + max(1, int(_BREATH / reading)))
            outcome = follow(*living.state, most)
            if outcome == WANTS_COLUMN:
                living.want_column(int(living.counts[WAITING]))
            elif outcome == WANTS_ROOM:
                living.make_factor_room()
            elif outcome == ENDLESS or living.perturbations >= limit:
                raise LostError(f"the path has no end after {living.perturbations} perturbations")

    def _end_leg(self) -> None:
        """Everybody is where it was to go."""
        living, n = self.living, self.living.n
        values, kinds = living.rows, living.kinds[:n]
        on_way = np.flatnonzero(values[PACE, :n])
        tied = on_way[kinds[on_way] == TIED]
        kinds[tied] = np.where(values[PACE, tied] == values[HIGH_PACE, tied], UPPER, LOWER)
        goals = self.goals(on_way)
        values[THETA, on_way] = np.where(np.isfinite(goals), goals, values[THETA, on_way])
        values[PACE, on_way] = 0.0
        for rows, low, high in self._bounds_to_be:
            values[LOW, rows], values[HIGH, rows] = low, high
            values[LOW_PACE, rows] = values[HIGH_PACE, rows] = 0.0
        self._bounds_to_be = []
        values[THETA, :n] = np.where(kinds == UPPER, values[HIGH, :n], values[THETA, :n])
        values[THETA, :n] = np.where(kinds == LOWER, values[LOW, :n], values[THETA, :n])
        living.counts[MOVING] = living.counts[STRETCHING] = 0
        living.end_of_path()
        untie(living.rows, living.kinds, living.scalars, living.counts)

    # -- the arrival

    def _arrive(self) -> None:
        """Put the members exactly on the margin, and everybody where it belongs."""
        living = self.living
        self.changes += 1
        if self.changes % _RENEWAL == 0:
            living.renew()
        for _ in range(_RETURNS):
            self._correct()
            self._keep_within()
            self._sharpen()
            self._settle_bias()
            lost = self._lost()
            if not len(lost):
                self._require_balance()
                return
            self.settle(lost)
            self._all_legs()
        raise LostError("rows at their bounds still want to leave them")

    def _require_balance(self) -> None:
        """The equality holds to rounding."""
        living = self.living
        left = abs(living.total - float(living.theta.sum())) if living.bias is None else 0.0
        if left > 32.0 * EPS * max(float(np.abs(living.theta).sum()), 1.0):
            raise LostError(f"the coefficients are {left:.3g} off their sum")

    def _lost(self) -> Array:
        """Rows at a bound that want to leave it."""
        living = self.living
        table, _, _, rows, slots, kinds, _, scalars, counts = living.state
        lost = np.empty(living.n)
        bar = _MISSED + living.rounding()
        if astray(table, rows, slots, kinds, scalars, counts, lost) <= bar:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(lost > bar)

    def _correct(self) -> None:
        """Take what is left of the members' errors, and of the equality, out of them."""
        living = self.living
        if not living.size or self._refined() <= _ENOUGH:
            return
        living.refactor()
        self.refactorisations += 1
        left = self._refined()
        if left > _ENOUGH + _MISSED / living.rounding():
            raise LostError(f"the members stay {left:.3g} roundings off their margin")

    def _refined(self) -> float:
        """Correct as long as that helps; the largest error that is left, in units of rounding."""
        living = self.living
        table, slot_of, factor, rows, slots, _, members, scalars, counts = living.state
        rounding, last, hopes = living.rounding(), np.inf, _CORRECTIONS
        balance = 4.0 * EPS * max(float(np.abs(living.theta).sum()), 1.0)
        while living.size:
            error = member_errors(table, rows, slots, members, scalars, counts)
            imbalance = living.total - float(living.theta.sum()) if scalars[LOOSE] else 0.0
            left = max(float(np.abs(error).max()) / rounding, abs(imbalance) / balance)
            if left <= _CLEAN or left > _HOPE * last or not hopes:
                return left
            blocking = refine(
                slot_of, factor, rows, slots, members, scalars, counts, error, imbalance
            )
            last, hopes = left, hopes - 1
            if blocking >= 0:  # fewer members, another system
                self._dismiss(members[[blocking]])
                last, hopes = np.inf, _CORRECTIONS
        return 0.0

    def _sharpen(self) -> None:
        """Correct by errors whose rounding an ill-conditioned system can bear.

        |dw| <= |L^-1 e| for what rounding leaves of the members' errors e.
        """
        living = self.living
        if not living.size or living.size * len(living.theta) > _WIDE:
            return
        pivots = living.factor.diagonal()[: living.size]
        spread = np.sqrt(living.size) / float(pivots.min())
        if living.rounding() * spread * float(living.rows[ROOT, : living.n].max()) <= _SHARP:
            return
        _, slot_of, factor, rows, slots, _, members, scalars, counts = living.state
        for _ in range(_WIDE_CORRECTIONS):
            error, imbalance = living.wide_errors()
            step = slot_of, factor, rows, slots, members, scalars, counts, error, imbalance
            blocking = refine(*step)
            if blocking >= 0:
                self._dismiss(members[[blocking]])

    def _keep_within(self) -> None:
        """Members that are at a bound to rounding stand on it."""
        living, inside = self.living, self.living.inside
        theta = living.rows[THETA, inside]
        low, high = living.rows[LOW, inside], living.rows[HIGH, inside]
        speck = 8.0 * EPS * living.scalars[SCALE]
        self._dismiss(inside[(theta <= low + speck) | (theta >= high - speck)])

    def _settle_bias(self) -> None:
        """Where no member is clearly within its bounds the bias is the middle of an interval."""
        living, n = self.living, self.living.n
        if living.bias is not None:
            return
        values, inside = living.rows, living.inside
        low, high = values[LOW, :n], values[HIGH, :n]
        if (np.isinf(low).any() or np.isinf(high).any()) and len(inside):
            return
        slack = BALANCE * float((high - low).sum())
        theta = values[THETA, inside]
        if ((theta - low[inside] > slack) & (high[inside] - theta > slack)).any():
            return
        self._dismiss(inside.copy())
        errors = living.errors()
        positive = high > 0.0
        ends = minimising_biases(positive, high - low, errors + living.scalars[BIAS])
        living.scalars[BIAS] = 0.5 * (ends[0] + ends[1])
        living.see(living.errors())

    def _dismiss(self, rows: Array) -> None:
        """Members at their bounds, to rounding, become rows at their bounds."""
        living = self.living
        low, high = living.rows[LOW, rows], living.rows[HIGH, rows]
        theta = living.rows[THETA, rows]
        bound = np.where(theta - low <= high - theta, low, high)
        living.slots[MOVED, living.gram.slot_of[rows]] += bound - theta
        living.rows[THETA, rows] = bound
        for row in rows:
            living.release(int(row))
        living.kinds[rows] = living.sides(rows)
