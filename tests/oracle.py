"""An independent judge for the tests: the dense dual problem solved to full accuracy.

Nothing of the package under test is used here.  The problem is

    min 1/2 a'Qa - p'a   with  Q = y y' * (K + diag(diagonal)),  0 <= a <= C,  y'a = 0

and p = 1; with a fixed bias the last condition goes and p = 1 - bias * y.  A row's decision
value is f = K (a * y) + bias, its residual g = y (f + diagonal * a * y) - 1.

An interior point method of another library (Clarabel) gives a first answer.  A duality gap of
1e-12 only means 1e-6 in the weight vector, so the answer is then refined in extended precision:

* *settle* solves the bordered system of the rows strictly between their bounds, and lets single
  rows leave and enter;
* *zoom* asks the interior point method for the correction only, magnified until the remaining
  violation has size one, so that its eight good digits are eight new digits.

Zooming also moves rows from one category to another, so no guess about categories is needed.
Everything is scaled by powers of two at the door; data of any size look alike inside.  Where
long double is no longer than double (Windows, some ARM machines) the answers are still good,
but difficult problems are refused more often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.longdouble]
Mask = npt.NDArray[np.bool_]

LONG = np.longdouble
TINY = float(np.finfo(LONG).eps)
EPS = float(np.finfo(np.float64).eps)
BALANCE = 1e-12  # active bounds of two classes that agree to this share of their sum are equal
REQUIRED = 1e-9  # worse than this, and the oracle gives no answer
SMALLEST_MARGIN = 1e-6  # of the longest row in feature space: below it nothing is separable
FAR = 1e10  # in units of the correction: a bound that far away is no bound
ROUNDS = 12  # of zooming, at most
PATIENCE = 2  # rounds without progress
EXCHANGES = 10  # of rows, in one go of the active set method
LADDER = (1e3, 1e5, 1e7, 1e9, 1e11, 1e13)  # bounds on the way to none
TOLERANCES = (1e-11, 1e-8)  # Clarabel, asked for too much, can end far from the optimum
CUTS = (1e-15, 1e-13, 1e-11)  # eigenvalues below this share of the largest are zero


class OracleError(Exception):
    """The oracle has no answer."""


class InseparableError(OracleError):
    """Rows without an upper bound cannot all be put on their side."""

    def __init__(self, distance: float) -> None:
        super().__init__(f"the hulls of the classes are at most {distance:.3g} apart")
        self.distance = distance


class InaccurateError(OracleError):
    """The answer found is not good enough to judge anybody."""


@dataclass(frozen=True)
class Truth:
    """The optimum.  ``bias`` is the middle of ``bias_range``, all biases that are optimal."""

    alpha: Floats
    bias: float
    bias_range: tuple[float, float]
    decision: Floats
    kkt: float
    """Largest violation of the optimality conditions over all rows, in units of f."""
    equality: float
    """|y'a| / sum a (0 with a fixed bias)."""
    decision_error: float
    """First-order estimate of the largest error in ``decision``, from residuals and rounding."""
    coefficients: Longs

    def decide(self, kernel_rows: Floats) -> Floats:
        """Decision values of other rows, given their kernel values with the rows held."""
        values = kernel_rows.astype(LONG) @ self.coefficients + self.bias
        return values.astype(np.float64)


def solve(
    kernel: Floats,
    y: Floats,
    bounds: Floats | float,
    *,
    diagonal: Floats | None = None,
    bias: float | None = None,
) -> Truth:
    """The optimum to about 1e-10 of max(1, max|f|), or an ``OracleError``.

    A bound may be 0 (the row is held but does not count) or inf (a hard row); squared slacks are
    a ``diagonal`` of 1 / (2 C s) with bounds of inf.  ``bias`` fixes the bias.  Beyond
    C * max(kernel) of about 1e6 rounding alone may exceed 1e-9, and the oracle then says so.
    """
    y = np.asarray(y, dtype=np.float64)
    bounds = np.broadcast_to(np.asarray(bounds, dtype=np.float64), y.shape)
    extra = np.zeros(len(y)) if diagonal is None else np.asarray(diagonal, dtype=np.float64)
    kernel = _checked(kernel, y, bounds, extra)
    counted = np.flatnonzero(bounds > 0)
    if bias is None and np.ptp(y[counted]) == 0:
        return _one_class(float(y[counted[0]]), len(y))
    task = _Task.of(kernel, y, bounds, extra, counted, bias)
    state = _refine(task, _first(task))
    if not state.merit <= REQUIRED * state.size:
        raise InaccurateError(f"violation {state.merit:.1e} at values of {state.size:.1e}")
    _demand_margin_of_all(task, state)
    return _truth(task, state, kernel, counted)


