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

from adiabat.adiabatic.arrival import (
    CLEAR,
    CLOSE,
    PIVOT,
    REACH,
    ROUNDING,
    SIZE,
    SUM,
    end_leg,
    go_as_errors_want,
    tally,
)
from adiabat.adiabatic.layout import (
    ASIDE,
    BASE_BIAS,
    BIAS,
    DONE,
    DRIFT,
    END,
    ENDLESS,
    ENERGY,
    EXCESS,
    HALVED,
    HIGH,
    HIGH_PACE,
    LEFT,
    LOOSE,
    LOW,
    LOW_PACE,
    LOWER,
    MEMBER,
    MOVED,
    MOVING,
    PACE,
    PATIENT,
    PAUSED,
    PULL,
    REGULAR,
    ROOT,
    SCALE,
    STRETCHING,
    THETA,
    UPPER,
    WAITING,
    WANTS_COLUMN,
    WANTS_ROOM,
)
from adiabat.adiabatic.living import Living, LostError
from adiabat.adiabatic.margin import refine
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
#: Parts of the coefficients' sizes: a sum of them is zero, a coefficient is at its bound.
_BALANCED, _SPECK = 4.0 * EPS, 8.0 * EPS
#: A row at a bound that wants to leave it by more than this sets out again, so many times.
_MISSED, _RETURNS = 1e-10, 3
#: Rounding that moves decision values by less needs no wider sums; members times rows up to
#: which they are affordable, and how often members are corrected by them.
_SHARP, _WIDE, _WIDE_CORRECTIONS = 4e-9, 4_000_000, 2
#: Paces are one share of the coefficients where they differ by no more than this part of them.
_ALIKE = 4.0 * EPS
#: Changes after which every error is computed from nothing, and how many times smaller the
#: coefficients or the bias have become where it is at once.
_RENEWAL, _DOWN = 1000, 32.0
#: By what factor rounding of the errors may have grown with the coefficients before the same.
_UP = 1000.0


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
        self.living, self.patient = living, patient
        self.changes = self.refactorisations = 0
        self._grown = 1.0
        self.figures = np.zeros(7)
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

    def stretch(self, rows: Array, low: Array, high: Array) -> None:
        """All bounds of rows move to these at one pace, and rows at a bound ride on it.

        This is a change of C (004, eq. 24-26). Bounds are finite and apart, before and after.
        """
        living, values = self.living, self.living.rows
        values[LOW_PACE, rows] = low - values[LOW, rows]
        values[HIGH_PACE, rows] = high - values[HIGH, rows]
        living.counts[STRETCHING] += len(rows)
        self._bounds_to_be.append((rows, low, high))
        self._setting_out.append(rows[living.kinds[rows] != MEMBER])

    def settle(self, rows: Array) -> None:
        """Rows that are no members go where their errors want them, or stay at their bound."""
        self._go_as_errors_want(rows)
        self._setting_out.append(rows)

    def _go_as_errors_want(self, some: Array) -> None:
        table, _, _, rows, slots, kinds, _, scalars, counts = self.living.state
        go_as_errors_want(table, rows, slots, kinds, scalars, counts, some)

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
        rows, goals = self._set_out()
        living, seen = self.living, self._tallied()
        living.scalars[SCALE], living.scalars[PATIENT] = seen[SIZE], float(self.patient)
        owing = living.scalars[EXCESS] != 0.0
        if living.counts[STRETCHING] or owing or (goals != living.rows[THETA, rows]).any():
            self._all_legs(rows, goals)
        else:
            self._take_bounds()
            if seen[CLEAR] > BALANCE * seen[SIZE]:
                return
        self._arrive()

    def _all_legs(self, rows: Array, goals: Array) -> None:
        """First those who know where they go, then those who go until their error is zero.

        What the equality still lacks then is made good with rho alone (004, eq. 33).
        """
        endless = np.isinf(goals)
        while endless.any() and not endless.all():
            waiting = rows[endless]
            self.living.kinds[waiting] = ASIDE
            self._leg(rows[~endless], goals[~endless], 1.0)
            self.settle(waiting)
            rows, goals = self._set_out()
            endless = np.isinf(goals)
        self._leg(rows, goals, np.inf if endless.any() else 1.0)
        while self.living.scalars[EXCESS] != 0.0:
            self._leg(rows[:0], goals[:0], 1.0)

    def _take_bounds(self) -> None:
        """Nobody has to move for the bounds that were agreed."""
        for rows, low, high in self._bounds_to_be:
            self.living.rows[LOW, rows], self.living.rows[HIGH, rows] = low, high
        self._bounds_to_be = []

    def _set_out(self) -> tuple[Array, Array]:
        """Who is to move, and where to."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self._setting_out])
        self._setting_out = []
        return rows, self.goals(rows)

    def _paces(self, rows: Array, goals: Array) -> Array:
        """Goals are reached at p = 1; without bounds a typical coefficient is gone in p = 1."""
        values, kinds = self.living.rows[:, rows], self.living.kinds[rows]
        if np.isfinite(goals).all():
            pace = goals - values[THETA]
            for kind, bound, own in ((UPPER, HIGH, HIGH_PACE), (LOWER, LOW, LOW_PACE)):
                riding = (kinds == kind) & (values[THETA] == values[bound])
                pace[riding] = values[own, riding]  # its bound's, to the last bit
            return np.asarray(pace)
        roots = self.living.rows[ROOT, : self.living.n]
        return np.asarray(np.sign(goals) / max(float(np.mean(roots**2)), 1e-300))

    def _leg(self, rows: Array, goals: Array, end: float) -> None:
        """One path from p = 0 to its end."""
        living = self.living
        pace = self._paces(rows, goals)
        moving = (pace != 0.0) & (living.kinds[rows] != MEMBER)
        rows, pace = rows[moving], pace[moving]
        living.rows[PACE, rows] = pace
        with np.errstate(over="ignore", invalid="ignore"):
            drift = self._drift(rows, pace)
            energy = pace @ drift[rows]
        if not np.isfinite(energy):
            raise LostError("the coefficients are too large to be squared")
        living.rows[DRIFT, : living.n] = drift
        living.scalars[PULL], living.scalars[ENERGY] = pace.sum(), energy
        living.scalars[SCALE] += float(np.abs(pace).sum())
        living.counts[MOVING], living.scalars[END] = len(rows), end
        living.counts[LEFT], living.counts[REGULAR] = -1, 0
        living.scalars[HALVED] = 0.0  # another drift
        self._follow(living.perturbations + _MOST + _MOST_PER_ROW * (len(rows) + living.size))
        self._end_leg()

    def _drift(self, rows: Array, pace: Array) -> Array:
        """How fast rows on their way move K theta.

        Where each row that is no member moves by the same share of its coefficient, its kernel
        values are not needed: K theta is known, and so is what the members have in it. It is
        known as well as the errors are, to rounding of the targets however small it was, and what
        it is off by grows with the coefficients.
        """
        living = self.living
        share = self._common_share(rows, pace)
        self._grown = max(1.0, self._grown * (1.0 + share))
        if self._grown > _UP:
            living.renew()
            self._grown, share = 1.0, 0.0
        return share * living.sum_outside() if share else living.gram.times(rows, pace)

    def _common_share(self, rows: Array, pace: Array) -> float:
        """The share of its coefficient by which each row but members moves; 0 where they differ."""
        living = self.living
        theta = living.theta.copy()
        theta[living.inside] = 0.0
        if not living.counts[STRETCHING] or not len(rows) or not theta[rows].all():
            return 0.0
        share = float(pace[0] / theta[rows[0]])
        alike = np.abs(pace - share * theta[rows]) <= _ALIKE * np.abs(theta[rows])
        return share if alike.all() and np.count_nonzero(theta) == len(rows) else 0.0

    def _follow(self, limit: int) -> None:
        """Follow the path, with a column for each new member."""
        living = self.living
        outcome, most = PAUSED, 0
        while outcome != DONE:
            if outcome == PAUSED:
                most = min(limit, living.perturbations + self._look_around())
            outcome = self._run(most)
            if outcome == WANTS_COLUMN:
                living.want_column(int(living.counts[WAITING]))
            elif outcome == WANTS_ROOM:
                living.make_factor_room()
            elif outcome == ENDLESS or living.perturbations >= limit:
                raise LostError(f"the path has no end after {living.perturbations} perturbations")

    def _run(self, most: int) -> int:
        """Follow the path as far as that goes without Python."""
        return int(follow(*self.living.state, most))

    def _look_around(self) -> int:
        """How many perturbations there are to be until the next look."""
        living = self.living
        reading = living.size**2 + living.n * (1 + living.gram.used // 4)
        return max(1, int(_BREATH / reading))

    def _end_leg(self) -> None:
        """Everybody is where it was to go."""
        living = self.living
        end_leg(living.rows, living.kinds, living.scalars, living.counts)
        for rows, low, high in self._bounds_to_be:  # they were met up to rounding
            theta, kinds = living.rows[THETA, rows], living.kinds[rows]
            theta = np.where((kinds == UPPER) & np.isfinite(high), high, theta)
            theta = np.where((kinds == LOWER) & np.isfinite(low), low, theta)
            living.rows[LOW, rows], living.rows[HIGH, rows] = low, high
            living.rows[THETA, rows] = theta
        self._bounds_to_be = []

    # -- the arrival

    def _arrive(self) -> None:
        """Put the members exactly on the margin, and everybody where it belongs."""
        living = self.living
        self.changes += 1
        if self._has_come_down():
            living.renew()
            living.scalars[SCALE] = self.figures[SIZE]
        elif self.changes % _RENEWAL == 0:
            living.renew()
        for _ in range(_RETURNS):
            if not self._is_settled():
                self._correct()
                while self._keep_within():
                    self._correct()
                self._sharpen()
                self._settle_bias()
            lost = self._lost()
            if not len(lost):
                self._require_balance()
                return
            self.settle(lost)
            self._all_legs(*self._set_out())
        raise LostError("rows at their bounds still want to leave them")

    def _has_come_down(self) -> bool:
        """Whether what errors were sums of was so large that they keep its rounding."""
        living, seen = self.living, self._tallied()
        terms = seen[ROUNDING] / (16.0 * EPS)
        return bool(
            living.scalars[SCALE] > _DOWN * seen[SIZE]
            or abs(living.scalars[BASE_BIAS]) > _DOWN * terms
        )

    def _tallied(self) -> Array:
        """What there is to know of the coefficients now, as ``arrival.tally`` tells it."""
        _, _, factor, rows, _, _, members, scalars, counts = self.living.state
        tally(factor, rows, members, scalars, counts, self.figures)
        return self.figures

    def _member_errors(self) -> Array:
        """The errors of the members, which should be zero."""
        table, _, _, rows, slots, _, members, scalars, counts = self.living.state
        return member_errors(table, rows, slots, members, scalars, counts)

    def _is_settled(self) -> bool:
        """Whether there is nothing to be mended: the usual case."""
        seen, living = self._tallied(), self.living
        imbalance = living.total - seen[SUM] if living.bias is None else 0.0
        return bool(
            living.size
            and abs(imbalance) <= _BALANCED * max(seen[SIZE], 1.0)
            and seen[CLOSE] > _SPECK * living.scalars[SCALE]
            and seen[CLEAR] > BALANCE * seen[SIZE]
            and self._is_sharp(seen)
            and np.abs(self._member_errors()).max() <= _CLEAN * seen[ROUNDING]
        )

    def _is_sharp(self, seen: Array) -> bool:
        """Whether float64 is enough: |dw| <= |L^-1 e| for what rounding leaves of the errors e."""
        spread = np.sqrt(self.living.size) / seen[PIVOT]
        return bool(seen[ROUNDING] * spread * seen[REACH] <= _SHARP)

    def _require_balance(self) -> None:
        """The equality holds to rounding."""
        living, seen = self.living, self._tallied()
        left = abs(living.total - seen[SUM]) if living.bias is None else 0.0
        if left > 32.0 * EPS * max(seen[SIZE], 1.0):
            raise LostError(f"the coefficients are {left:.3g} off their sum")

    def _lost(self) -> Array:
        """Rows at a bound that want to leave it."""
        living = self.living
        table, _, _, rows, slots, kinds, _, scalars, counts = living.state
        lost = np.empty(living.n)
        bar = _MISSED + self.figures[ROUNDING]
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
        if left > _ENOUGH + _MISSED / self.figures[ROUNDING]:
            raise LostError(f"the members stay {left:.3g} roundings off their margin")

    def _refined(self) -> float:
        """Correct as long as that helps; the largest error that is left, in units of rounding."""
        living = self.living
        _, slot_of, factor, rows, slots, _, members, scalars, counts = living.state
        last, hopes = np.inf, _CORRECTIONS
        while living.size:
            seen = self._tallied()
            imbalance = living.total - float(living.theta.sum()) if scalars[LOOSE] else 0.0
            unbalanced = abs(imbalance) / (_BALANCED * max(seen[SIZE], 1.0))
            error = self._member_errors()
            left = float(max(np.abs(error).max() / seen[ROUNDING], unbalanced))
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
        """Correct by errors whose rounding an ill-conditioned system can bear."""
        living = self.living
        if not living.size or living.size * living.n > _WIDE or self._is_sharp(self._tallied()):
            return
        _, slot_of, factor, rows, slots, _, members, scalars, counts = living.state
        for _ in range(_WIDE_CORRECTIONS):
            error, imbalance = living.wide_errors()
            step = slot_of, factor, rows, slots, members, scalars, counts, error, imbalance
            blocking = refine(*step)
            if blocking >= 0:
                self._dismiss(members[[blocking]])

    def _keep_within(self) -> bool:
        """Members that are at a bound to rounding stand on it; whether there were any."""
        living, inside = self.living, self.living.inside
        theta = living.rows[THETA, inside]
        low, high = living.rows[LOW, inside], living.rows[HIGH, inside]
        speck = _SPECK * living.scalars[SCALE]
        near = inside[(theta <= low + speck) | (theta >= high - speck)]
        self._dismiss(near)
        return bool(len(near))

    def _settle_bias(self) -> None:
        """Where no member is clearly within its bounds the bias is the middle of an interval."""
        living, n = self.living, self.living.n
        if living.bias is not None:
            return
        values, inside = living.rows, living.inside
        low, high = values[LOW, :n], values[HIGH, :n]
        if (np.isinf(low).any() or np.isinf(high).any()) and len(inside):
            return
        slack = BALANCE * float(np.abs(living.theta).sum())
        theta = values[THETA, inside]
        if ((theta - low[inside] > slack) & (high[inside] - theta > slack)).any():
            return
        self._dismiss(inside.copy())
        errors = living.errors()
        ends = minimising_biases(low, high, errors + living.scalars[BIAS], living.total)
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