def _checked(kernel: Floats, y: Floats, bounds: Floats, extra: Floats) -> Floats:
    kernel = np.asarray(kernel, dtype=np.float64)
    if kernel.shape != (len(y), len(y)) or not np.isfinite(kernel).all():
        raise ValueError("the kernel matrix must be square and finite")
    if np.abs(kernel - kernel.T).max() > 1e-13 * np.abs(kernel).max():
        raise ValueError("the kernel matrix must be symmetric")
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("labels must be -1 or 1")
    if not (bounds >= 0).all() or not (bounds > 0).any() or not (extra >= 0).all():
        raise ValueError("bounds and diagonal must be >= 0, and one bound > 0")
    return np.asarray((kernel + kernel.T) / 2)


def _one_class(label: float, n: int) -> Truth:
    """Only one class counts: no weights, and everything is that class."""
    zeros = np.zeros(n, dtype=LONG)
    value = np.full(n, label)
    return Truth(np.zeros(n), label, (label, label), value, 0.0, 0.0, 0.0, zeros)


# ---------------------------------------------------------------- the problem, scaled


@dataclass(frozen=True)
class _Task:
    """The rows that count, with the kernel divided by ``scale`` and bounds multiplied by it."""

    plain: Longs  # K, without the diagonal
    full: Longs  # K + diag
    q: Floats  # y y' * full, for the interior point method
    y: Longs
    cap: Longs
    weight: Longs  # the bounds as given: what the canonical bias weighs with
    bias: float | None
    scale: float

    @classmethod
    def of(
        cls,
        kernel: Floats,
        y: Floats,
        bounds: Floats,
        extra: Floats,
        rows: npt.NDArray[np.intp],
        bias: float | None,
    ) -> _Task:
        plain = kernel[np.ix_(rows, rows)].astype(LONG)
        full = plain + np.diag(extra[rows].astype(LONG))
        largest = float(full.diagonal().max())
        scale = float(2.0 ** np.round(np.log2(largest))) if largest > 0 else 1.0
        full = full / scale
        sign = y[rows]
        q = (sign[:, None] * full * sign).astype(np.float64)
        weight = bounds[rows].astype(LONG)
        return cls(plain / scale, full, q, sign.astype(LONG), weight * scale, weight, bias, scale)

    @property
    def p(self) -> Longs:
        shift = self.bias or 0.0
        return 1 - shift * self.y

    def rows(self, keep: Mask) -> _Task:
        block = np.ix_(keep, keep)
        return _Task(
            self.plain[block],
            self.full[block],
            self.q[block],
            self.y[keep],
            self.cap[keep],
            self.weight[keep],
            self.bias,
            self.scale,
        )


@dataclass(frozen=True)
class _State:
    """A candidate and everything that says how good it is."""

    a: Longs
    g: Longs  # residual of each row at the bias that violates least
    bias: float
    violation: float
    equality: float  # signed y'a
    size: float  # max(1, max|f|)
    noise: float  # of evaluating g itself
    rounding: float  # what rounded kernel values can do to g

    @property
    def merit(self) -> float:
        """Both residuals on the scale of f, since no kernel value passes one by much."""
        return max(self.violation, abs(self.equality))


def _evaluate(task: _Task, a: Longs) -> _State:
    beta = a * task.y
    h = task.full @ beta
    equality = 0.0
    if task.bias is None:
        bias = _best_bias(task, a, h)
        equality = float(beta.sum())
    else:
        bias = LONG(task.bias)
    g = task.y * (h + bias) - 1
    rise = np.where(a < task.cap, -g, -np.inf).max(initial=0)
    fall = np.where(a > 0, g, -np.inf).max(initial=0)
    total = float((np.abs(task.full) @ a).max() + abs(bias) + 1)
    size = max(1.0, float(np.abs(task.plain @ beta + bias).max()))
    violation = float(max(rise, fall))
    return _State(a, g, float(bias), violation, equality, size, TINY * total, EPS * total)


def _best_bias(task: _Task, a: Longs, h: Longs) -> np.longdouble:
    """The bias whose largest violation is least: half way between the two tightest demands."""
    turn = task.y - h  # the bias at which g = 0
    positive = task.y > 0
    rise, fall = a < task.cap, a > 0
    low = turn[(rise & positive) | (fall & ~positive)].max(initial=-np.inf)
    high = turn[(rise & ~positive) | (fall & positive)].min(initial=np.inf)
    if np.isinf(low) or np.isinf(high):
        return LONG(low if np.isinf(high) else high)
    return LONG((low + high) / 2)


# ---------------------------------------------------------------- the interior point method


def _interior(
    q: Floats, linear: Floats, equality: Floats, total: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats, Floats]:
    """min 1/2 x'qx + linear'x: x, and how much more its multiplier than its slack weighs."""
    n = len(linear)
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    eye = sparse.identity(n, format="csr")
    sides = [-eye[has_lower], eye[has_upper]]
    matrix = sparse.vstack([sparse.csr_matrix(equality), *sides], format="csc")
    right = np.concatenate([total, -lower[has_lower], upper[has_upper]])
    cones = [clarabel.ZeroConeT(len(total)), clarabel.NonnegativeConeT(len(right) - len(total))]
    triangle = sparse.csc_matrix(np.triu(q))
    for tolerance in TOLERANCES:
        settings = _settings(tolerance)
        found = clarabel.DefaultSolver(triangle, linear, matrix, right, cones, settings).solve()
        if found.status == clarabel.SolverStatus.Solved:
            break
    slack, multiplier = np.array(found.s), np.array(found.z)
    pressure = (multiplier - slack)[len(total) :]
    on_lower, on_upper = np.full(n, -np.inf), np.full(n, -np.inf)
    on_lower[has_lower] = pressure[: has_lower.sum()]
    on_upper[has_upper] = pressure[has_lower.sum() :]
    return np.array(found.x), on_lower, on_upper


def _settings(tolerance: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.max_iter = 60
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    # whatever it reaches is a start; infeasible and unbounded problems are sorted out before
    settings.tol_infeas_abs = settings.tol_infeas_rel = 1e-30
    return settings


def _first(task: _Task) -> _State:
    """A start, or the verdict that the rows without a bound are not separable."""
    hard = np.isinf(task.cap) & (task.full.diagonal() == task.plain.diagonal())
    if hard.any():
        start = _climb(task.rows(hard))
        if hard.all():
            return _evaluate(task, start)
    return _from_nothing(task)


def _from_nothing(task: _Task) -> _State:
    return _zoom(task, _evaluate(task, np.zeros_like(task.cap)), 1.0)


def _climb(task: _Task) -> Longs:
    """Multipliers of the hard margin, by bounds that rise until none is met.

    Each of these problems is bounded, whether the rows are separable or not, and its multipliers
    give a pair of points of the two hulls.  Touching hulls show after a few steps.
    """
    for bound in LADDER:
        soft = replace(task, cap=np.full_like(task.cap, bound))
        state = _refine(soft, _from_nothing(soft), enough=1e-8)
        _demand_margin(task, state)
        if (state.a < bound / 2).all():
            return state.a
    raise InaccurateError("neither a hard margin nor its absence could be shown")


def _demand_margin(task: _Task, state: _State) -> None:
    """No margin exceeds the length of sum(lambda y x), for any lambda >= 0, p'lambda = 1."""
    total = float(state.a @ task.p)
    if total <= 0 or abs(state.equality) > 1e-10 * total:
        return
    beta = state.a * task.y
    length = max(float(beta @ task.full @ beta), 0.0) ** 0.5 / total
    if length <= SMALLEST_MARGIN * float(np.sqrt(task.full.diagonal().max())):
        raise InseparableError(2 * length * task.scale**0.5)


# ---------------------------------------------------------------- the two refinements


def _refine(task: _Task, state: _State, enough: float = 0.0) -> _State:
    """Settle and zoom until the residuals are small enough, sink into the noise or stay."""
    best = now = _settle(task, state)
    stuck = 0
    for _ in range(ROUNDS):
        patience = 0 if best.merit <= best.rounding else PATIENCE
        if best.merit <= max(best.noise, enough * best.size) or stuck > patience:
            break
        now = _settle(task, _zoom(task, now, max(now.merit * 100.0**stuck, now.noise)))
        stuck = 0 if now.merit < 0.5 * best.merit else stuck + 1
        best = _better(best, now)
    return best


def _better(one: _State, other: _State) -> _State:
    return other if other.merit < one.merit else one


def _zoom(task: _Task, state: _State, grain: float) -> _State:
    """Solve for the correction alone, in units in which a residual of ``grain`` is one."""
    settled = ((state.a == 0) & (state.g > 1e6 * grain)) | (
        (state.a == task.cap) & (state.g < -1e6 * grain)
    )
    free = ~settled
    unit = min(grain, float(task.cap.max()))
    lower = (-state.a[free] / unit).astype(np.float64)
    upper = ((task.cap - state.a)[free] / unit).astype(np.float64)
    lower[lower < -FAR] = -np.inf
    upper[upper > FAR] = np.inf
    linear = (state.g[free] / grain).astype(np.float64)
    demands, total = np.empty((0, int(free.sum()))), np.empty(0)
    if task.bias is None:
        demands, total = task.y[free].astype(np.float64)[None], np.array([-state.equality / unit])
    q = task.q[np.ix_(free, free)] * (unit / grain)
    step, on_lower, on_upper = _interior(q, linear, demands, total, lower, upper)
    a = state.a.copy()
    moved = np.clip(a[free] + unit * step.astype(LONG), 0, task.cap[free])
    moved[on_lower > 0] = 0
    moved[on_upper > 0] = task.cap[free][on_upper > 0]
    a[free] = moved
    return _evaluate(task, a)


def _settle(task: _Task, state: _State) -> _State:
    """An active set method from where we stand; the best point on its way."""
    best = state
    for cut in CUTS:
        found = _exchange(task, state, cut)
        best = _better(best, found)
        if best.merit <= best.noise:
            break
    return best


def _exchange(task: _Task, state: _State, cut: float) -> _State:
    """Newton steps: a row that meets its bound leaves, then the row that violates most enters."""
    best = state
    free = np.asarray((state.a > 0) & (state.a < task.cap))
    for _ in range(EXCHANGES):
        a, blocked = _step(task, state, _response(task, free, cut), free)
        before, state = state.merit, _evaluate(task, a)
        best = _better(best, state)
        entering = -1 if blocked.any() else _worst(task, state, free)
        at_rest = not blocked.any() and entering < 0 and state.merit > 0.5 * before
        if at_rest or best.merit <= best.noise:
            break
        free = free & ~blocked
        if entering >= 0:
            free[entering] = True
    return best


def _worst(task: _Task, state: _State, free: Mask) -> int:
    """The row at a bound that violates more than any row between its bounds, or -1."""
    violation = np.where(state.a == 0, -state.g, state.g)
    violation[free] = np.abs(state.g[free])
    worst = int(violation.argmax())
    return -1 if free[worst] or violation[worst] <= state.noise else worst


def _response(task: _Task, free: Mask, cut: float) -> Floats:
    """The pseudo-inverse of the bordered system of the free rows."""
    matrix = task.full[np.ix_(free, free)].astype(np.float64)
    if task.bias is None:
        ones = np.ones((len(matrix), 1))
        matrix = np.block([[matrix, ones], [ones.T, np.zeros((1, 1))]])
    if not matrix.any():
        return np.zeros_like(matrix)
    values, vectors = np.linalg.eigh(matrix)
    keep = np.abs(values) > cut * len(values) * np.abs(values).max()
    kept = vectors[:, keep]
    return np.asarray(kept / values[keep] @ kept.T)


def _step(task: _Task, state: _State, inverse: Floats, free: Mask) -> tuple[Longs, Mask]:
    """Take out the residuals of the free rows as far as their bounds allow."""
    right = -state.g[free] * task.y[free]
    if task.bias is None:
        right = np.append(right, -state.equality)
    size = float(np.abs(right).max(initial=0)) or 1.0
    change = size * (inverse @ (right / size).astype(np.float64))
    delta = change[: int(free.sum())] * task.y[free]
    a, blocked = state.a.copy(), np.zeros_like(free)
    a[free], blocked[free] = _as_far_as_allowed(a[free], delta, task.cap[free])
    return a, blocked


def _as_far_as_allowed(a: Longs, delta: Longs, cap: Longs) -> tuple[Longs, Mask]:
    """a + delta, or the point on the way where the first rows meet their bounds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(delta < 0, -a / delta, np.where(delta > 0, (cap - a) / delta, np.inf))
    limit = share.min(initial=np.inf)
    blocked = np.asarray((share <= limit) & (limit < 1))
    moved = np.clip(a + min(limit, LONG(1)) * delta, 0, cap)
    return np.where(blocked, np.where(delta < 0, 0, cap), moved), blocked


# ---------------------------------------------------------------- the answer


def _demand_margin_of_all(task: _Task, state: _State) -> None:
    """A hard margin counts only if it can be told from touching hulls."""
    if np.isinf(task.cap).all() and (task.full == task.plain).all():
        _demand_margin(task, state)


def _truth(task: _Task, state: _State, kernel: Floats, counted: npt.NDArray[np.intp]) -> Truth:
    low, high = _bias_range(task, state)
    bias = (low + high) / 2
    coefficients = np.zeros(len(kernel), dtype=LONG)
    coefficients[counted] = state.a * task.y / task.scale
    decision = (kernel.astype(LONG) @ coefficients + bias).astype(np.float64)
    error = _decision_error(task, state, kernel[:, counted])
    if not error <= REQUIRED * max(1.0, float(np.abs(decision).max())):
        raise InaccurateError(f"decision values may be off by {error:.1e}")
    return Truth(
        alpha=np.abs(coefficients).astype(np.float64),
        bias=bias,
        bias_range=(low, high),
        decision=decision,
        kkt=state.violation,
        equality=abs(state.equality) / max(float(state.a.sum()), TINY),
        decision_error=error,
        coefficients=coefficients,
    )


def _bias_range(task: _Task, state: _State) -> tuple[float, float]:
    """All b that minimise sum C (1 - y (h + b))_+, rows with C = inf being conditions."""
    if task.bias is not None or (task.full != task.plain).any():
        return state.bias, state.bias  # squared slacks leave no choice
    turn = task.y - task.plain @ (state.a * task.y)
    soft = np.isfinite(task.weight)
    low, high = flattest(turn[soft], task.y[soft], task.weight[soft])
    hard_low = turn[~soft & (task.y > 0)].max(initial=-np.inf)
    hard_high = turn[~soft & (task.y < 0)].min(initial=np.inf)
    if max(low, hard_low) <= min(high, hard_high):
        low, high = max(low, hard_low), min(high, hard_high)
    elif hard_low > hard_high:  # by rounding: two hard rows on the margin
        low = high = (hard_low + hard_high) / 2
    else:
        low = high = hard_low if low < hard_low else hard_high
    return float(low), float(high)


def flattest(turn: Longs, y: Longs, weight: Longs) -> tuple[np.longdouble, np.longdouble]:
    """Where sum weight (y (turn - b))_+ is least: a row of class y counts on one side of turn."""
    if not len(turn):
        return LONG(-np.inf), LONG(np.inf)
    order = np.argsort(turn, kind="stable")
    turn = turn[order]
    fall = np.where(y[order] > 0, weight[order], 0)
    rise = np.where(y[order] > 0, 0, weight[order])
    # who is active below the first turn and right of each: nothing but these is ever added up
    falling = np.concatenate([np.cumsum(fall[::-1])[::-1], [LONG(0)]])
    rising = np.concatenate([[LONG(0)], np.cumsum(rise)])
    slope, allowed = rising - falling, BALANCE * (rising + falling)
    turn = np.concatenate([[-np.inf], turn, [np.inf]])
    low = turn[:-1][slope >= -allowed].min(initial=np.inf)
    high = turn[1:][slope <= allowed].max(initial=-np.inf)
    return low, high


def _decision_error(task: _Task, state: _State, columns: Floats) -> float:
    """How far the decision values move, to first order, when the residuals are removed."""
    free = np.asarray((state.a > 0) & (state.a < task.cap))
    inverse = _response(task, free, CUTS[1])
    rows = columns[:, free] / task.scale
    if task.bias is None:
        rows = np.hstack([rows, np.ones((len(rows), 1))])
    violation = max(state.violation, state.noise)
    right = np.full(rows.shape[1], violation)
    if task.bias is None:
        right[-1] = max(abs(state.equality), TINY)
    moved = float((np.abs(rows @ inverse) @ right).max(initial=violation))
    return moved + state.size * EPS
